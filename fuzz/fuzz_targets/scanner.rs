//! The fast walk through strings stops where the portable one does, from every place; and a text is
//! the same by its tokens as byte by byte.
#![no_main]

use copyist::json::strings::{portable, stop};
use copyist::json::{Cursor, Tokens, Walk};
use copyist::members::Scan;
use libfuzzer_sys::fuzz_target;

fn along(mut walk: impl Walk, text: &[u8]) -> Option<(bool, Scan)> {
    let mut scan = Scan::default();
    scan.along(&mut walk, text).ok().map(|object| (object, scan))
}

fuzz_target!(|bytes: &[u8]| {
    for at in 0..=bytes.len() {
        assert_eq!(stop(bytes, at), portable(bytes, at), "from {at}");
    }
    if let Some(tokens) = Tokens::of(bytes) {
        assert_eq!(along(tokens, bytes), along(Cursor::new(bytes), bytes));
    }
});
