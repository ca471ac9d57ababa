//! The laws that the fuzz target checks, over texts that look like frames.

use proptest::prelude::*;

use super::read_frames;

/// Pieces of frames, whole ones and rubbish.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        3 => Just(b"{\"wait\":{\"seen\":1}}\n".to_vec()),
        3 => Just(b"{\"call\":{\"id\":0,\"method\":\"call\",\"args\":{}}}\n".to_vec()),
        2 => Just(b"{\"log\":{\"level\":\"info\",\"text\":\"\\n\"}}\n".to_vec()),
        1 => Just(b"{\"done\":{\"value\":{\"value\":".to_vec()),
        1 => Just(b"\n".to_vec()),
        1 => Just(vec![b'['; 300]),
        1 => prop::collection::vec(any::<u8>(), 0..40),
    ];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn pieces_do_not_matter(bytes in bytes(), chunk in 1_usize..64, max in 1_usize..400) {
        prop_assert_eq!(read_frames(&bytes, chunk, max), read_frames(&bytes, bytes.len(), max));
    }
}

#[test]
fn frames_are_counted_until_the_first_that_is_none() {
    let wait = "{\"wait\":{\"seen\":0}}\n";
    assert_eq!(read_frames(wait.repeat(3).as_bytes(), 7, 100), (3, false));
    assert_eq!(
        read_frames(format!("{wait}x\n{wait}").as_bytes(), 7, 100),
        (1, true)
    );
    assert_eq!(read_frames("x".repeat(101).as_bytes(), 7, 100), (0, true));
    assert_eq!(read_frames("x".repeat(99).as_bytes(), 7, 100), (0, false));
}
