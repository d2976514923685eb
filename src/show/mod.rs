//! Views of a session, for people and for programs that only read: text for a terminal, Markdown, a
//! page in HTML, JSON and YAML.
//!
//! A view is written while the session is read. One walk finds what must be known ahead: the
//! branches, the turns, the tokens. A second walk makes an [`Item`] of each record that is shown,
//! and a renderer writes it. Views are never read back, and have no origin.

mod blocks;
mod branches;
mod data;
mod edits;
mod entry;
mod head;
mod index;
mod item;
mod lookup;
mod markdown;
mod markup;
mod page;
mod pairing;
mod passage;
mod summary;
mod terminal;
mod texts;
mod walk;

pub use branches::Branch;
pub use entry::{BEGINNING, Entry, is_view};
pub use head::{Head, Turn};
pub use index::index;
pub use item::{Block, Call, Content, Item, Message, Note, Output};

use crate::error::{Cannot, Result};
use crate::format::{Cx, Format, Parts};
use crate::redact::Redactor;
use passage::Passage;
use std::io::Write;
use walk::Walk;

/// Form of a view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Text for a terminal of this width, with or without colours.
    Text {
        /// Number of columns.
        width: usize,
        /// Whether text is coloured.
        colors: bool,
    },
    /// Markdown (CommonMark, with the tables of GitHub).
    Markdown,
    /// One page of HTML.
    Html,
    /// JSON: one object, in which each item has a line of its own.
    Json,
    /// YAML with the members of the JSON.
    Yaml,
}

impl Form {
    /// Returns the name of the form.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Text { .. } => "text",
            Self::Markdown => "markdown",
            Self::Html => "html",
            Self::Json => "json",
            Self::Yaml => "yaml",
        }
    }

    /// Returns the ending of the names of files in this form.
    #[must_use]
    pub fn ending(self) -> &'static str {
        match self {
            Self::Text { .. } => ".txt",
            Self::Markdown => ".md",
            Self::Html => ".html",
            Self::Json => ".json",
            Self::Yaml => ".yaml",
        }
    }
}

/// Extent to which calls of tools are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tools {
    /// Calls are left out.
    None,
    /// Each call is a line with the name of the tool and its main argument.
    Names,
    /// Calls are shown with all arguments and results.
    #[default]
    Full,
}

/// The branches that a view shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Branches {
    /// All branches, in the order of the file.
    #[default]
    All,
    /// The path to the end of one branch; 0 is the current one.
    One(u32),
}

/// Options of a view.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// The form.
    pub form: Form,
    /// The extent to which calls of tools are shown.
    pub tools: Tools,
    /// The branches that are shown.
    pub branches: Branches,
    /// The first and the last turn that are shown; all if `None`.
    pub turns: Option<(u64, u64)>,
    /// Whether records that an agent wrote for its user interface are shown.
    pub events: bool,
}

impl Request {
    /// Returns a request for the whole session.
    #[must_use]
    pub fn new(form: Form) -> Self {
        let (tools, branches) = (Tools::default(), Branches::default());
        Self { form, tools, branches, turns: None, events: false }
    }
}

/// Writes the items of a view in one form.
trait Renderer {
    /// Writes what precedes the items.
    fn begin(&mut self, head: &Head, to: &mut Vec<u8>);
    /// Writes one item.
    fn item(&mut self, head: &Head, item: &Item, to: &mut Vec<u8>);
    /// Writes what follows the items.
    fn end(&mut self, head: &Head, to: &mut Vec<u8>);
}

/// Number of bytes that are collected before they are written.
const CHUNK: usize = 1 << 16;

/// Writes a view of a session; its secrets are masked if the options contain rules for that. Returns
/// the number of records.
///
/// # Errors
/// If there is no such branch, or reading or writing fails.
pub fn run(
    format: &'static Format,
    parts: &mut dyn Parts,
    request: &Request,
    cx: &Cx<'_>,
    out: &mut dyn Write,
) -> Result<u64> {
    let redactor = cx.options.redact.as_deref().map(Redactor::new);
    let walk = Walk::open(format, parts, request, Passage::new(redactor.as_ref()), cx)?;
    let mut renderer = renderer(request);
    let mut to = Vec::new();
    let mut flush = |to: &mut Vec<u8>, least: usize| {
        if to.len() > least {
            out.write_all(to).cannot("write")?;
            to.clear();
        }
        Ok(())
    };
    renderer.begin(walk.head(), &mut to);
    let (records, head) = walk.items(cx, &mut |head, item| {
        renderer.item(head, item, &mut to);
        flush(&mut to, CHUNK)
    })?;
    renderer.end(&head, &mut to);
    flush(&mut to, 0)?;
    Ok(records)
}

fn renderer(request: &Request) -> Box<dyn Renderer> {
    match request.form {
        Form::Text { width, colors } => {
            Box::new(terminal::Terminal::new(width, colors, request.tools))
        }
        Form::Markdown => Box::new(markdown::Markdown::new(request.tools)),
        Form::Html => Box::new(page::Page::default()),
        Form::Json => Box::new(data::Json::default()),
        Form::Yaml => Box::new(data::Yaml::default()),
    }
}
