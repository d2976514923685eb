//! Writer for runs, in the spelling of ConnectOnion.

use super::super::{NAME, cannot_write, encoding_of, message, timed};
use super::{CLOSE, INDENT, MESSAGES, OPEN, TORN, header};
use crate::diagnostic::{Code, Diagnostic};
use crate::error::{Error, Result};
use crate::format::{Cx, Sink, Version, Writer, Writing, no_session};
use crate::json::Json;
use crate::lines::{BOM, empty};
use crate::mapping::Spacing;
use crate::position::Located;
use crate::record::{Field, Kind, Node, Record};
use crate::yaml::encoding::{Encoder, UTF_8};
use std::io::Write;

/// Opens a run for writing.
pub fn open<'a>(sink: &'a mut dyn Sink, _version: &'static Version, cx: &'a Cx<'a>) -> Writing<'a> {
    Ok(Box::new(Run {
        to: Encoder::new(sink.create("")?, UTF_8),
        out: Vec::new(),
        cx,
        own: None,
        eol: "\n",
        open: false,
        items: 0,
        prompt: None,
        held: Vec::new(),
        behind: Vec::new(),
        final_newline: true,
    }))
}

/// Size in bytes from which output is passed on.
const CHUNK: usize = 256 << 10;

/// Fields of the session record that the header holds.
const HEADER_FIELDS: &[Field] = &[
    Field::Source,
    Field::Agent,
    Field::SystemPrompt,
    Field::Model,
    Field::Cwd,
    Field::Updated,
    Field::File,
];

struct Run<'a> {
    to: Encoder<Box<dyn Write>>,
    out: Vec<u8>,
    cx: &'a Cx<'a>,
    /// Whether the records come from a run; `None` before the session record.
    own: Option<bool>,
    eol: &'static str,
    /// Whether the line that opens the list is written.
    open: bool,
    items: u64,
    /// A system prompt that no message contains yet.
    prompt: Option<Json>,
    /// Lines that are not messages: among the messages, and behind the list in `behind`.
    held: Vec<u8>,
    behind: Vec<u8>,
    final_newline: bool,
}

impl Writer for Run<'_> {
    fn record(&mut self, located: &Located<Record>) -> Result<()> {
        let record = &located.value;
        // Records that a reader of this format restored are not written; those of another format
        // are.
        if self.own == Some(true) && record.is_restored() {
            return Ok(());
        }
        match (record.kind, self.own) {
            (Kind::Session, None) => self.header(&record.node)?,
            (Kind::Session, _) => self.later_session(&record.node),
            (_, None) => return Err(no_session(located.at)),
            (_, Some(own)) => self.item(located, own),
        }
        if self.out.len() >= CHUNK { self.flush() } else { Ok(()) }
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        if self.own.is_none() {
            return Err(Error::unfit(Diagnostic::new(Code::Empty, "no session record")));
        }
        self.put_prompt();
        self.open_list();
        self.out.append(&mut self.held);
        self.end_line();
        self.out.extend_from_slice(CLOSE.as_bytes());
        self.out.append(&mut self.behind);
        if self.final_newline {
            self.end_line();
        }
        self.flush()?;
        self.to.flush().map_err(cannot_write)
    }
}

