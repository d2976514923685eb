//! The forms in which formats tell the same value.

use crate::json::{Cursor, Json};
use memchr::memchr_iter;

/// Another form of a value.
#[derive(Clone, Copy, Debug)]
pub struct Form {
    /// What a reference calls it.
    pub name: &'static str,
    /// Makes it; `None` where a value has no such form.
    pub make: fn(&Json) -> Option<Json>,
    /// Whether a value may have such a form that is not the value itself, at a glance.
    has: fn(&Json) -> bool,
}

impl Form {
    /// That of this name.
    pub fn of(name: &str) -> Option<&'static Self> {
        FORMS.iter().chain(TEXTS.iter().map(|(_, form)| form)).find(|form| form.name == name)
    }

    /// The value in this form, if that differs from it.
    pub fn other(&self, value: &Json) -> Option<Json> {
        let made = (self.has)(value).then(|| (self.make)(value)).flatten();
        made.filter(|made| made != value)
    }
}

/// The value itself, and its forms.
pub static FORMS: [Form; 6] = [
    Form { name: "", make: |value| Some(value.clone()), has: |_| true },
    Form { name: "normal", make: |value| Some(normal(value)), has: is_odd },
    Form { name: "python", make: |value| Some(python(value)), has: differs_in_python },
    Form { name: "parsed", make: parsed, has: holds_json },
    Form { name: "parsed normal", make: |value| Some(normal(&parsed(value)?)), has: holds_json },
    Form { name: "parsed python", make: |value| Some(python(&parsed(value)?)), has: holds_json },
];

/// Texts that hold values, by the place of these among the forms: a text is sought by what it holds.
pub static TEXTS: [(usize, Form); 3] = [
    (0, Form { name: "text", make: as_text, has: is_container }),
    (1, Form { name: "normal text", make: |v| as_text(&normal(v)), has: is_container }),
    (2, Form { name: "python text", make: |v| as_text(&python(v)), has: is_container }),
];

/// The forms that only a value has which Python may have spelled.
pub fn is_of_python(form: usize) -> bool {
    matches!(form, 2 | 5)
}

/// The forms that only lists and objects have.
pub fn is_of_containers(form: usize) -> bool {
    matches!(form, 3..=5)
}

/// Whether a value in the form of this number may be that one, at a glance: as far as both go without
/// an escape they say the same.
pub fn may_be(form: usize, value: &[u8], made: &[u8]) -> bool {
    let (Some(first), Some(made_first)) = (value.first(), made.first()) else { return false };
    if !is_of_containers(form) {
        // The simplest spelling is the shortest.
        let longer = form != 1 || value.len() > made.len();
        return longer && first == made_first && are_alike(value.iter().copied(), made);
    }
    if *first != b'"' || value.get(1) != Some(made_first) {
        return false;
    }
    let mut bytes = value.iter().copied().skip(1).peekable();
    let decoded = std::iter::from_fn(|| match bytes.next()? {
        b'\\' => Some(bytes.next_if_eq(&b'"').unwrap_or(b'\\')),
        other => Some(other),
    });
    are_alike(decoded, made)
}

/// Whether two JSON texts are the same up to the first escape, white space between their parts aside.
fn are_alike(a: impl Iterator<Item = u8>, b: &[u8]) -> bool {
    for (a, b) in tight(a).zip(tight(b.iter().copied())) {
        if a == b'\\' || b == b'\\' {
            return true;
        }
        if a != b {
            return false;
        }
    }
    true
}

/// A JSON text without white space between its parts, right up to the first escape.
fn tight(text: impl Iterator<Item = u8>) -> impl Iterator<Item = u8> {
    let mut inside = false;
    text.filter(move |byte| {
        inside ^= *byte == b'"';
        inside || !byte.is_ascii_whitespace()
    })
}

fn normal(value: &Json) -> Json {
    Json::checked(value.normal().into())
}

fn python(value: &Json) -> Json {
    Json::checked(value.python().into())
}

/// What a text of JSON holds, if that is a list or an object.
pub fn parsed(value: &Json) -> Option<Json> {
    if holds_json(value) { value.parsed() } else { None }
}

fn as_text(value: &Json) -> Option<Json> {
    let text = std::str::from_utf8(value.as_bytes()).ok().filter(|_| is_container(value));
    text.map(Json::string)
}

