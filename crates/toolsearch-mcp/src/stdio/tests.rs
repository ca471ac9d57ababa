//! Lines, however they are cut. The process itself is tested in `tests/`.

use super::lines::{Line, next_line};
use tokio::io::BufReader;

async fn split(input: &[u8], buffer: usize, max: usize) -> Vec<(String, bool)> {
    let mut reader = BufReader::with_capacity(buffer, input);
    let mut lines = Vec::new();
    while let Some(Line { bytes, whole }) = next_line(&mut reader, max).await {
        lines.push((String::from_utf8_lossy(&bytes).into_owned(), whole));
    }
    lines
}

#[tokio::test]
async fn lines_do_not_depend_on_where_the_pipe_cuts() {
    let input = "äöü\r\n\nlast".as_bytes();
    let expected = [("äöü", true), ("", true), ("last", true)];
    for buffer in 1..=input.len() {
        let lines = split(input, buffer, 100).await;
        let lines: Vec<(&str, bool)> = lines
            .iter()
            .map(|(text, whole)| (&**text, *whole))
            .collect();
        assert_eq!(lines, expected, "with a buffer of {buffer} bytes");
    }
}

#[tokio::test]
async fn a_line_over_the_limit_is_cut_and_the_next_one_is_read() {
    for buffer in [1, 3, 64] {
        let lines = split(b"abcdefgh\nabcd\nx\n", buffer, 4).await;
        let expected = [
            ("abcd".to_owned(), false),
            ("abcd".to_owned(), true),
            ("x".to_owned(), true),
        ];
        assert_eq!(lines, expected);
    }
}
