//! Reader of a log and the metadata beside it as a stream of records.

use super::health::Health;
use super::line::{self, Shape, What};
use super::{FORMAT, NAME, chain_of, is_meta, meta};
use crate::diagnostic::{Code, Diagnostic};
use crate::error::{Cannot, Error, Result};
use crate::format::{Cx, Parts, Reader};
use crate::framing::{Chain, FramedLines, ReadLines, Reading};
use crate::json::{Json, is_whole, without_nan};
use crate::lines::{BOM, Line, utf8};
use crate::position::{Located, Position};
use crate::record::{Field, Kind, Node, Record};
use bytes::Bytes;
use std::collections::VecDeque;
use std::io::{Cursor, Read};

/// Number of bytes of a log that detection reads.
const HEAD: u64 = 256 << 10;

/// Opens a session for reading.
pub fn open<'a>(parts: &'a mut dyn Parts, cx: &'a Cx<'a>) -> Result<Reader<'a>> {
    let mut records = Records::empty(cx);
    let mut metadata = None;
    let mut shape = None;
    for part in files(parts)? {
        if part.is_metadata {
            metadata = Some((part.number, part.source));
        } else {
            shape = shape_of(&part.head);
            records.log(part)?;
        }
    }
    let ready = records.session(metadata, shape)?;
    records.name(ready.front(), parts.file_name());
    Ok(Box::new(Reading::behind(ready, records, cx)))
}

/// File of a session.
pub struct File {
    /// Number of the part.
    pub number: u32,
    /// Whether the file is the metadata, not the log.
    pub is_metadata: bool,
    /// Beginning of the file.
    pub head: Bytes,
    /// Whole contents of the file.
    pub source: Box<dyn Read>,
}

/// Returns the files of a session; a temporary file that a killed script left beside them is
/// skipped.
pub fn files(parts: &mut dyn Parts) -> Result<Vec<File>> {
    let names = parts.names();
    let file = |(number, name): (u32, &String)| {
        let mut source = parts.open(name)?;
        let mut head = Vec::new();
        (&mut source).take(HEAD).read_to_end(&mut head).cannot("read")?;
        let is_metadata = name.starts_with(meta::ENDING) || (names.len() == 1 && is_meta(&head));
        let head = Bytes::from(head);
        let source = Box::new(Cursor::new(head.clone()).chain(source));
        Ok(File { number, is_metadata, head, source })
    };
    let left = |name: &str| name == meta::TEMPORARY && names.len() > 1;
    (0..).zip(&names).filter(|(_, name)| !left(name)).map(file).collect()
}

/// Returns the shape of a log's lines, by the first of them that has one.
pub fn shape_of(head: &[u8]) -> Option<Shape> {
    let head = head.strip_prefix(BOM).unwrap_or(head);
    head.split(|b| *b == b'\n').find_map(|line| What::of(line.trim_ascii()).ok()?.shape())
}

/// Log while it is read.
struct Log {
    lines: FramedLines,
    /// Whether the first line ends with `\r\n`.
    crlf: bool,
    /// Facts about the session from the log's beginning.
    about: Node,
}

struct Records<'a> {
    cx: &'a Cx<'a>,
    log: Option<Log>,
    shape: Shape,
    chain: Chain,
    /// Error of the metadata, which comes behind the session record.
    failed: Option<Error>,
    records: u64,
    health: Health,
}

impl ReadLines for Records<'_> {
    fn line(&mut self, ready: &mut VecDeque<Located<Record>>) -> Result<bool> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        let Some(log) = &mut self.log else { return Ok(false) };
        let Some(frame) = log.lines.next()? else { return Ok(false) };
        let at = Position { record: self.records, ..frame.at };
        let line = Line { at, ..frame.line() };
        let parsed = match frame.blank {
            true => Ok(vec![Record::of_line(&frame.bytes)]),
            false => self.parse(&line, &frame.bytes),
        };
        let Some(log) = &mut self.log else { return Ok(false) };
        let mut records = match parsed {
            Ok(records) => records,
            Err(error) => {
                self.health.damaged();
                vec![log.lines.damaged(&frame, error, self.cx)?]
            }
        };
        if let Some(first) = records.first_mut() {
            log.lines.note(&frame, first, false, self.cx);
        }
        for mut value in records {
            self.health.record(&value, at);
            self.records += 1;
            match value.kind {
                Kind::Message => self.chain.link_by_agent(&mut value.node),
                Kind::Opaque if value.node.get(Field::Data).is_some() => self.chain.pass(),
                _ => {}
            }
            ready.push_back(Located { value, at });
        }
        Ok(true)
    }

    fn tail(&mut self, ready: &mut VecDeque<Located<Record>>) -> Result<()> {
        let at = self.log.as_ref().map_or(Position::default(), |log| log.lines.position());
        self.health.end(self.shape, at, self.cx);
        let tail = self.log.as_mut().and_then(|log| log.lines.tail(self.cx));
        let mut value = tail.map_or_else(|| Record::new(Kind::Session), |tail| tail.value);
        value.node.put(Field::Leaf, self.chain.leaf().cloned());
        if !value.node.is_empty() {
            ready.push_back(Located { value, at });
        }
        Ok(())
    }
}

