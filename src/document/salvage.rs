//! Recovery of the items of a damaged document, and of the members around its list.

use super::Path;
use crate::json::{self, Cursor, Fault, What, text};
use crate::repair::{EFFORT, whole};
use std::borrow::Cow;
use std::ops::Range;

/// Document that was put together from the pieces of a damaged one.
#[derive(Clone, Debug, Default)]
pub struct Salvaged {
    /// Text of the document: up to the damage that of the source.
    pub text: Vec<u8>,
    /// Number of items.
    pub items: u64,
    /// Whether bytes that are not UTF-8 were replaced in it.
    pub replaced: bool,
}

/// Makes a document of the whole pieces of a damaged one: everything that is open at its end is
/// closed. Behind an item that is broken, the next one that `recognise` accepts goes on with the
/// list. `None` if there is no object.
///
/// ```
/// use copyist::document::salvage;
/// let torn = br#"{"id":"s", "messages":[{"n":1}, {"n":{,{"n":3},{"n":"#;
/// let found = salvage(torn, &["messages"], |item| item.starts_with(b"{\"n\":")).expect("a document");
/// assert_eq!(found.text, br#"{"id":"s", "messages":[{"n":1},{"n":3}]}"#);
/// assert_eq!(found.items, 2);
/// ```
#[must_use]
pub fn salvage(text: &[u8], path: Path, recognise: fn(&[u8]) -> bool) -> Option<Salvaged> {
    let start = memchr::memchr(b'{', text)?;
    let budget = text.len().saturating_mul(EFFORT);
    let mut walk = Walk { text, recognise, budget, found: Salvaged::default(), kept: start };
    let first = walk.item(start).ok().and_then(|length| text.get(start..start + length));
    match path {
        // The beginning of the document is missing.
        [name] if first.is_some_and(recognise) => {
            walk.found.text.extend_from_slice(format!("{{\"{name}\":[").as_bytes());
            walk.list(start);
            walk.found.text.push(b'}');
        }
        _ => drop(walk.object(start, path)),
    }
    Some(walk.found)
}

struct Walk<'a> {
    text: &'a [u8],
    recognise: fn(&[u8]) -> bool,
    /// Number of bytes that the search for items may still walk.
    budget: usize,
    found: Salvaged,
    /// End of the last piece that was kept.
    kept: usize,
}

