//! The fast walk through strings stops where the portable one does, from every place; and a text is
//! the same by its tokens as byte by byte, alone and as one of many lines.
#![no_main]

use copyist::json::strings::{portable, stop};
use copyist::json::{Cursor, Tokens, Walk};
use copyist::members::{Scan, of_lines};
use libfuzzer_sys::fuzz_target;

fn along(mut walk: impl Walk, text: &[u8]) -> Option<(bool, Scan)> {
    let mut scan = Scan::default();
    scan.along(&mut walk, text).ok().map(|object| (object, scan))
}

/// What is found in lines that are walked at one go is what is found in each, and nothing but damage
/// stops it.
fn lines(text: &[u8]) {
    let Ok(valid) = std::str::from_utf8(text) else { return };
    let blank = |one: &[u8]| one.iter().all(|byte| b" \t\r".contains(byte));
    let mut found = Vec::new();
    let stop = of_lines(text, &mut found);
    let mut start = 0;
    for line in &found {
        let one = &text[start..line.end];
        let skipped = blank(one) && !line.good;
        assert!(skipped || Some((line.good, line.scan)) == along(Cursor::new(one), one));
        start = line.end + 1;
    }
    assert_eq!(stop, start);
    let good = |one: &str| {
        blank(one.as_bytes()) || along(Cursor::new(one.as_bytes()), one.as_bytes()).is_some()
    };
    let whole = valid.is_empty() || valid.ends_with('\n');
    let fast = Tokens::of(text).is_some();
    assert_eq!(
        stop == text.len(),
        whole && (fast || text.is_empty()) && valid.split('\n').all(good)
    );
}

fuzz_target!(|bytes: &[u8]| {
    for at in 0..=bytes.len() {
        assert_eq!(stop(bytes, at), portable(bytes, at), "from {at}");
    }
    if let Some(tokens) = Tokens::of(bytes) {
        assert_eq!(along(tokens, bytes), along(Cursor::new(bytes), bytes));
    }
    lines(bytes);
});