impl<'a> Records<'a> {
    fn empty(cx: &'a Cx<'a>) -> Self {
        Self {
            cx,
            log: None,
            shape: Shape::Classes,
            chain: Chain::default(),
            failed: None,
            records: 0,
            health: Health::default(),
        }
    }

    fn log(&mut self, file: File) -> Result<()> {
        let head = &file.head;
        let lines = FramedLines::over(file.source, self.cx.options.max_line)?;
        let lines = lines.of_part(file.number);
        let first = head.split_inclusive(|b| *b == b'\n').next().unwrap_or_default();
        let crlf = first.ends_with(b"\r\n");
        self.log = Some(Log { lines, crlf, about: about(head) });
        Ok(())
    }

    /// Returns the records before the lines: the session record, and metadata that could not be
    /// read.
    fn session(
        &mut self,
        metadata: Option<(u32, Box<dyn Read>)>,
        shape: Option<Shape>,
    ) -> Result<VecDeque<Located<Record>>> {
        let mut at = Position { line: 1, ..Position::default() };
        let mut text = Bytes::new();
        let beside = metadata.is_some();
        if let Some((part, source)) = metadata {
            at.part = part;
            text = whole(source, self.cx.options.max_line, at)?;
        }
        let spoken = meta::sniff(text.strip_prefix(BOM).unwrap_or(&text)).map(Shape::of);
        self.shape = shape.or(spoken).unwrap_or(Shape::Classes);
        let parsed = if beside { self.metadata(&text, at) } else { Ok(Node::default()) };
        let (node, damaged) = match parsed {
            Ok(node) => (node, None),
            Err(error) => (Node::default(), Some(error)),
        };
        let record = self.session_record(node, beside, damaged.is_none());
        self.chain = chain_of(&record.node, self.cx);
        let mut ready = VecDeque::from([Located { value: record, at }]);
        self.records = 1;
        ready.extend(damaged.and_then(|error| self.unreadable(error, &text, at)));
        Ok(ready)
    }

    /// Reports metadata that name another session than the file names do.
    fn name(&self, session: Option<&Located<Record>>, file: Option<String>) {
        let Some(session) = session else { return };
        let (Some(name), Some(file)) = (session.value.node.text(Field::Name), file) else { return };
        let ending = FORMAT.files.beside.iter().find_map(|ending| file.strip_suffix(ending));
        if let Some(called) = ending.filter(|called| *called != name) {
            let message = format!("the metadata name the session {name:?}, its files {called:?}");
            self.cx.report(Diagnostic::new(Code::OtherName, message).at(session.at));
        }
    }

    /// Returns metadata that cannot be read as a record, if the options keep such; otherwise the
    /// error comes first of all lines.
    fn unreadable(&mut self, error: Error, text: &Bytes, at: Position) -> Option<Located<Record>> {
        if !self.cx.keeps(&error) {
            self.failed = Some(error);
            return None;
        }
        self.cx.report(error.into_diagnostic());
        let mut value = Record::of_line(text);
        value.node.set(Field::Layout, Json::constant("\"meta\""));
        Some(Located { value, at })
    }

