//! Texts as they are read: without signs of no width and broken lines of commands, and with the
//! escapes of addresses, pages and JSON as the characters that they mean.

use super::Found;

/// Signs by which a text can be read in another way. The search for beginnings ignores case.
pub const SIGNS: &[&str] = &[
    "\u{200b}", "\u{200c}", "\u{200d}", "\u{2060}", "\u{feff}", "\u{ad}", "\\\n", "\\\r\n", "&#",
    "\\u00", "%5f", "%2d", "%3a", "%3d",
];

/// Text as it is read.
#[derive(Debug)]
pub struct Read {
    pub text: String,
    /// Places from which on the two texts are equal, in this text and in the one that it was.
    places: Vec<(usize, usize)>,
}

impl Read {
    /// Reads a text.
    pub fn of(text: &str) -> Self {
        let mut read = Self { text: String::with_capacity(text.len()), places: vec![(0, 0)] };
        let mut rest = text;
        while let Some(at) = rest.find([
            '%', '&', '\\', '\u{ad}', '\u{feff}', '\u{200b}', '\u{200c}', '\u{200d}', '\u{2060}',
        ]) {
            let (before, sign) = rest.split_at(at);
            read.text.push_str(before);
            rest = match escape(sign) {
                Some((length, means)) => {
                    read.text.extend(means);
                    let after = sign.get(length..).unwrap_or_default();
                    read.places.push((read.text.len(), text.len() - after.len()));
                    after
                }
                None => {
                    let first = sign.chars().next();
                    read.text.extend(first);
                    sign.get(first.map_or(0, char::len_utf8)..).unwrap_or_default()
                }
            };
        }
        read.text.push_str(rest);
        read
    }

    /// Returns the place of a secret of this text in the one that it was.
    pub fn original<'r>(&self, found: Found<'r>) -> Found<'r> {
        let place = |at: usize| {
            let after = self.places.partition_point(|(here, _)| *here <= at);
            let (here, there) =
                self.places.get(after.saturating_sub(1)).copied().unwrap_or_default();
            there + at - here
        };
        Found { start: place(found.start), end: place(found.end), ..found }
    }
}

/// Returns the length of the escape with which a text begins, and the character that it means, if
/// it is a visible one; `None` if the text begins with none.
fn escape(text: &str) -> Option<(usize, Option<char>)> {
    let number = |digits: &str, radix| {
        let code = u32::from_str_radix(digits, radix).ok()?;
        let visible = char::from_u32(code).filter(char::is_ascii_graphic)?;
        (!matches!(visible, '"' | '\\')).then_some(visible)
    };
    if let Some(line) = ["\\\n", "\\\r\n"].iter().find(|line| text.starts_with(**line)) {
        return Some((line.len(), None));
    }
    if text.starts_with('%') {
        return Some((3, Some(number(text.get(1..3)?, 16)?)));
    }
    if text.starts_with("\\u00") {
        return Some((6, Some(number(text.get(2..6)?, 16)?)));
    }
    if let Some(code) = text.strip_prefix("&#") {
        let length = code.bytes().take(6).position(|byte| byte == b';')?;
        let digits = code.get(..length)?;
        let means = match digits.strip_prefix(['x', 'X']) {
            Some(digits) => number(digits, 16),
            None => number(digits, 10),
        };
        return Some((length + 3, Some(means?)));
    }
    let first = text.chars().next().filter(|sign| !sign.is_ascii())?;
    Some((first.len_utf8(), None))
}
