//! The entries that a program appends.

use super::Session;
use super::file::Files;
use crate::diagnostic::Code;
use crate::error::{Error, Result};
use crate::formats::canonical;
use crate::json::Json;
use crate::record::{Field, Kind, Node, Record, Value as RecordValue};
use jiff::Timestamp;
use serde_json::{Map, Value, json};

/// How often a file that another program wrote to meanwhile is read again before copyist gives up.
const ATTEMPTS: usize = 20;

/// A summary that takes the place of earlier messages.
#[derive(Clone, Debug, Default)]
pub struct Compaction {
    /// The summary.
    pub summary: String,
    /// The first entry that is still sent; without one, nothing before the summary is.
    pub first_kept: Option<String>,
    /// Size of the context before, in tokens.
    pub tokens_before: u64,
    /// Data noted with it.
    pub noted: Noted,
}

/// A message of an extension, which the model sees.
#[derive(Clone, Debug, Default)]
pub struct CustomMessage {
    /// The extension's own name of the message.
    pub custom_type: String,
    /// A text, or a list of content blocks.
    pub content: Value,
    /// Whether the user sees it.
    pub display: bool,
    /// Data of the extension, which the model does not see.
    pub details: Option<Value>,
}

/// Data that may be noted with a summary.
#[derive(Clone, Debug, Default)]
pub struct Noted {
    /// Data of the extension that made the summary.
    pub details: Option<Value>,
    /// Whether an extension made it.
    pub from_hook: Option<bool>,
}

impl Session {
    /// Appends a message and returns its identifier. It is an object of the canonical stream:
    /// `role` is `user`, `assistant`, `tool` or `system`, `content` a text or a list of blocks.
    /// Members that the agent requires and the object lacks are added.
    ///
    /// ```
    /// # use copyist::Session;
    /// # use serde_json::json;
    /// let mut session = Session::in_memory("pi", "/work")?;
    /// session.append_message(json!({"role": "assistant", "content": [
    ///     {"type": "tool_call", "id": "c1", "name": "bash", "arguments": {"command": "ls"}}]}))?;
    /// session.append_message(json!({"role": "tool", "content": [
    ///     {"type": "tool_result", "call": "c1", "content": "README.md"}]}))?;
    /// assert_eq!(session.messages()?[1]["content"][0]["call"], "c1");
    /// # Ok::<(), copyist::error::Error>(())
    /// ```
    ///
    /// # Errors
    /// If it is not a message of the canonical stream, its role is not one of these, it has no
    /// content, the format has no place for it, or it cannot be written.
    pub fn append_message(&mut self, message: Value) -> Result<String> {
        let Value::Object(mut members) = message else {
            return Err(Error::request(Code::BadRecord, "a message is an object"));
        };
        members.insert("kind".to_owned(), json!(Kind::Message.name()));
        let mut record = parsed(&members)?;
        check_message(&record.node)?;
        if record.node.json(Field::MessageTime).is_none() {
            let now = u64::try_from(Timestamp::now().as_millisecond()).unwrap_or_default();
            record.node.set(Field::MessageTime, Json::number(now));
        }
        self.append(record)
    }

    /// Appends the choice of another thinking level.
    ///
    /// # Errors
    /// Fails like [`append_message`](Self::append_message).
    pub fn append_thinking_change(&mut self, level: &str) -> Result<String> {
        self.append(record(Kind::ThinkingChange, [(Field::Level, level.into())]))
    }

    /// Appends the choice of another model.
    ///
    /// # Errors
    /// Fails like [`append_message`](Self::append_message).
    pub fn append_model_change(&mut self, provider: &str, model: &str) -> Result<String> {
        let values = [(Field::Provider, provider.into()), (Field::Model, model.into())];
        self.append(record(Kind::ModelChange, values))
    }

    /// Appends a compaction.
    ///
    /// # Errors
    /// Fails like [`append_message`](Self::append_message), and if the first kept entry does not
    /// exist.
    pub fn append_compaction(&mut self, compaction: Compaction) -> Result<String> {
        let Compaction { summary, first_kept, tokens_before, noted } = compaction;
        if let Some(kept) = &first_kept {
            self.entries.must_have(&Json::string(kept))?;
        }
        let mut made = record(Kind::Compaction, [(Field::Summary, summary.into())]);
        made.node.set(Field::TokensBefore, Json::number(tokens_before));
        if let Some(kept) = first_kept {
            made.node.set(Field::FirstKept, Json::string(&kept));
        }
        noted.put(&mut made.node);
        self.append(made)
    }

    /// Appends data of an extension, which the model does not see.
    ///
    /// # Errors
    /// Fails like [`append_message`](Self::append_message).
    pub fn append_extension(&mut self, custom_type: &str, data: Option<Value>) -> Result<String> {
        let mut made = record(Kind::Extension, [(Field::CustomType, custom_type.into())]);
        if let Some(data) = data {
            made.node.set(Field::Data, spelled(&data));
        }
        self.append(made)
    }

