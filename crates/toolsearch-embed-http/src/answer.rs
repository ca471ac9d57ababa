//! The answer: bounded before it is read, checked before it is believed.

use serde::Deserialize;
use toolsearch_search::MAX_DIMENSIONS;

#[derive(Deserialize)]
struct Answer {
    data: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    #[serde(default)]
    index: Option<usize>,
    embedding: Vec<f32>,
}

/// Vectors in the order of the texts; the text of an error says what is wrong.
pub(crate) fn read(bytes: &[u8], texts: usize) -> Result<Vec<Vec<f32>>, String> {
    let answer: Answer = serde_json::from_slice(bytes)
        .map_err(|error| format!("its answer is not one of the embeddings API: {error}"))?;
    if answer.data.len() != texts {
        return Err(format!(
            "it gave {} vectors for {texts} texts",
            answer.data.len()
        ));
    }
    let mut vectors: Vec<Option<Vec<f32>>> = vec![None; texts];
    for (place, entry) in answer.data.into_iter().enumerate() {
        let size = entry.embedding.len();
        if !(1..=MAX_DIMENSIONS).contains(&size) {
            return Err(format!("it gave a vector of {size} numbers"));
        }
        let slot = vectors.get_mut(entry.index.unwrap_or(place));
        let slot = slot.filter(|slot| slot.is_none());
        *slot.ok_or("its vectors are numbered wrongly")? = Some(entry.embedding);
    }
    let vectors: Option<Vec<Vec<f32>>> = vectors.into_iter().collect();
    vectors.ok_or_else(|| "its vectors are numbered wrongly".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(answer: &str, texts: usize, expected: Result<&[&[f32]], &str>) {
        let vectors = read(answer.as_bytes(), texts);
        match (vectors, expected) {
            (Ok(vectors), Ok(expected)) => assert_eq!(vectors, expected, "{answer}"),
            (Err(error), Err(part)) => assert!(error.contains(part), "{answer}: {error}"),
            (vectors, _) => panic!("{answer}: {vectors:?}"),
        }
    }

    #[test]
    fn vectors_come_in_the_order_of_texts() {
        let numbered =
            r#"{"data": [{"index": 1, "embedding": [2]}, {"index": 0, "embedding": [1]}]}"#;
        check(numbered, 2, Ok(&[&[1.0], &[2.0]]));
        let plain = r#"{"object": "list", "data": [{"embedding": [0.5, -1e-3]}], "usage": {}}"#;
        check(plain, 1, Ok(&[&[0.5, -0.001]]));
    }

    #[test]
    fn what_does_not_add_up_is_refused() {
        check("", 1, Err("not one of the embeddings API"));
        check("[]", 1, Err("not one of the embeddings API"));
        check(
            r#"{"data": [{"embedding": "AAAA"}]}"#,
            1,
            Err("embeddings API"),
        );
        check(
            r#"{"data": [{"embedding": [null]}]}"#,
            1,
            Err("embeddings API"),
        );
        check(r#"{"data": []}"#, 1, Err("0 vectors for 1"));
        check(r#"{"data": [{"embedding": []}]}"#, 1, Err("0 numbers"));
        let twice = r#"{"data": [{"index": 0, "embedding": [1]}, {"index": 0, "embedding": [1]}]}"#;
        check(twice, 2, Err("numbered wrongly"));
        let beyond = r#"{"data": [{"index": 9, "embedding": [1]}]}"#;
        check(beyond, 1, Err("numbered wrongly"));
    }
}
