//! Sessions that a program reads and continues.
//!
//! A [`Session`] is what an agent's own session manager is: it opens a session or begins one,
//! appends entries to it, moves between its branches, and builds the messages for a model. The
//! whole session is in memory. For files of any size, read [records](crate::format::Format::read)
//! one by one instead.
//!
//! ```
//! use copyist::Session;
//! use serde_json::json;
//!
//! let mut session = Session::in_memory("pi", "/work")?;
//! let question = session.append_message(json!({"role": "user", "content": "Why is the sky blue?"}))?;
//! session.append_message(json!({"role": "assistant", "content": [{"type": "text", "text": "Rayleigh scattering."}]}))?;
//!
//! // Another answer to the same question is a branch.
//! session.branch(&question)?;
//! session.append_message(json!({"role": "assistant", "content": [{"type": "text", "text": "Ask Tyndall."}]}))?;
//! assert_eq!(session.children(Some(&question)).len(), 2);
//! assert_eq!(session.path(None)?.len(), 2);
//! # Ok::<(), copyist::error::Error>(())
//! ```

mod append;
mod entries;
mod file;
mod fork;
mod open;
mod plan;
mod rewrite;
mod rewritten;
mod stream;
mod work;
mod write;

pub use append::{Compaction, CustomMessage, Noted};
pub use plan::Plan;
pub use stream::{FormatName, each_record, each_record_of, rows_of};
pub use work::{Work, convert_file};

use crate::context::{self, Form, Request};
use crate::diagnostic::{Code, Log};
use crate::error::{Error, Result};
use crate::format::{Appender, Cx, Format, Options, Version};
use crate::formats::canonical;
use crate::json::Json;
use crate::memory::{Buffer, Bytes};
use crate::record::{Kind, Record};
use crate::validate;
use entries::Entries;
use file::Files;
use serde_json::Value;
use std::path::Path;

/// A session in memory, and the file that it is kept in, if it has one.
#[derive(Debug)]
pub struct Session {
    format: &'static Format,
    version: &'static Version,
    entries: Entries,
    files: Option<Files>,
    /// End of the session, where records are added to it as lines. Made when it is needed.
    end: Option<Box<dyn Appender>>,
}

/// The links between the entries of a session. Nodes are in the order of the file and refer to each
/// other by their places in [`nodes`](Self::nodes), so that a long session is not a deep structure.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tree {
    /// All entries that have an identifier.
    pub nodes: Vec<TreeNode>,
    /// The entries without a parent in the session.
    pub roots: Vec<usize>,
}

/// An entry in a [`Tree`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeNode {
    /// The identifier of the entry.
    pub id: String,
    /// The user's label on the entry.
    pub label: Option<String>,
    /// The entry that this one follows.
    pub parent: Option<usize>,
    /// The entries that follow this one, in the order of the file.
    pub children: Vec<usize>,
}

/// Returns a record as an object of the canonical stream. Half of a surrogate pair reads as U+FFFD.
#[must_use]
pub fn to_value(record: &Record) -> Value {
    let mut object = Vec::new();
    canonical::object_of(record, &mut object);
    validate::value(&object).unwrap_or_default()
}

impl Session {
    /// Returns the name of the format, and the version.
    #[must_use]
    pub fn format(&self) -> (&'static str, u32) {
        (self.format.name, self.version.number)
    }

    /// Returns the file of the session, if it has one.
    #[must_use]
    pub fn file(&self) -> Option<&Path> {
        self.files.as_ref().map(Files::main)
    }

    /// Returns the session record: identifier, folder, time of creation.
    #[must_use]
    pub fn header(&self) -> &Record {
        self.entries.header()
    }

    /// Returns all records behind the header, in the order of the file.
    pub fn entries(&self) -> impl Iterator<Item = &Record> {
        self.entries.records()
    }

    /// Returns all messages on the path to the leaf, as objects of the canonical stream: `role`,
    /// `content`, and what else the session holds of them.
    ///
    /// # Errors
    /// If entries on the way are their own ancestors.
    pub fn messages(&self) -> Result<Vec<Value>> {
        let path = self.path(None)?;
        let messages = path.into_iter().filter(|record| record.kind == Kind::Message);
        Ok(messages.map(to_value).collect())
    }