    /// Appends a message of an extension, which the model sees.
    ///
    /// # Errors
    /// Fails like [`append_message`](Self::append_message).
    pub fn append_custom_message(&mut self, message: CustomMessage) -> Result<String> {
        let CustomMessage { custom_type, content, display, details } = message;
        let Value::Object(mut members) = json!({
            "kind": Kind::Message.name(), "role": "custom", "subtype": "custom_message",
            "custom_type": custom_type, "content": content, "display": display,
        }) else {
            return Err(Error::request(Code::BadRecord, "a message is an object"));
        };
        members.extend(details.map(|details| ("details".to_owned(), details)));
        let record = parsed(&members)?;
        self.append(record)
    }

    /// Puts a label on an entry, or takes it away.
    ///
    /// # Errors
    /// Fails like [`append_message`](Self::append_message), and if there is no such entry.
    pub fn append_label(&mut self, target: &str, label: Option<&str>) -> Result<String> {
        self.entries.must_have(&Json::string(target))?;
        let mut made = record(Kind::Label, [(Field::Target, target.into())]);
        if let Some(label) = label {
            made.node.set(Field::Label, Json::string(label));
        }
        self.append(made)
    }

    /// Gives the session a name.
    ///
    /// # Errors
    /// Fails like [`append_message`](Self::append_message).
    pub fn append_name(&mut self, name: &str) -> Result<String> {
        let name = name.replace(['\r', '\n'], " ");
        self.append(record(Kind::SessionInfo, [(Field::Name, name.trim().into())]))
    }

    /// Goes back to an entry, or before the first one, and appends a summary of the branch that is
    /// left.
    ///
    /// # Errors
    /// Fails like [`branch`](Self::branch) and [`append_message`](Self::append_message).
    pub fn branch_with_summary(
        &mut self,
        from: Option<&str>,
        summary: &str,
        noted: Noted,
    ) -> Result<String> {
        let before = self.leaf().unwrap_or_else(|| "root".to_owned());
        match from {
            Some(from) => self.branch(from)?,
            None => self.branch_from_start()?,
        }
        let values = [(Field::From, before.into()), (Field::Summary, summary.into())];
        let mut made = record(Kind::BranchSummary, values);
        noted.put(&mut made.node);
        self.append(made)
    }

    /// Appends a record behind the leaf, and returns its identifier.
    fn append(&mut self, record: Record) -> Result<String> {
        self.check_place(&record)?;
        let mut attempts = 1..=ATTEMPTS;
        loop {
            let attempt = attempts.next();
            match self.append_once(record.clone()) {
                Err(error) if error.code() == Code::Changed && attempt.is_some() => {}
                done => return done,
            }
        }
    }

    /// Appends a record behind the leaf, unless a file that is to be replaced changes meanwhile.
    fn append_once(&mut self, mut record: Record) -> Result<String> {
        let writing = self.files.as_ref().map(Files::begin).transpose()?;
        self.refresh()?;
        let leaf = self.entries.leaf().cloned();
        record.node.set(Field::Id, self.new_id());
        record.node.set(Field::Parent, leaf.unwrap_or(Json::constant("null")));
        record.node.set(Field::Time, Json::string(&crate::times::with_millis(Timestamp::now())));
        self.write(writing, record)
    }

    /// Checks that the version has records of this kind.
    fn check_place(&self, record: &Record) -> Result<()> {
        if self.version.kinds.contains(&record.kind) {
            return Ok(());
        }
        let name = self.format.at(self.version.number);
        let message = format!("{name} has no entry for a `{}`", record.kind.name());
        Err(Error::request(Code::NoSuchEntry, message))
    }
}

impl Noted {
    fn put(self, node: &mut Node) {
        if let Some(details) = self.details {
            node.set(Field::Details, spelled(&details));
        }
        if let Some(from_hook) = self.from_hook {
            node.set(Field::FromHook, Json::constant(if from_hook { "true" } else { "false" }));
        }
    }
}

/// Returns a record with these texts.
fn record<const N: usize>(kind: Kind, values: [(Field, Value); N]) -> Record {
    let mut record = Record::new(kind);
    for (field, value) in values {
        record.node.set(field, spelled(&value));
    }
    record
}

fn spelled(value: &Value) -> Json {
    Json::trusted(value.to_string().into_bytes().into())
}

/// Checks that a message has a role that agents know, and content.
fn check_message(node: &Node) -> Result<()> {
    const ROLES: [&str; 4] = ["user", "assistant", "tool", "system"];
    let refused = |message: String| Err(Error::request(Code::BadRecord, message));
    let role = node.text(Field::Role).unwrap_or_default();
    if !ROLES.contains(&role.as_str()) {
        return refused(format!("{role:?} is not a role of a message: {}", ROLES.join(", ")));
    }
    let empty = match node.get(Field::Content) {
        None => {
            return refused("a message needs `content`: a text, or a list of blocks".to_owned());
        }
        Some(RecordValue::Json(text)) => text.text().is_none_or(|text| text.is_empty()),
        // A model can answer with nothing.
        Some(RecordValue::Nodes(blocks)) => blocks.is_empty() && role != "assistant",
        Some(RecordValue::Node(_)) => true,
    };
    match empty {
        true => refused("the `content` of the message is empty".to_owned()),
        false => Ok(()),
    }
}

/// Reads an object as a record of the canonical stream.
fn parsed(members: &Map<String, Value>) -> Result<Record> {
    let line = serde_json::to_vec(members)
        .map_err(|error| Error::request(Code::BadRecord, error.to_string()))?;
    canonical::whole_record(&line.into())
}
