//! Cuts and the log budget.

use super::*;

#[test]
fn text_is_cut_at_a_character_and_marked() {
    let mut short = "abc".to_owned();
    assert!(!cut_text(&mut short, 3));
    let mut long = "é".repeat(100);
    assert!(cut_text(&mut long, 61));
    assert!(long.len() <= 61, "{}", long.len());
    assert!(long.ends_with("… [truncated, 200 bytes in all]"), "{long}");
    let mut tiny = "abcdef".to_owned();
    assert!(cut_text(&mut tiny, 4));
    assert!(tiny.len() <= 4);
}

#[test]
fn head_and_tail_survive_a_flood() {
    let mut logs = LogBuffer::new(400);
    for n in 0..10_000 {
        logs.push(format!("line {n}"));
    }
    let (lines, cut) = logs.finish(400);
    assert!(cut);
    assert_eq!(lines[0], "line 0");
    assert_eq!(lines.last().map(String::as_str), Some("line 9999"));
    let marks: Vec<_> = lines
        .iter()
        .filter(|line| line.contains("truncated"))
        .collect();
    assert_eq!(marks.len(), 1);
    let kept: usize = lines.len() - 1;
    assert_eq!(
        *marks[0],
        format!("… [{} log lines truncated]", 10_000 - kept)
    );
}

#[test]
fn what_fits_is_kept_whole() {
    let mut logs = LogBuffer::new(100);
    assert!(logs.push("a".into()));
    assert!(logs.push("b".into()));
    assert_eq!(
        logs.finish(100),
        (vec!["a".to_owned(), "b".to_owned()], false)
    );
}

#[test]
fn a_smaller_rest_of_the_budget_cuts_again() {
    let mut logs = LogBuffer::new(1000);
    for n in 0..50 {
        logs.push(format!("{n:09}"));
    }
    let (lines, cut) = logs.finish(40);
    assert!(cut);
    assert_eq!(lines.first().map(String::as_str), Some("000000000"));
    assert_eq!(lines.last().map(String::as_str), Some("000000049"));
    assert!(
        lines
            .iter()
            .filter(|l| !l.contains("truncated"))
            .map(|l| l.len() + 1)
            .sum::<usize>()
            <= 40
    );
}

#[test]
fn one_huge_line_cannot_fill_more_than_its_half() {
    let mut logs = LogBuffer::new(200);
    logs.push("x".repeat(1_000_000));
    let (lines, cut) = logs.finish(200);
    assert!(cut);
    assert!(lines.iter().map(String::len).sum::<usize>() <= 200);
}

#[test]
fn lines_skipped_by_the_sender_are_counted() {
    let mut logs = LogBuffer::new(100);
    logs.push("first".into());
    logs.skip(7);
    logs.push("last".into());
    let (lines, cut) = logs.finish(100);
    assert!(cut);
    assert_eq!(lines, ["first", "… [7 log lines truncated]", "last"]);
}