impl<'a> Walk<'a> {
    fn from(&self, at: usize) -> &'a [u8] {
        self.text.get(at..).unwrap_or_default()
    }

    /// Appends a piece of the source, and what separates it from the piece before. Bytes in it that
    /// are not UTF-8 are replaced.
    fn keep(&mut self, place: Range<usize>, separator: &[u8]) {
        let between = self.text.get(self.kept..place.start).unwrap_or_default();
        let usual = between.trim_ascii() == separator;
        self.found.text.extend_from_slice(if usual { between } else { separator });
        let bytes = self.text.get(place.clone()).unwrap_or_default();
        let text = String::from_utf8_lossy(bytes);
        self.found.replaced |= matches!(text, Cow::Owned(_));
        self.found.text.extend_from_slice(text.as_bytes());
        self.kept = place.end;
    }

    /// Closes an object or a list: with its own last byte, if it is there.
    fn close(&mut self, end: Option<usize>, with: u8) -> Option<usize> {
        match end {
            Some(end) => self.keep(end - 1..end, b""),
            None => {
                self.found.text.push(with);
                self.kept = self.text.len();
            }
        }
        end
    }

    /// Appends the object that begins here; returns its end, unless the object is torn.
    fn object(&mut self, start: usize, path: Path) -> Option<usize> {
        self.keep(start..start + 1, if start > self.kept { b":" } else { b"" });
        let (mut at, mut separator, mut listed) = (start, &b""[..], false);
        let mut cursor = Cursor::new(self.from(at));
        let mut next = cursor.begin_object().and_then(|()| cursor.next_key());
        let end = loop {
            let key = match next {
                Ok(None) => break Some(at + cursor.at()),
                Err(_) => break None,
                Ok(Some(key)) => at + key.start..at + key.end,
            };
            let value = at + cursor.at();
            let before = (self.found.text.len(), self.found.replaced, self.kept);
            let name = self.text.get(key.clone()).unwrap_or_default();
            self.keep(key, separator);
            let on_path = path.split_first().filter(|(first, _)| text::is(name, first));
            let end = match (on_path, self.text.get(value)) {
                (Some((_, [])), Some(b'[')) => {
                    listed = true;
                    self.keep(value..value + 1, b":");
                    self.list(value + 1)
                }
                (Some((_, rest)), Some(b'{')) if !rest.is_empty() => self.object(value, rest),
                _ => match self.value(value) {
                    Some(end) => end,
                    None => {
                        self.found.text.truncate(before.0);
                        (self.found.replaced, self.kept) = (before.1, before.2);
                        break None;
                    }
                },
            };
            separator = b",";
            let Some(end) = end else { break None };
            at = end;
            cursor = Cursor::new(self.from(at));
            next = cursor.next_key();
        };
        if end.is_none() && !listed {
            self.rest(path, separator);
        }
        self.close(end, b'}')
    }

    /// Continues behind a broken member with the list, if that is to come yet.
    fn rest(&mut self, path: Path, separator: &[u8]) {
        let [name] = path else { return };
        if let Some((key, list)) = self.find_list(name) {
            self.keep(key..key + name.len() + 2, separator);
            self.keep(list..list + 1, b":");
            self.list(list + 1);
        }
    }

    /// Finds the list of this name behind what was kept: where its key is, and where it begins.
    fn find_list(&self, name: &str) -> Option<(usize, usize)> {
        let key = format!("\"{name}\"");
        memchr::memmem::find_iter(self.from(self.kept), key.as_bytes()).find_map(|found| {
            let key_at = self.kept + found;
            let behind = self.from(key_at + key.len());
            let value = behind.trim_ascii_start().strip_prefix(b":")?.trim_ascii_start();
            value.starts_with(b"[").then(|| (key_at, self.text.len() - value.len()))
        })
    }

    /// Appends the value of a member, or the whole pieces of a torn one. Returns the end of the
    /// value, which is missing if the value is torn; `None` if nothing of it is kept.
    fn value(&mut self, at: usize) -> Option<Option<usize>> {
        if let Ok(length) = self.item(at) {
            self.keep(at..at + length, b":");
            return Some(Some(at + length));
        }
        let rest = String::from_utf8_lossy(self.from(at));
        let pieces = json::salvage(rest.as_bytes()).filter(|pieces| pieces != b"{}")?;
        self.keep(at..at, b":");
        self.found.text.extend_from_slice(&pieces);
        Some(None)
    }

    /// Appends the list whose items begin here; returns its end, unless it is torn.
    fn list(&mut self, mut at: usize) -> Option<usize> {
        let mut separator = &b""[..];
        let end = loop {
            let between = |byte: &&u8| byte.is_ascii_whitespace() || **byte == b',';
            at += self.from(at).iter().take_while(between).count();
            match self.text.get(at) {
                None => break None,
                Some(b']') => break Some(at + 1),
                Some(_) => {}
            }
            match self.item(at) {
                Ok(length) => {
                    self.keep(at..at + length, separator);
                    self.found.items += 1;
                    separator = b",";
                    at += length;
                }
                Err(fault) => match self.next_item(at, fault) {
                    Some(next) => at = next,
                    None => break None,
                },
            }
        };
        self.close(end, b']')
    }

    /// Returns the length of the item that begins here, if it is whole.
    fn item(&self, at: usize) -> Result<usize, Fault> {
        let rest = self.from(at);
        let length = Cursor::new(rest).skip_value()?.end;
        let is_word = !matches!(rest.first(), Some(b'{' | b'[' | b'"'));
        // A number that ends where the bytes end may have had more digits.
        let torn = is_word && length == rest.len();
        if torn { Err(Fault { at: length, what: What::End }) } else { Ok(length) }
    }

    /// Finds the next item behind one with this fault. Objects before the fault are inside of the
    /// broken item, but an object whose first quote ends a text that was cut may be the next one.
    fn next_item(&mut self, at: usize, fault: Fault) -> Option<usize> {
        if fault.what.is_truncation() {
            return None;
        }
        let inside = self.text.get(at..at + fault.at).unwrap_or_default();
        let opened = inside.strip_suffix(b"\"").unwrap_or(inside).trim_ascii_end();
        let from = at + opened.len() - usize::from(opened.len() > 1 && opened.ends_with(b"{"));
        let mut places = memchr::memchr_iter(b'{', self.from(from)).map(|found| from + found);
        places.find(|place| {
            let rest = self.from(*place);
            let Some(length) = whole(rest, &mut self.budget) else { return false };
            let (item, behind) = rest.split_at_checked(length).unwrap_or_default();
            let follows = behind.trim_ascii_start().first();
            matches!(follows, None | Some(b',' | b']')) && (self.recognise)(item)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Json;

    fn found(text: &[u8]) -> Option<String> {
        let found = salvage(text, &["list"], |item| item.starts_with(b"{\"n\""))?;
        let text = String::from_utf8(found.text).expect("UTF-8");
        let mut cursor = Cursor::new(text.as_bytes());
        assert!(cursor.skip_value().and_then(|_| cursor.end()).is_ok(), "{text}");
        Some(text)
    }

    #[test]
    fn each_cut_keeps_every_whole_item() {
        let whole = br#"{"id":"s","meta":{"a":[1,2],"b":3},"list":[{"n":1},{"n":{"n":2}},{"n":3}],"end":4}"#;
        let ends = [r#"{"n":1}"#, r#"{"n":{"n":2}}"#, r#"{"n":3}"#].map(|item| {
            let text = std::str::from_utf8(whole).expect("UTF-8");
            text.find(item).expect("an item") + item.len()
        });
        for cut in 1..=whole.len() {
            let text = found(&whole[..cut]).expect("a document");
            let items = ends.iter().filter(|end| **end <= cut).count();
            let list = Json::trusted(text.clone().into()).member("list");
            let count = list.map_or(0, |list| list.elements().count());
            assert_eq!(count, items, "{text}");
        }
        assert_eq!(found(whole), Some(String::from_utf8_lossy(whole).into_owned()));
        assert_eq!(found(b""), None);
    }

    #[test]
    fn damage_in_the_middle_costs_one_item() {
        for (damaged, text) in [
            (
                "{\"list\": [\n{\"n\":1},\n{\"n\":,{\"n\":3}\n]}",
                "{\"list\": [\n{\"n\":1},{\"n\":3}\n]}",
            ),
            (
                r#"{"list":[{"n":1},{"n":"ab{"n":{"n":3}},{"n":4}]}"#,
                r#"{"list":[{"n":1},{"n":{"n":3}},{"n":4}]}"#,
            ),
            (r#"{"a":x,"list":[{"n":1}],"b":2}"#, r#"{"list":[{"n":1}]}"#),
            (r#"{"a":1, "b":x,"list":[{"n":1}"#, r#"{"a":1,"list":[{"n":1}]}"#),
            (r#"],{"n":1},{"n":2}]}"#, r#"{"list":[{"n":1},{"n":2}]}"#),
            (r#"{"list":[{"n":1},,{"n":2}]}{"list":[]}"#, r#"{"list":[{"n":1},{"n":2}]}"#),
        ] {
            assert_eq!(found(damaged.as_bytes()).expect("a document"), text, "{damaged}");
        }
        let text = found(b"{\"list\":[{\"n\":\"\xff\"},{\"n\":2}]}").expect("a document");
        assert_eq!(text, "{\"list\":[{\"n\":\"\u{fffd}\"},{\"n\":2}]}");
    }
}
