//! The keyward binary.

fn main() {}
