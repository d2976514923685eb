//! The fast scanner accepts and rejects what serde_json does, wherever in a block a fault stands.

use copyist::json::{Cursor, What};
use serde::de::IgnoredAny;

/// Lines that are no JSON, and a few that look as if.
const FAULTS: [&str; 32] = [
    r#"{"a":"b"#,
    r#"{"a":"b\"#,
    r#"{"a":"b\""#,
    r#"{"a":"b\\\""#,
    r#"{"a":"b\x"}"#,
    r#"{"a":"b\u12"}"#,
    r#"{"a":"b\u12g4"}"#,
    r#"{"a":"b\u"#,
    r#"{"a":"b\U0041"}"#,
    r#"{"a":"b\'"}"#,
    "{\"a\":\"b\u{1}\"}",
    "{\"a\":\"b\t\"}",
    "{\"a\":\"b\n\"}",
    "{\"a\":\"b\u{1f}\"}",
    "{\"a\":\"b\0\"}",
    "{\"a\":\"b\\\u{1}\"}",
    r#"{"a":"b"c"}"#,
    r#"{"a":"b","c}"#,
    r#"{"a":"b" "c":1}"#,
    r#"{"a":"b",}"#,
    r#"{"a":"b"}}"#,
    r#"{"a":"b"]"#,
    r#"{"a" "b"}"#,
    r#"{"a":}"#,
    r#"{a:"b"}"#,
    r#"{"a":"b""#,
    r#"{"a":["b"}"#,
    r#"{"a":01}"#,
    r#"{"a":1.}"#,
    r#"{"a":tru}"#,
    r#"{"a":"b"}x"#,
    r#"{"a":nullx}"#,
];

fn accepts(text: &[u8]) -> Result<(), What> {
    let mut cursor = Cursor::new(text);
    cursor.skip_value().and_then(|_| cursor.end()).map_err(|fault| fault.what)
}

#[test]
fn a_fault_is_found_at_every_place_of_a_block() {
    for fault in FAULTS {
        let mut kinds = Vec::new();
        for shift in 0..70 {
            // Before it a string of every length, with and without escapes that are good.
            for fill in ["x", "\\n", "\\\\", "\\\""] {
                let before = fill.repeat(shift);
                let text = format!(r#"["{before}",{fault}]"#);
                let inside = fault.replacen('b', &format!("b{before}"), 1);
                for text in [text, inside] {
                    let expected = serde_json::from_str::<IgnoredAny>(&text).is_ok();
                    let found = accepts(text.as_bytes());
                    assert_eq!(found.is_ok(), expected, "{text}");
                    kinds.extend(found.err());
                }
            }
        }
        assert!(!kinds.is_empty(), "{fault} is no fault");
    }
}

#[test]
fn what_is_good_is_good_at_every_place_of_a_block() {
    let good = ["plain", r#"\"\\\/\b\f\n\r\t"#, r"\u0000\ud83d\uDE00", "é\u{1f600}\u{7f}"];
    for inside in good {
        for shift in 0..70 {
            let text = format!(r#"{{"{}":"{}{inside}"}}"#, "k".repeat(shift), "\\\\".repeat(shift));
            assert_eq!(accepts(text.as_bytes()), Ok(()), "{text}");
        }
    }
}