    /// Reads the metadata into a node.
    fn metadata(&mut self, text: &Bytes, at: Position) -> Result<Node> {
        let line = Line { bytes: text, at, terminated: false };
        utf8(&line)?;
        let bare = text.strip_prefix(BOM).map_or(text.clone(), |bare| text.slice_ref(bare));
        if bare.len() < text.len() {
            let found = Diagnostic::of(Code::ByteOrderMark);
            self.cx.report(found.at(at));
        }
        let read = |text: &Bytes| meta::read(text, self.shape);
        let parsed = read(&bare)
            .or_else(|fault| without_nan(&bare).map_or(Err(fault), |plain| read(&plain.into())));
        let node = parsed.map_err(|fault| Error::json(fault, &bare, at))?;
        let Some(node) = node else {
            let found = Diagnostic::of(Code::NotObject);
            return Err(Error::damaged(found.at(at).showing(text, 0)));
        };
        Ok(node)
    }

    fn session_record(&mut self, node: Node, beside: bool, whole: bool) -> Record {
        let mut record = Record { kind: Kind::Session, node };
        let node = &mut record.node;
        let version = if self.shape == Shape::Printed { 1 } else { 2 };
        node.set(Field::Source, Json::string(&format!("{NAME}@{version}")));
        let mut file = Node::default();
        if let Some(log) = &mut self.log {
            let derived = |field| log.about.json(field).cloned();
            if !beside {
                file.set(Field::Style, Json::constant("\"log\""));
                node.put(Field::Cwd, derived(Field::Cwd));
            }
            if !beside || self.shape == Shape::Printed {
                node.put(Field::Id, derived(Field::Id));
            }
            let lacks = beside && whole && node.json(Field::Id).is_none();
            self.health.begin(lacks, !beside && self.shape == Shape::Classes);
            let properties = log.lines.begin(log.crlf, None, self.cx);
            for (field, value) in properties.iter().flat_map(Node::iter) {
                file.set(field, value.clone());
            }
        } else {
            file.set(Field::Style, Json::constant("\"meta\""));
        }
        if !file.is_empty() {
            node.set(Field::File, file);
        }
        record
    }

    fn parse(&mut self, line: &Line<'_>, bytes: &Bytes) -> Result<Vec<Record>> {
        let text = utf8(line)?;
        let first = text.trim_ascii_start().as_bytes().first();
        let words = self.shape == Shape::Printed && !matches!(first, Some(b'{' | b'[' | 0));
        if words {
            // Output of `claude` and the shell on standard error.
            return Ok(vec![Record::of_line(bytes)]);
        }
        let group = line.at.line.to_string();
        let parsed = line::read(bytes, &group).or_else(|fault| {
            without_nan(bytes).map_or(Err(fault), |plain| line::read(&plain.into(), &group))
        });
        match parsed {
            Ok(records) => Ok(records),
            Err(_) if is_whole(bytes) => {
                let found = Diagnostic::of(Code::NotObject);
                Err(Error::damaged(found.at(line.at).showing(bytes, 0)))
            }
            Err(fault) => Err(Error::json(fault, bytes, line.at)),
        }
    }
}

/// Reads a part as a whole.
///
/// # Errors
/// If it cannot be read, or is longer than `limit` bytes.
pub fn whole(source: Box<dyn Read>, limit: usize, at: Position) -> Result<Bytes> {
    let mut text = Vec::new();
    source.take(limit as u64 + 1).read_to_end(&mut text).cannot("read")?;
    if text.len() > limit {
        let message = format!("metadata of more than {limit} bytes, the limit");
        return Err(Error::unfit(Diagnostic::new(Code::LineTooLong, message).at(at)));
    }
    Ok(text.into())
}

/// Returns the facts about the session in the beginning of a log: Claude's identifier and the
/// folder, from the first line that has them.
fn about(head: &[u8]) -> Node {
    let mut node = Node::default();
    let head = head.strip_prefix(BOM).unwrap_or(head);
    // A line that is not UTF-8 is kept as it is, and no fact is taken from it.
    let texts = head.split(|b| *b == b'\n').filter(|line| std::str::from_utf8(line).is_ok());
    for line in texts {
        let Ok(What::System(_) | What::Assistant(_) | What::Result(_)) = What::of(line) else {
            continue;
        };
        let line = Json::trusted(Bytes::copy_from_slice(line));
        let data = line.member("data").unwrap_or_else(|| line.clone());
        for (field, name) in [(Field::Id, "session_id"), (Field::Cwd, "cwd")] {
            let value = data.member(name).or_else(|| line.member(name));
            let value = value.filter(Json::is_string);
            node.put(field, value.filter(|_| node.get(field).is_none()));
        }
        if node.get(Field::Id).is_some() && node.get(Field::Cwd).is_some() {
            break;
        }
    }
    node
}
