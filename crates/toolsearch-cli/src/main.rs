//! The command `toolsearch`.

fn main() {}
