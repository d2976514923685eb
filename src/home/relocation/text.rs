//! Paths of projects in the text of files. Every other byte stays.

use crate::convert::moved_path;
use crate::format::{Format, List, Map};
use crate::json::{Json, Span, text};
use crate::lines::BOM;
use bytes::Bytes;
use std::io::{self, BufRead, Write};

/// Returns a line without a byte order mark at its beginning, with which editors of Windows begin a
/// file.
pub fn without_mark(line: &Bytes) -> Bytes {
    line.slice(if line.starts_with(BOM) { BOM.len() } else { 0 }..)
}

/// Maximum depth at which paths are looked for.
const DEEPEST: usize = 32;

/// Places of paths in a file, and how the paths move.
pub struct Paths {
    maps: Vec<Map>,
    members: &'static [&'static str],
    messages: &'static [&'static str],
    keyed: &'static [&'static str],
}

impl Paths {
    /// Returns the places in the sessions of a format.
    pub fn of(format: &'static Format, maps: &[Map]) -> Self {
        let maps = maps.to_vec();
        Self { maps, members: format.files.folders, messages: format.files.messages, keyed: &[] }
    }

    /// Returns the places in a list of projects.
    pub fn of_list(list: &'static List, maps: &[Map]) -> Self {
        let maps = maps.to_vec();
        Self { maps, members: list.members, messages: &[], keyed: list.keyed }
    }

    /// Copies lines, each with its paths moved where it is one JSON value; returns the number of
    /// paths that moved.
    pub fn copy_lines(&self, from: &mut dyn BufRead, to: &mut dyn Write) -> io::Result<u64> {
        let (mut line, mut count) = (Vec::new(), 0);
        loop {
            line.clear();
            if from.read_until(b'\n', &mut line)? == 0 {
                return Ok(count);
            }
            let text = Bytes::from(std::mem::take(&mut line));
            count += self.copy(&text, to)?;
        }
    }

    /// Copies a text, with its paths moved if it is one JSON value; returns the number of paths that
    /// moved.
    pub fn copy(&self, text: &Bytes, to: &mut dyn Write) -> io::Result<u64> {
        let (mut edits, mut at) = (Vec::new(), 0);
        if let Ok(value) = Json::read(&without_mark(text)) {
            self.look(&value, &value, Meaning::Plain, 0, &mut edits);
            let start = value.as_bytes().as_ptr().addr().saturating_sub(text.as_ptr().addr());
            for (span, new) in &edits {
                to.write_all(text.get(at..start + span.start).unwrap_or_default())?;
                to.write_all(new.as_bytes())?;
                at = start + span.end;
            }
        }
        to.write_all(text.get(at..).unwrap_or_default())?;
        Ok(edits.len() as u64)
    }

    /// Collects the edits in a value, in the order of their places in `whole`.
    fn look(
        &self,
        whole: &Json,
        value: &Json,
        meaning: Meaning,
        depth: usize,
        edits: &mut Vec<(Span, Json)>,
    ) {
        let mut path = |spelled: &Json| {
            let new = spelled.text().and_then(|old| moved_path(&old, &self.maps));
            edits.extend(new.map(|new| (whole.place_of(spelled), Json::string(&new))));
        };
        match value.as_bytes().first() {
            Some(b'"') if meaning == Meaning::Path => path(value),
            Some(b'{') if depth < DEEPEST => {
                for (key, member) in value.pairs() {
                    if meaning == Meaning::Keyed {
                        let new = key.text().and_then(|old| moved_path(&old, &self.maps));
                        // The software knows the new folder already.
                        let new = new.filter(|new| value.member(new).is_none());
                        edits.extend(new.map(|new| (whole.place_of(&key), Json::string(&new))));
                    }
                    let is =
                        |names: &[&str]| names.iter().any(|name| text::is(key.as_bytes(), name));
                    let inner = match () {
                        () if is(self.messages) => continue,
                        () if is(self.members) => Meaning::Path,
                        () if is(self.keyed) => Meaning::Keyed,
                        () => Meaning::Plain,
                    };
                    self.look(whole, &member, inner, depth + 1, edits);
                }
            }
            Some(b'[') if depth < DEEPEST => {
                let items: Vec<_> = value.elements().collect();
                items.iter().for_each(|item| self.look(whole, item, meaning, depth + 1, edits));
            }
            _ => {}
        }
    }
}

/// Meaning of a value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Meaning {
    Plain,
    /// A path, or a list of paths.
    Path,
    /// An object whose members have paths as names.
    Keyed,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(
        members: &'static [&'static str],
        keyed: &'static [&'static str],
        text: &str,
    ) -> String {
        let maps = vec![Map::new("/w/foo", "/w/bar")];
        let paths = Paths { maps, members, messages: &["message"], keyed };
        let mut out = Vec::new();
        let count = if keyed.is_empty() {
            paths.copy_lines(&mut text.as_bytes(), &mut out)
        } else {
            paths.copy(&Bytes::copy_from_slice(text.as_bytes()), &mut out)
        };
        let out = String::from_utf8(out).expect("UTF-8");
        if count.expect("memory") > 0 { out } else { String::new() }
    }

    #[test]
    fn only_paths_change_and_every_other_byte_stays() {
        let text = "{ \"cwd\" : \"\\/w/foo\", \"x\": 1.50, \"roots\": [\"/w/foo/a\", \"/w/foo-docker\"] }\nnoise /w/foo\n";
        let expected = "{ \"cwd\" : \"/w/bar\", \"x\": 1.50, \"roots\": [\"/w/bar/a\", \"/w/foo-docker\"] }\nnoise /w/foo\n";
        assert_eq!(file(&["cwd", "roots"], &[], text), expected);
        assert_eq!(file(&["cwd"], &[], "{\"message\":{\"cwd\":\"/w/foo\"}}\n"), "");
    }

    #[test]
    fn names_of_members_are_paths_where_they_list_projects() {
        let text = "{\n  \"projects\": {\n    \"/w/foo\": {\"a\": \"/w/foo\"},\n    \"/w/foo2\": {}\n  }\n}\n";
        let expected = text.replacen("/w/foo\":", "/w/bar\":", 1);
        assert_eq!(file(&[], &["projects"], text), expected);
    }
}
