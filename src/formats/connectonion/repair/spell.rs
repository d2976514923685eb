//! Spelling of the members and messages that repair puts in, as PyYAML writes them.

use super::super::file::put;
use crate::diagnostic::Code;
use crate::json::Json;
use crate::yaml::Text;
use crate::yaml::write::{Emitter, Style};

/// Notes of what was put in, for the member `copyist` at the end of a file.
#[derive(Debug, Default)]
pub struct Notes(Vec<(Code, String)>);

impl Notes {
    /// Adds a note.
    pub fn add(&mut self, code: Code, what: String) {
        self.0.push((code, what));
    }

    /// Returns the member in YAML; empty if there are no notes.
    pub fn yaml(&self) -> Vec<u8> {
        if self.0.is_empty() {
            return Vec::new();
        }
        let mut yaml = Emitter::new(Style::PyYaml);
        yaml.begin_mapping().string("copyist").begin_mapping();
        yaml.string("repaired").begin_sequence();
        for (code, what) in &self.0 {
            yaml.begin_mapping().string("code").string(code.name());
            yaml.string("what").string(what.as_str()).end();
        }
        yaml.end().end().end();
        yaml.finish()
    }
}

/// The beginning of the member.
const NOTES: &str = "copyist:\n  repaired:\n";

/// Returns the part of a member with notes that follows the notes of an earlier repair.
pub fn behind<'n>(notes: &'n [u8], earlier: &[u8]) -> &'n [u8] {
    notes.strip_prefix(NOTES.as_bytes()).filter(|_| !earlier.is_empty()).unwrap_or(notes)
}

/// Whether a member holds the notes of an earlier repair, so that more notes can follow.
pub fn is_notes(member: &[u8]) -> bool {
    member.strip_prefix(NOTES.as_bytes()).is_some_and(|notes| notes.starts_with(b"  - code: "))
}

/// Spells a message as an item of a list with this indentation.
pub fn message(message: &Json, indent: usize) -> Vec<u8> {
    let mut yaml = Emitter::new(Style::PyYaml);
    yaml.begin_sequence();
    put(message.as_bytes(), &mut yaml);
    yaml.end();
    indented(&yaml.finish(), indent)
}

/// Spells a message with a text as an item of such a list.
pub fn message_item(role: &str, content: &Json, indent: usize) -> Vec<u8> {
    let mut yaml = Emitter::new(Style::PyYaml);
    yaml.begin_sequence().begin_mapping().string("role").string(role).string("content");
    text(content, &mut yaml);
    yaml.end().end();
    indented(&yaml.finish(), indent)
}

/// Spells a member with a text.
pub fn member(key: &str, value: &Json, indent: usize) -> Vec<u8> {
    let mut yaml = Emitter::new(Style::PyYaml);
    yaml.begin_mapping().string(key);
    text(value, &mut yaml);
    yaml.end();
    indented(&yaml.finish(), indent)
}

fn text(value: &Json, yaml: &mut Emitter) {
    match Text::from_json(value.as_bytes()) {
        Some(text) => drop(yaml.string(text)),
        None => drop(yaml.string("")),
    }
}

/// Indents lines; blank ones stay blank.
fn indented(text: &[u8], indent: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + 64);
    for line in text.split_inclusive(|b| *b == b'\n') {
        if line != b"\n" {
            out.extend(std::iter::repeat_n(b' ', indent));
        }
        out.extend_from_slice(line);
    }
    out
}
