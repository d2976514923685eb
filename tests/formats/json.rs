//! The walk over JSON takes and refuses exactly what serde_json does.

use copyist::json::{Cursor, Fault, What};

type Result<T> = std::result::Result<T, Fault>;

fn check(text: &[u8]) -> Result<()> {
    let mut cursor = Cursor::new(text);
    cursor.skip_value()?;
    cursor.end()
}

#[test]
fn agrees_with_serde_json_on_whole_values() {
    for text in [
        "{}",
        "[]",
        "[[]]",
        "[{}]",
        "{\"a\":[1,2,{\"b\":null}]}",
        " [ 1 , 2 ] ",
        "-0",
        "1e5",
        "1.5E-3",
        "\"\\ud800\"",
        "\"\\u00e9\"",
        "[1,]",
        "{,}",
        "{\"a\"}",
        "{\"a\":}",
        "01",
        "1.",
        "1e",
        "-",
        "+1",
        ".5",
        "tru",
        "nulll",
        "\"\\x\"",
        "\"\t\"",
        "[1 2]",
        "{} {}",
        "[}",
        "{]",
        "",
        " ",
        "NaN",
        "\"a",
        "[\"a\",\"b\"",
        "{\"a\":1,}",
        "'a'",
        "\"\\u12\"",
    ] {
        let theirs = serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok();
        assert_eq!(check(text.as_bytes()).is_ok(), theirs, "{text:?}");
    }
}

/// The same check with every object and array entered, not skipped.
fn check_entering(text: &[u8]) -> Result<()> {
    fn value(cursor: &mut Cursor<'_>) -> Result<()> {
        match cursor.peek() {
            Some(b'{') => {
                cursor.begin_object()?;
                while cursor.next_key()?.is_some() {
                    value(cursor)?;
                }
            }
            Some(b'[') => {
                cursor.begin_array()?;
                while cursor.next_element()? {
                    value(cursor)?;
                }
            }
            _ => drop(cursor.skip_value()?),
        }
        Ok(())
    }
    let mut cursor = Cursor::new(text);
    value(&mut cursor)?;
    cursor.end()
}

#[test]
fn entering_is_as_strict_as_skipping() {
    let whole = br#" {"a":1,"b":[true,{"c":"d"},[]],"e":{}} "#;
    let mut tried = 0;
    for at in 0..whole.len() {
        for byte in *b"\"{}[],:ax1 \\" {
            let mut text = whole.to_vec();
            text[at] = byte;
            for text in [&text[..], &[&whole[..at], &[byte], &whole[at..]].concat()] {
                let theirs = serde_json::from_slice::<serde::de::IgnoredAny>(text).is_ok();
                let shown = String::from_utf8_lossy(text);
                assert_eq!(check(text).is_ok(), theirs, "skipping {shown}");
                assert_eq!(check_entering(text).is_ok(), theirs, "entering {shown}");
                tried += 1;
            }
        }
        let mut text = whole.to_vec();
        text.remove(at);
        let theirs = serde_json::from_slice::<serde::de::IgnoredAny>(&text).is_ok();
        assert_eq!(check_entering(&text).is_ok(), theirs, "{}", String::from_utf8_lossy(&text));
    }
    assert!(tried > 900);
}

#[test]
fn every_fault_in_a_string_is_found_at_every_alignment() {
    for bad in [b'\n', 0x00, 0x1f] {
        for pad in 0..40 {
            let mut text = vec![b'"'];
            text.extend(std::iter::repeat_n(b'\xc3', 0).chain(std::iter::repeat_n(b'a', pad)));
            text.push(bad);
            text.extend([b'a'; 20]);
            text.push(b'"');
            assert_eq!(check(&text), Err(Fault { at: pad + 1, what: What::Control(bad) }));
        }
    }
}

#[test]
fn nesting_is_bounded_by_memory_only() {
    for depth in [63, 64, 65, 127, 128, 129, 100_000] {
        let text = "[".repeat(depth) + &"]".repeat(depth);
        assert_eq!(check(text.as_bytes()), Ok(()), "depth {depth}");
        let mixed = "[{\"a\":".repeat(depth) + "1" + &"}]".repeat(depth);
        assert_eq!(check(mixed.as_bytes()), Ok(()), "depth {depth}");
        let wrong = "[{\"a\":".repeat(depth) + "1" + &"]}".repeat(depth);
        assert!(check(wrong.as_bytes()).is_err(), "depth {depth}");
    }
}

#[test]
fn a_cut_text_is_distinguished_from_a_wrong_one() {
    let whole = br#"{"a":[true,-1.5e3,"x\u00e9"],"b":null}"#;
    for cut in 1..whole.len() {
        let fault = check(&whole[..cut]).expect_err("a cut object is no object");
        assert!(fault.what.is_truncation(), "cut at {cut}: {fault:?}");
    }
}
