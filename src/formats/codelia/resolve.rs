//! Resolution of the references in lines to the messages and values that they represent.

use super::history::prompt_message;
use super::message;
use super::message_store::MessageStore;
use super::read::SHARED;
use crate::error::Result;
use crate::format::Spool;
use crate::json::{Json, text};
use crate::record::{Field, Kind, Node, Record, Value};

/// Headers of runs, with the fields that they leave to the session record and to the first header.
#[derive(Debug, Default)]
pub struct Headers {
    /// Session record, until the first header takes its fields.
    session: Option<Node>,
    first: Node,
}

impl Headers {
    /// Takes a session record; only the first one counts.
    pub fn session(&mut self, node: &Node) {
        if self.first.is_empty() && self.session.is_none() {
            self.session = Some(node.clone());
        }
    }

    /// Completes a header with the fields that it leaves to the session record or the first header.
    pub fn fill(&mut self, node: &mut Node) {
        if let Some(session) = self.session.take() {
            for &field in SHARED {
                if let (None, Some(value)) = (node.get(field), session.get(field)) {
                    node.set(field, value.clone());
                }
            }
            let id = session.json(Field::Id).filter(|_| !session.is_true(Field::IdMade));
            if let (None, Some(id)) = (node.json(Field::Session), id) {
                node.set(Field::Session, id.clone());
            }
            self.first = node.clone();
        }
        if let Some(Value::Json(same)) = node.take(Field::Reference) {
            for field in [Field::SystemPrompt, Field::Tools] {
                let value = self.first.json(field).filter(|_| same.member(field.name()).is_some());
                node.put(field, value.cloned());
            }
        }
    }
}

/// All messages and values that lines refer to.
pub struct Sources {
    store: MessageStore,
    /// System prompt and tools of the run.
    prompt: Option<Json>,
    tools: Option<Json>,
}

/// Messages that a line refers to.
#[derive(Debug, Default)]
pub struct Resolved {
    /// Messages that were found.
    pub messages: Vec<Json>,
    /// Number of messages that were not found.
    pub missing: u64,
}

impl Sources {
    /// Creates an empty store that keeps messages in `spool`.
    pub fn new(spool: Box<dyn Spool>) -> Self {
        Self { store: MessageStore::new(spool), prompt: None, tools: None }
    }

    /// Begins a run with its own prompt and tools.
    pub fn begin(&mut self, header: &Node) {
        self.prompt = header.json(Field::SystemPrompt).cloned();
        self.tools = header.json(Field::Tools).cloned();
    }

    /// Keeps a message for the lines that refer to it; returns false for a record that is not a
    /// message.
    pub fn message(&mut self, record: &Record) -> Result<bool> {
        let node = &record.node;
        let Some(id) = node.json(Field::Id) else { return Ok(false) };
        let Some(spelling) = spelling(record) else { return Ok(false) };
        self.store.put(id, node.json(Field::Parent), &spelling)?;
        Ok(true)
    }

    /// Returns the messages that a list of references represents.
    pub fn messages(&mut self, references: &Json) -> Result<Resolved> {
        let mut messages = Vec::new();
        let missing = self.each(references, &mut |message| {
            messages.push(message);
            Ok(())
        })?;
        Ok(Resolved { messages, missing })
    }

    /// Passes the messages that a list of references represents to `take`, one by one. Returns the
    /// number of references that were not found.
    ///
    /// # Errors
    /// If they cannot be read back, and those of `take`.
    pub fn each(
        &mut self,
        references: &Json,
        take: &mut dyn FnMut(Json) -> Result<()>,
    ) -> Result<u64> {
        let mut missing = 0;
        for item in references.elements() {
            missing += u64::from(!self.item(&item, take)?);
        }
        Ok(missing)
    }

    /// Keeps a value that a list of references contains, and that other references name by this
    /// label.
    pub fn labelled(&mut self, label: &Json, value: &Json) -> Result<()> {
        self.store.put(label, None, value.as_bytes())
    }

    /// Passes the messages of one reference to `take`; false if the reference cannot be resolved.
    fn item(&mut self, item: &Json, take: &mut dyn FnMut(Json) -> Result<()>) -> Result<bool> {
        let message = match item.as_bytes().first() {
            Some(b'"') => self.store.get(item)?,
            Some(b'[') => {
                let ends: Vec<_> = item.elements().collect();
                let [first, last] = ends.as_slice() else { return Ok(false) };
                let Some(numbers) = self.store.path(first, last) else { return Ok(false) };
                for number in numbers {
                    take(self.store.read(number)?)?;
                }
                return Ok(true);
            }
            _ => self.value(item)?,
        };
        let found = message.is_some();
        message.map_or(Ok(()), take).map(|()| found)
    }

    fn value(&mut self, item: &Json) -> Result<Option<Json>> {
        if let Some(message) = item.member("message") {
            if let Some(label) = item.member("label") {
                self.labelled(&label, &message)?;
            }
            return Ok(Some(message));
        }
        if let Some(label) = item.member("same") {
            return self.store.get(&label);
        }
        let prompt = self.prompt.as_ref().filter(|_| item.member("prompt").is_some());
        Ok(prompt.map(|prompt| Json::trusted(prompt_message(prompt).into())))
    }

    /// Restores the tools of a request; false if the value that it refers to is missing.
    pub fn tools(&mut self, node: &mut Node) -> Result<bool> {
        let reference = node.take(Field::Reference);
        let Some(Value::Json(reference)) = reference else { return Ok(true) };
        let Some(label) = reference.member("tools") else { return Ok(true) };
        if let Some(tools) = node.json(Field::Tools) {
            self.labelled(&label, tools)?;
            return Ok(true);
        }
        let run = text::is(label.as_bytes(), "run");
        let tools = if run { self.tools.clone() } else { self.store.get(&label)? };
        let found = tools.is_some();
        node.put(Field::Tools, tools);
        Ok(found)
    }
}

/// Spells a message as Codelia does; `None` for a record that is not a message.
pub fn spelling(record: &Record) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let is_message = matches!(record.kind, Kind::Message | Kind::Opaque);
    (is_message && message::write(record, true, &mut out)).then_some(out)
}