    /// Returns the identifier of the entry that the next one follows; `None` before the first.
    #[must_use]
    pub fn leaf(&self) -> Option<String> {
        self.entries.leaf().and_then(Json::text)
    }

    /// Returns the entry with this identifier.
    #[must_use]
    pub fn entry(&self, id: &str) -> Option<&Record> {
        self.entries.get(&Json::string(id))
    }

    /// Returns the entries from the root to this one, or to the leaf.
    ///
    /// # Errors
    /// If there is no such entry, or entries on the way are their own ancestors.
    pub fn path(&self, to: Option<&str>) -> Result<Vec<&Record>> {
        self.entries.path(to.map(Json::string).as_ref())
    }

    /// Returns the entries whose parent this is, or the roots.
    #[must_use]
    pub fn children(&self, parent: Option<&str>) -> Vec<&Record> {
        self.entries.children(parent.map(Json::string).as_ref())
    }

    /// Returns the links between the entries.
    #[must_use]
    pub fn tree(&self) -> Tree {
        self.entries.tree()
    }

    /// Returns the user's label on an entry.
    #[must_use]
    pub fn label(&self, id: &str) -> Option<String> {
        self.entries.label(&Json::string(id)).and_then(Json::text)
    }

    /// Makes an entry the leaf: the next entry follows it. Nothing is written.
    ///
    /// # Errors
    /// If there is no such entry, or the format is a list.
    pub fn branch(&mut self, from: &str) -> Result<()> {
        self.must_be_tree()?;
        self.entries.set_leaf(Some(Json::string(from)))
    }

    /// Goes before the first entry: the next one is a root. Nothing is written.
    ///
    /// # Errors
    /// If the format is a list.
    pub fn branch_from_start(&mut self) -> Result<()> {
        self.must_be_tree()?;
        self.entries.set_leaf(None)
    }

    /// Returns the messages that the agent would send to a model, as one JSON object.
    ///
    /// ```
    /// # use copyist::{Session, context::Form};
    /// # use serde_json::json;
    /// let mut session = Session::in_memory("pi", "/work")?;
    /// session.append_message(json!({"role": "user", "content": "Hello"}))?;
    /// let sent = session.context(Form::Anthropic)?;
    /// assert_eq!(sent["messages"][0]["role"], "user");
    /// # Ok::<(), copyist::error::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the format has no rules for it.
    pub fn context(&self, form: Form) -> Result<Value> {
        let (options, log) = (Options::default(), Log::default());
        let cx = Cx { options: &options, log: &log };
        let request = Request { form, leaf: self.leaf(), ..Request::default() };
        let mut out = Vec::new();
        let (stream, mut parts) = self.as_stream(&cx)?;
        context::run(stream, &mut parts, &request, &cx, &mut out)?;
        serde_json::from_slice(&out)
            .map_err(|error| Error::request(Code::NoContext, error.to_string()))
    }

    /// Writes the session in its format into memory.
    ///
    /// # Errors
    /// If the format's writer refuses a record.
    pub fn to_bytes(&self) -> Result<Buffer> {
        write::written(self.format, self.version, self.entries.located())
    }

    /// Returns the session as the parts of a canonical stream.
    fn as_stream(&self, cx: &Cx<'_>) -> Result<(&'static Format, Bytes)> {
        let format = &canonical::FORMAT;
        let mut sink = Buffer::default();
        let version =
            format.versions.last().ok_or_else(|| Error::request(Code::NoContext, "no version"))?;
        let mut writer = (format.write)(&mut sink, version, cx)?;
        self.entries.located().try_for_each(|located| writer.record(located))?;
        writer.finish()?;
        Ok((format, sink.into_parts()))
    }

    fn must_be_tree(&self) -> Result<()> {
        if self.version.tree {
            return Ok(());
        }
        let name = self.format.at(self.version.number);
        Err(Error::request(
            Code::NoSuchEntry,
            format!("a session of {name} is a list, it has no branches"),
        ))
    }
}
