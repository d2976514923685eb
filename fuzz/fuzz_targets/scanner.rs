//! The fast walk through strings stops where the portable one does, from every place; and a text is
//! the same by its tokens as byte by byte, in whichever way they are found, alone and as one of many
//! lines.
#![no_main]

use copyist::json::strings::{portable, stop};
use copyist::json::{Cursor, Tokens, Walk};
use copyist::members::{Scan, along_lines};
use libfuzzer_sys::fuzz_target;

fn along(mut walk: impl Walk, text: &[u8]) -> Option<(bool, Scan)> {
    let mut scan = Scan::default();
    scan.along(&mut walk, text).ok().map(|object| (object, scan))
}

/// What is found in lines that are walked at one go is what is found in each, and nothing but damage
/// stops it.
fn lines(tokens: Tokens<'_>, text: &[u8]) {
    let Ok(valid) = std::str::from_utf8(text) else { return };
    let blank = |one: &[u8]| one.iter().all(|byte| b" \t\r".contains(byte));
    let mut found = Vec::new();
    let stop = along_lines(tokens.in_lines(), text, &mut found);
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
    assert_eq!(stop == text.len(), whole && valid.split('\n').all(good));
}

fuzz_target!(|bytes: &[u8]| {
    for at in 0..=bytes.len() {
        assert_eq!(stop(bytes, at), portable(bytes, at), "from {at}");
    }
    let portable = along(Cursor::new(bytes), bytes);
    for tokens in Tokens::by_each_way(bytes) {
        assert_eq!(along(tokens, bytes), portable);
    }
    for tokens in Tokens::by_each_way(bytes) {
        lines(tokens, bytes);
    }
});
