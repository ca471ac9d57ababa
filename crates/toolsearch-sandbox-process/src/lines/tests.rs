//! Splitting, in any pieces, within the bound.

use super::*;

fn collect(pieces: &[&[u8]], max: usize) -> Result<Vec<String>, TooLong> {
    let mut lines = Lines::new(max);
    let mut found = Vec::new();
    for piece in pieces {
        lines.room().extend_from_slice(piece);
        while let Some(line) = lines.next()? {
            found.push(String::from_utf8_lossy(line).into_owned());
        }
    }
    Ok(found)
}

#[test]
fn pieces_make_lines() {
    assert_eq!(
        collect(&[b"a\nbc", b"d\n", b"\n", b"e"], 10),
        Ok(vec!["a".into(), "bcd".into(), "".into()])
    );
    let text = b"one\ntwo\nthree\n";
    for size in 1..text.len() {
        let pieces: Vec<&[u8]> = text.chunks(size).collect();
        assert_eq!(collect(&pieces, 5).unwrap(), ["one", "two", "three"]);
    }
}

#[test]
fn a_long_line_is_refused_with_and_without_its_end() {
    assert_eq!(collect(&[b"123456\n"], 5), Err(TooLong { max: 5 }));
    assert_eq!(collect(&[b"123", b"456"], 5), Err(TooLong { max: 5 }));
    assert_eq!(collect(&[b"12345\n"], 5), Ok(vec!["12345".into()]));
}
