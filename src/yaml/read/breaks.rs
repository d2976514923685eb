//! Line breaks that only YAML 1.1 knows.

use crate::yaml::Text;

/// Returns the original of `text`, a scalar that PyYAML wrote in single quotes.
///
/// PyYAML writes U+0085, U+2028 and U+2029 into single quotes as they are and treats them as line
/// breaks: it continues behind the indentation of the next line. Parsers of YAML 1.2 keep that
/// indentation as part of the text and fold the true line breaks around it. This function undoes
/// both. Parsers of YAML 1.2 refuse such a character at the beginning of a line (`"a\n\u{2028}b"`
/// in Python): that is an error with a place, never another text.
///
/// PyYAML's own reader reads U+0085 as a space, and so does this function where PyYAML did not
/// write it, because no indentation follows.
///
/// ```
/// use copyist::yaml::{Text, read::restore_breaks};
/// let text = restore_breaks(Text::from("one\u{2028}    two\u{85} three"));
/// assert_eq!(text, "one\u{2028}two\u{85}\nthree");
/// assert_eq!(restore_breaks(Text::from("one\u{85}two")), "one two");
/// ```
pub fn restore_breaks(text: Text<'_>) -> Text<'_> {
    const BREAKS: [char; 3] = ['\u{85}', '\u{2028}', '\u{2029}'];
    let bytes = text.as_bytes();
    let found = |at: usize| {
        let rest = bytes.get(at..).unwrap_or_default();
        BREAKS.iter().any(|c| rest.starts_with(c.encode_utf8(&mut [0; 4]).as_bytes()))
    };
    if !memchr::memchr2_iter(0xc2, 0xe2, bytes).any(found) {
        return text;
    }
    let Some(mut rest) = text.as_str() else { return text };
    let mut out = String::with_capacity(rest.len());
    while let Some((at, found)) = rest.match_indices(BREAKS).next() {
        let (before, after) = rest.split_at(at + found.len());
        out.push_str(before);
        rest = after.trim_start_matches(' ');
        match after.len() - rest.len() {
            // Of `n` line breaks in a row n - 1 are read.
            0 if rest.starts_with('\n') => out.push('\n'),
            // PyYAML would have indented what follows.
            0 if found == "\u{85}" && !rest.is_empty() && !rest.starts_with(BREAKS) => {
                let text = out.trim_end_matches(['\u{85}', ' ']).len();
                out.truncate(text);
                out.push(' ');
            }
            // A single one is read as a space. Indentation has two at least.
            1 => out.push('\n'),
            _ => {}
        }
    }
    out.push_str(rest);
    out.into()
}

/// Returns the text that PyYAML reads of a literal block, where U+0085 ends a line; `text` has the
/// lines of YAML 1.2.
///
/// ```
/// use copyist::yaml::{Text, read::end_lines};
/// assert_eq!(end_lines(Text::from("one\u{85}\ntwo\n")), "one\n\ntwo\n");
/// ```
pub fn end_lines(text: Text<'_>) -> Text<'_> {
    match text.as_str().filter(|text| text.contains("\u{85}\n")) {
        Some(found) => found.replace("\u{85}\n", "\n\n").into(),
        None => text,
    }
}
