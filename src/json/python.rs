//! Numbers that Python's `json` writes and JSON does not know.

/// `NaN`, `Infinity` and `-Infinity`, the longest that begins so first.
const CONSTANTS: &[&[u8]] = &[b"NaN", b"Infinity", b"-Infinity"];

/// The text with `null` for each such number; `None` if there is none outside of strings.
#[must_use]
pub fn without_constants(text: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len());
    let (mut rest, mut found, mut quoted) = (text, false, false);
    while let Some((&byte, after)) = rest.split_first() {
        let constant = CONSTANTS.iter().find(|constant| !quoted && rest.starts_with(constant));
        if let Some(constant) = constant {
            out.extend_from_slice(b"null");
            rest = rest.get(constant.len()..).unwrap_or_default();
            found = true;
            continue;
        }
        out.push(byte);
        rest = after;
        match (byte, after) {
            (b'"', _) => quoted = !quoted,
            (b'\\', [escaped, after @ ..]) if quoted => {
                out.push(*escaped);
                rest = after;
            }
            _ => {}
        }
    }
    found.then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_numbers_are_replaced() {
        let replaced = |text: &str| {
            let out = without_constants(text.as_bytes())?;
            Some(String::from_utf8(out).expect("UTF-8"))
        };
        let text = r#"{"a":NaN,"b":[-Infinity,Infinity],"c":"NaN \" NaN"}"#;
        let plain = r#"{"a":null,"b":[null,null],"c":"NaN \" NaN"}"#;
        assert_eq!(replaced(text).as_deref(), Some(plain));
        assert_eq!(replaced(plain), None);
    }
}
