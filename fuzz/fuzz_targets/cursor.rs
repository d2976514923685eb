//! The cursor accepts what serde_json accepts, whether it enters objects and arrays or skips them.
#![no_main]

use copyist::json::{Cursor, Fault};
use libfuzzer_sys::fuzz_target;
use serde::de::IgnoredAny;

/// Entering recurses here; what is nested deeper is skipped.
const DEPTH: usize = 64;

fuzz_target!(|text: &str| {
    // serde_json has no limit on nesting where it ignores a value.
    let accepted = serde_json::from_str::<IgnoredAny>(text).is_ok();
    let bytes = text.as_bytes();
    assert_eq!(whole(bytes, skip).is_ok(), accepted, "skipped");
    assert_eq!(whole(bytes, |c| enter(c, DEPTH)).is_ok(), accepted, "entered");
});

type Walked = Result<(), Fault>;

fn whole(text: &[u8], value: impl Fn(&mut Cursor<'_>) -> Walked) -> Walked {
    let mut cursor = Cursor::new(text);
    value(&mut cursor)?;
    cursor.end()
}

fn skip(cursor: &mut Cursor<'_>) -> Walked {
    cursor.skip_value().map(drop)
}

fn enter(cursor: &mut Cursor<'_>, depth: usize) -> Walked {
    match cursor.peek() {
        Some(b'{') if depth > 0 => {
            cursor.begin_object()?;
            while cursor.next_key()?.is_some() {
                enter(cursor, depth - 1)?;
            }
            Ok(())
        }
        Some(b'[') if depth > 0 => {
            cursor.begin_array()?;
            while cursor.next_element()? {
                enter(cursor, depth - 1)?;
            }
            Ok(())
        }
        _ => skip(cursor),
    }
}