impl Run<'_> {
    fn flush(&mut self) -> Result<()> {
        self.to.write_all(&self.out).map_err(cannot_write)?;
        empty(&mut self.out);
        Ok(())
    }

    fn end_line(&mut self) {
        self.out.extend_from_slice(self.eol.as_bytes());
    }

    fn header(&mut self, node: &Node) -> Result<()> {
        let own = node.is(Field::Source, &format!("{NAME}@3"));
        self.own = Some(own);
        if let Some(file) = node.node(Field::File).filter(|_| own) {
            self.to.set_encoding(encoding_of(file)?);
        }
        self.file(node, true);
        let mut text = Vec::new();
        match own {
            true => header::write(node, true, &mut text),
            false => {
                let mut foreign = timed(node);
                foreign.take(Field::Extra);
                if foreign.json(Field::Agent).is_none() {
                    foreign.set(Field::Agent, super::super::agent(node));
                }
                if foreign.json(Field::Updated).is_none()
                    && let Some(created) = foreign.take(Field::Created)
                {
                    foreign.set(Field::Updated, created);
                }
                header::write(&foreign, false, &mut text);
                self.prompt = node.json(Field::SystemPrompt).filter(|p| !p.is_null()).cloned();
            }
        }
        // A carriage return may occur in a prompt, so only `\n` ends a line.
        let lines = text.strip_suffix(b"\n").unwrap_or(&text).split(|b| *b == b'\n');
        let lines = lines.filter(|_| !text.is_empty());
        for line in lines.chain([MESSAGES.as_bytes()]) {
            self.out.extend_from_slice(line);
            self.end_line();
        }
        // The text ends where the list begins, and the bracket ends where its first item does.
        self.out.truncate(self.out.len() - self.eol.len());
        let created = node.json(Field::Updated).is_none();
        for field in node.fields() {
            let held = HEADER_FIELDS.contains(&field)
                || (matches!(field, Field::Extra | Field::Totals) && own)
                || (field == Field::Totals && header::has_totals(node))
                || (field == Field::Created && created);
            if !held {
                self.cx.log.lost(&format!("session.{}", field.name()));
            }
        }
        Ok(())
    }

    /// Applies the properties of the file that a session record contains.
    fn file(&mut self, node: &Node, first: bool) {
        let Some(file) = node.node(Field::File) else { return };
        if file.json(Field::FinalNewline).is_some_and(|b| b.as_bytes() == b"false") {
            self.final_newline = false;
        }
        if first && file.is_true(Field::Bom) {
            self.out.extend_from_slice(BOM);
        }
        if first && file.is(Field::Eol, "crlf") {
            self.eol = "\r\n";
        }
    }

    /// Reads a session record behind the first: the header is written, so most fields have no
    /// place.
    fn later_session(&mut self, node: &Node) {
        self.file(node, false);
        let prompt = node.json(Field::SystemPrompt).filter(|p| !p.is_null() && self.items == 0);
        if prompt.is_some() {
            self.prompt = prompt.cloned();
        }
        for field in node.fields().filter(|field| *field != Field::File) {
            if field == Field::SystemPrompt && self.prompt.is_some() {
                continue;
            }
            self.cx.log.lost(&format!("session.{}", field.name()));
        }
    }

    fn item(&mut self, located: &Located<Record>, own: bool) {
        let record = &located.value;
        let node = &record.node;
        self.open_list();
        if record.kind == Kind::Notice && own && node.is(Field::Layout, TORN) {
            let found = Diagnostic::of(Code::ListClosed);
            return self.cx.report(found.at(located.at));
        }
        if record.kind == Kind::Notice {
            return message::lost(record, self.cx.log);
        }
        if record.kind == Kind::Message && !node.is(Field::Role, "system") {
            self.put_prompt();
        }
        self.prompt = None;
        if let Some(line) = node.line().filter(|_| record.kind == Kind::Opaque && own) {
            let behind = node.is(Field::Layout, "behind");
            let held = if behind { &mut self.behind } else { &mut self.held };
            held.extend_from_slice(self.eol.as_bytes());
            held.extend_from_slice(&line);
            return;
        }
        let mut text = Vec::new();
        if !message::write(record, Spacing::Python, own, &mut text) {
            message::lost(record, self.cx.log);
            return;
        }
        message::losses(record, own, self.cx.log);
        text = if own { text } else { escaped(&text) };
        self.put(&[INDENT.as_bytes(), &text].concat());
    }

    /// Opens the list, unless it is open.
    fn open_list(&mut self) {
        if !std::mem::replace(&mut self.open, true) {
            self.end_line();
            self.out.extend_from_slice(OPEN.as_bytes());
        }
    }

    /// Puts the system prompt first if the messages do not contain one.
    fn put_prompt(&mut self) {
        if let Some(prompt) = self.prompt.take() {
            let record = Record::new(Kind::Message)
                .with(Field::Role, Json::constant("\"system\""))
                .with(Field::Content, prompt);
            let mut text = INDENT.as_bytes().to_vec();
            message::write(&record, Spacing::Python, false, &mut text);
            self.put(&escaped(&text));
        }
    }

    /// Adds a line to the list.
    fn put(&mut self, line: &[u8]) {
        if self.items > 0 {
            self.out.push(b',');
        }
        self.open_list();
        self.out.append(&mut self.held);
        self.items += 1;
        self.end_line();
        self.out.extend_from_slice(line);
    }
}

/// Returns a line of JSON with escapes for the characters that YAML cannot contain, or takes for
/// line breaks. The real software writes them unescaped and cannot load such a file.
fn escaped(line: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(line.len());
    let mut rest = line;
    while let Some((&byte, after)) = rest.split_first() {
        let found = match rest {
            [0x7f, ..] => Some((0x7f, 1)),
            [0xc2, low @ 0x80..=0x9f, ..] => Some((u16::from(*low), 2)),
            [0xe2, 0x80, low @ (0xa8 | 0xa9), ..] => Some((0x2000 | u16::from(low & 0x3f), 3)),
            [0xef, 0xbb, 0xbf, ..] => Some((0xfeff, 3)),
            [0xef, 0xbf, low @ (0xbe | 0xbf), ..] => Some((0xff00 | u16::from(low | 0xc0), 3)),
            _ => None,
        };
        match found {
            Some((unit, length)) => {
                out.extend_from_slice(format!("\\u{unit:04x}").as_bytes());
                rest = rest.get(length..).unwrap_or_default();
            }
            None => {
                out.push(byte);
                rest = after;
            }
        }
    }
    out
}
