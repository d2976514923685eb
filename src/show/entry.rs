//! The line about a session that its page contains.

use super::head::{Head, minute, short};
use super::texts::clean;
use serde::{Deserialize, Serialize};

/// First bytes of every page in HTML, by which it is recognised.
pub const PAGE: &[u8] = b"<!doctype html>\n<!-- view by copyist, only for reading";

/// First bytes of every view in Markdown.
pub const MARKDOWN: &[u8] = b"<!-- view by copyist, only for reading";

/// Number of bytes at the beginning of a view in which its entry is looked for.
pub const BEGINNING: usize = 4096;

/// Maximum number of characters of a text in an entry.
const LONGEST: usize = 200;

/// Line about a session in a list of pages.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// Title.
    pub title: String,
    /// Format of the session.
    pub agent: String,
    /// Folder of the project.
    pub project: String,
    /// Time of the last record, to the minute.
    pub date: String,
    /// Number of messages.
    pub messages: u64,
    /// Number of tokens; 0 if it is not known.
    pub tokens: f64,
}

impl Entry {
    /// Creates the entry of a session.
    pub(super) fn of(head: &Head) -> Self {
        let short = |text: &str| clean(text).chars().take(LONGEST).collect::<String>();
        Self {
            title: short(&head.title),
            agent: head.format.to_owned(),
            project: head.project.as_deref().map(short).unwrap_or_default(),
            date: head
                .times
                .as_ref()
                .map(|times| clean(&minute(&times.1)).into_owned())
                .unwrap_or_default(),
            messages: head.messages,
            tokens: head.usage.all(),
        }
    }

    /// Returns the entry as JSON that is safe in a comment of HTML.
    pub(super) fn in_comment(&self) -> String {
        let json = serde_json::to_string(self).unwrap_or_default();
        json.replace("--", "-\\u002d").replace('<', "\\u003c").replace('>', "\\u003e")
    }

    /// Reads the entry of a view from its beginning.
    #[must_use]
    pub fn read(beginning: &[u8]) -> Option<Self> {
        let rest = beginning.strip_prefix(PAGE).or_else(|| beginning.strip_prefix(MARKDOWN))?;
        let rest = rest.strip_prefix(b": ")?;
        let end = rest.windows(4).position(|end| end == b" -->")?;
        serde_json::from_slice(rest.get(..end)?).ok()
    }

    /// Returns the number of tokens in a few characters; empty if it is not known.
    pub(super) fn tokens(&self) -> String {
        if self.tokens > 0.0 { short(self.tokens) } else { String::new() }
    }
}

/// Whether a file begins as a view does, or as a list of views.
#[must_use]
pub fn is_view(beginning: &[u8]) -> bool {
    beginning.starts_with(PAGE) || beginning.starts_with(MARKDOWN)
}

/// Returns the address of a file by its relative path.
pub(super) fn address(path: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte);
    let mut out = String::with_capacity(path.len());
    // A colon in the first name would be the end of a scheme.
    for byte in path.bytes() {
        if plain(byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_read_from_its_view() {
        let title = "a --> <script> 'b'".to_owned();
        let entry = Entry { title, messages: 3, ..Entry::default() };
        let comment = entry.in_comment();
        assert!(!comment.contains("--") && !comment.contains('<') && !comment.contains('>'));
        for mark in [PAGE, MARKDOWN] {
            let view = [mark, b": ", comment.as_bytes(), b" -->\n<html>"].concat();
            assert_eq!(Entry::read(&view).as_ref(), Some(&entry));
            assert!(is_view(&view));
        }
        assert_eq!(address("a b/é:?.html"), "a%20b/%C3%A9%3A%3F.html");
    }
}
