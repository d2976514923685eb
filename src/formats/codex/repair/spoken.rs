//! Messages of the user whose items are lost. Codex writes the item first and then its event.

use super::super::{items, line, twin, wire};
use super::{is_of, payload_of};
use crate::json::{Json, text};
use crate::mapping::Object;
use crate::record::{Field, Kind, Record, block};
use std::collections::{HashMap, HashSet};
use twin::Speaker;

/// The messages of the user that no event repeated yet.
#[derive(Default)]
pub struct Spoken {
    /// How often each text was said.
    texts: HashMap<u64, u32>,
    /// Number of messages since the last event of the user. Where one has another text than the
    /// event behind it, somebody changed it.
    new: u32,
    /// Places of the events whose items are lost.
    lost: HashSet<u64>,
}

impl Spoken {
    /// Looks at the line at this place.
    pub fn note(&mut self, object: &Json, place: u64) {
        if let Some(words) = words_of(object) {
            self.repeat(&words, place);
        } else if is_of(object, wire::ITEM) {
            let record = line::read(object, false);
            if record.kind == Kind::Message && record.node.is(Field::Role, "user") {
                self.message(&record);
            }
        }
    }

    fn message(&mut self, message: &Record) {
        let blocks = message.node.content();
        let texts = blocks.iter().filter_map(|block| block.json(Field::Text));
        let names: HashSet<u64> =
            texts.chain(&block::all_text(blocks)).map(items::hash_of).collect();
        for name in names {
            *self.texts.entry(name).or_default() += 1;
        }
        self.new += 1;
    }

    fn repeat(&mut self, words: &Json, place: u64) {
        let said = self.texts.get_mut(&items::hash_of(words)).filter(|count| **count > 0);
        match said {
            Some(count) => *count -= 1,
            None if self.new > 0 => {}
            None => drop(self.lost.insert(place)),
        }
        self.new = 0;
    }

    /// Whether an item is put in.
    pub fn changes(&self) -> bool {
        !self.lost.is_empty()
    }

    /// Whether the item of the event at this place is lost.
    pub fn is_lost(&self, place: u64) -> bool {
        self.lost.contains(&place)
    }
}

/// Returns what the user says in an event.
fn words_of(object: &Json) -> Option<Json> {
    let payload = object.member("payload").filter(|_| is_of(object, wire::EVENT))?;
    let (speaker, words) = twin::of_event(&payload)?;
    (speaker == Speaker::User && words.as_bytes() != b"\"\"").then_some(words)
}

/// Returns the line with the item of an event.
pub fn item(event: &Json, number: Option<u64>) -> Vec<u8> {
    let mut content = b"[".to_vec();
    part("input_text", "text", &words_of(event).unwrap_or_default(), &mut content);
    for url in twin::images(&payload_of(event)).urls() {
        content.push(b',');
        part("input_image", "image_url", url, &mut content);
    }
    content.push(b']');
    let mut item = Vec::new();
    let mut object = Object::open(&mut item);
    text::quote("message", object.key("type"));
    text::quote("user", object.key("role"));
    object.member("content", &content);
    object.close();
    line::item(event, &item, number)
}

fn part(kind: &str, name: &str, value: &Json, out: &mut Vec<u8>) {
    let mut part = Object::open(out);
    text::quote(kind, part.key("type"));
    part.member(name, value.as_bytes());
    part.close();
}