/// Whether a value is a text that looks like a list or an object.
pub fn holds_json(value: &Json) -> bool {
    value.as_bytes().get(..2).is_some_and(|start| matches!(start, b"\"{" | b"\"["))
}

/// Whether a value is a list or an object.
pub fn is_container(value: &Json) -> bool {
    matches!(value.as_bytes().first(), Some(b'{' | b'['))
}

/// Whether Python may have spelled a value, and others did not.
pub fn is_python(value: &Json) -> bool {
    is_spaced(value) || escapes(value).any(|letter| letter == b'u')
}

/// Whether a value may be spelled in a simpler way.
fn is_odd(value: &Json) -> bool {
    is_spaced(value) || escapes(value).any(|letter| matches!(letter, b'u' | b'/'))
}

/// Whether Python would spell a value in a way that is not its simplest.
fn differs_in_python(value: &Json) -> bool {
    is_container(value) || !value.as_bytes().is_ascii() || is_odd(value)
}

/// The letters behind backslashes.
fn escapes(value: &Json) -> impl Iterator<Item = u8> {
    let bytes = value.as_bytes();
    let mut past = 0;
    memchr_iter(b'\\', bytes).filter_map(move |at| {
        if at < past {
            return None;
        }
        past = at + 2;
        bytes.get(at + 1).copied()
    })
}

/// How deep a glance goes.
const GLANCE: usize = 8;

/// Whether there is white space where a list or an object may have some first; there may be where
/// that is too deep for a glance.
fn is_spaced(value: &Json) -> bool {
    is_spaced_within(value, GLANCE)
}

fn is_spaced_within(value: &Json, deep: usize) -> bool {
    if deep == 0 {
        return true;
    }
    let bytes = value.as_bytes();
    let space = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_whitespace);
    let mut cursor = Cursor::new(bytes);
    match bytes.first() {
        _ if space(1) => is_container(value),
        Some(b'{') if cursor.begin_object().is_ok() => {
            let key = cursor.next_key().ok().flatten();
            key.is_some_and(|key| space(key.end) || space(key.end + 1))
        }
        Some(b'[') if cursor.begin_array().is_ok() => {
            let item = cursor.next_element().ok().and_then(|_| cursor.skip_value().ok());
            item.is_some_and(|item| {
                let first = Json::checked(value.bytes().slice(item.start..item.end));
                space(item.end) || space(item.end + 1) || is_spaced_within(&first, deep - 1)
            })
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> Json {
        Json::checked(text.to_owned().into())
    }

    #[test]
    fn other_values_are_told_at_a_glance() {
        let pairs: [(usize, &[u8], &[u8]); 4] = [
            (1, br#"{"a": [1, 2]}"#, br#"{"a":[1,3]}"#),
            (1, br#""text""#, br#""test""#),
            (3, br#""{\"a\": 1}""#, br#"{"b":1}"#),
            (3, br#"{"a": 1}"#, br#"{"a":1}"#),
        ];
        for (form, value, made) in pairs {
            assert!(!may_be(form, value, made), "{}", String::from_utf8_lossy(value));
        }
    }

    #[test]
    fn what_a_glance_passes_over_has_no_other_form() {
        let values = [
            r#""plain""#,
            r#""a\n\t\"\\u00e9\\""#,
            r#""é""#,
            r#""\u00e9""#,
            r#""a\/b""#,
            r#"{"a":1,"b":[1,2]}"#,
            r#"{"a": 1, "b": [1, 2]}"#,
            r#"[{"a": 1}]"#,
            r#"["x", 2]"#,
            r#"[ "x"]"#,
            r#"{"a":"\u00e9"}"#,
            "12",
            "[]",
            r#""{\"a\": \"\u00e9\"}""#,
            r#""{\"a\":\t[\"x\\\"\", 2] }\n""#,
            r#"{"é": "\u00e9\/", "b" :[ {"c" : null} ]}"#,
        ];
        for text in values {
            let value = json(text);
            for (number, form) in FORMS.iter().enumerate().skip(1) {
                let made = (form.make)(&value).filter(|made| *made != value);
                if let Some(made) = made {
                    let may_be = may_be(number, value.as_bytes(), made.as_bytes());
                    assert!(may_be, "{text} {}", form.name);
                    assert!((form.has)(&value), "{text} {}", form.name);
                    let own = form.name == "python" && made != normal(&value);
                    assert!(!own || is_python(&made), "{text} as {made:?}");
                }
            }
        }
    }
}
