//! The views as data: JSON and YAML with the same members.

use super::Renderer;
use super::head::Head;
use super::item::Item;
use crate::yaml::write::{Emitter, Style};
use serde::Serialize;
use serde_json::Value;

/// Writes one JSON object, in which each item has a line of its own.
#[derive(Debug, Default)]
pub struct Json {
    any: bool,
}

/// Name of the member with the facts about the session.
const HEAD: &str = "session";
/// Name of the member with the items.
const ITEMS: &str = "items";

impl Renderer for Json {
    fn begin(&mut self, head: &Head, to: &mut Vec<u8>) {
        to.extend_from_slice(format!("{{\"{HEAD}\":{},\n\"{ITEMS}\":[", value(head)).as_bytes());
    }

    fn item(&mut self, _head: &Head, item: &Item, to: &mut Vec<u8>) {
        let comma = if std::mem::replace(&mut self.any, true) { ",\n" } else { "\n" };
        to.extend_from_slice(format!("{comma}{}", value(item)).as_bytes());
    }

    fn end(&mut self, _head: &Head, to: &mut Vec<u8>) {
        to.extend_from_slice(b"\n]}\n");
    }
}

/// Writes one YAML document.
#[derive(Debug)]
pub struct Yaml {
    emitter: Option<Emitter>,
}

impl Default for Yaml {
    fn default() -> Self {
        Self { emitter: Some(Emitter::new(Style::Readable)) }
    }
}

impl Yaml {
    fn write(&mut self, to: &mut Vec<u8>, write: impl FnOnce(&mut Emitter)) {
        if let Some(emitter) = &mut self.emitter {
            write(emitter);
            to.append(emitter.buffer());
        }
    }
}

impl Renderer for Yaml {
    fn begin(&mut self, head: &Head, to: &mut Vec<u8>) {
        self.write(to, |yaml| {
            yaml.begin_mapping().string(HEAD);
            node(yaml, &value(head));
            yaml.string(ITEMS).begin_sequence();
        });
    }

    fn item(&mut self, _head: &Head, item: &Item, to: &mut Vec<u8>) {
        self.write(to, |yaml| node(yaml, &value(item)));
    }

    fn end(&mut self, _head: &Head, to: &mut Vec<u8>) {
        if let Some(emitter) = self.emitter.take() {
            to.append(&mut emitter.finish());
        }
    }
}

fn value(of: &impl Serialize) -> Value {
    serde_json::to_value(of).unwrap_or_default()
}

fn node(yaml: &mut Emitter, value: &Value) {
    match value {
        Value::String(text) => drop(yaml.string(text.as_str())),
        Value::Array(list) => {
            yaml.begin_sequence();
            list.iter().for_each(|each| node(yaml, each));
            yaml.end();
        }
        Value::Object(members) => {
            yaml.begin_mapping();
            for (name, each) in members {
                yaml.string(name.as_str());
                node(yaml, each);
            }
            yaml.end();
        }
        other => drop(yaml.plain(&other.to_string())),
    }
}
