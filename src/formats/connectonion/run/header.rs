//! Header of a run: the lines before the messages.

use crate::json::{Cursor, Json, text};
use crate::mapping::{Extra, Object, misfit};
use crate::record::{Field, Kind, Node, Record, Shape};
use crate::yaml::Text;
use crate::yaml::json::Scalars;
use std::collections::HashSet;

/// Fields in the order in which ConnectOnion writes them, with the spelling of their values.
const LINES: &[(&str, Target)] = &[
    ("agent", Target::Text(Field::Agent)),
    ("system_prompt", Target::Text(Field::SystemPrompt)),
    ("model", Target::Text(Field::Model)),
    ("cwd", Target::Text(Field::Cwd)),
    ("tokens", Target::Total),
    ("cost", Target::Total),
    ("duration_ms", Target::Total),
    ("timestamp", Target::Text(Field::Updated)),
];

/// Destination of a line's value.
#[derive(Clone, Copy, Debug)]
enum Target {
    /// A string, to a field.
    Text(Field),
    /// A number, to the totals.
    Total,
}

/// Whether the beginning of a file is that of a run in the layout of the real software. In a file
/// that is longer than the head (`whole` is false), a long prompt may hide where the messages
/// begin; a file that was cut may have no messages. Only files of turns have turns, and such a file
/// may begin with the time if it lost its first line.
pub fn is_run(head: &str, whole: bool) -> bool {
    let known = |line: &str| LINES.iter().any(|(key, _)| value_of(line, key).is_some());
    head.lines().next().is_some_and(known)
        && !head.lines().any(|line| line == "turns:")
        && (!whole || head.lines().any(|line| line == super::MESSAGES) || is_cut(head))
}

/// Whether the file consists of header lines, of which the last may be cut.
fn is_cut(head: &str) -> bool {
    let mut header = Header::default();
    let whole_lines = head.rsplit_once('\n').map_or("", |(lines, _)| lines);
    whole_lines.lines().count() > 1 && whole_lines.lines().all(|line| header.line(line))
}

/// Whether the beginning of a file is that of a run that another program or the user wrote again:
/// the same members in whatever layout.
pub fn is_edited(head: &str) -> bool {
    let begins = |key: &str| {
        head.lines().any(|line| line.strip_prefix(key).is_some_and(|rest| rest.starts_with(':')))
    };
    let known = LINES.iter().filter(|(key, _)| begins(key)).count();
    begins("messages") && known > 1 && !begins("turns") && !begins("name")
}

/// Whether the beginning of a file is that of a run in which the line that names the messages is
/// damaged: header lines in the spelling of the real software, and messages behind them. One header
/// line is not enough evidence, because files of other programs name a model and show messages,
/// too.
pub fn is_unnamed(head: &str) -> bool {
    let known = |line: &&str| member_of(line).is_some_and(is_known);
    head.lines().any(|line| line.starts_with(super::MESSAGE_START))
        && head.lines().next().is_some_and(|line| known(&line) || line == PROMPT)
        && head.lines().filter(known).count() > 1
}

/// Whether the beginning of a file consists of lines of messages only: a run that lost its header,
/// and perhaps a part of its first message. Other programs write such lines, too, but not in YAML
/// files.
pub fn is_headless(head: &str, whole: bool) -> bool {
    let begins_message = |line: &str| line.starts_with(super::MESSAGE_START);
    let known = |line: &str| {
        begins_message(line) || [super::OPEN, super::CLOSE, ""].contains(&line.trim_end())
    };
    let count = head.lines().count().saturating_sub(usize::from(!whole));
    let mut lines = head.lines().filter(|line| !line.contains('\0')).take(count);
    let torn = usize::from(!lines.next().is_some_and(known));
    lines.all(known) && head.lines().filter(|line| begins_message(line)).count() > torn
}

/// The line before the lines of a prompt.
pub const PROMPT: &str = "system_prompt: |";

/// Returns how the reader takes the scalars of a member.
pub fn scalars_of(key: &str) -> Scalars {
    match LINES.iter().find(|(name, _)| *name == key) {
        Some((_, Target::Text(_))) => Scalars::Text,
        _ => Scalars::Typed,
    }
}

/// Returns the name of the member if the line is a header line.
pub fn member_of(line: &str) -> Option<&str> {
    let (name, _) = line.split_once(": ")?;
    (line != PROMPT && Header::default().line(line)).then_some(name)
}

/// Whether a member is one by which a run is recognized.
pub fn is_known(name: &str) -> bool {
    LINES.iter().any(|(known, _)| *known == name)
}

fn value_of<'l>(line: &'l str, key: &str) -> Option<&'l str> {
    line.strip_prefix(key)?.strip_prefix(": ")
}

/// The header while its lines are read.
#[derive(Debug, Default)]
pub struct Header {
    node: Node,
    totals: Extra,
    extra: Extra,
    names: HashSet<String>,
    twice: Vec<String>,
    /// Lines of a text under `system_prompt: |`.
    prompt: Option<Vec<String>>,
    /// The lines as they are, for comparison with the text that the writer makes of the record.
    source: String,
    /// Whether the first line ends with a carriage return, so that carriage returns at line ends
    /// are not part of a prompt.
    crlf: bool,
}

impl Header {
    /// Reads a line; false if it is not a header line.
    pub fn line(&mut self, line: &str) -> bool {
        self.crlf |= self.source.is_empty() && line.ends_with('\r');
        self.source.push_str(line);
        self.source.push('\n');
        let ended = line.strip_suffix('\r').unwrap_or(line);
        let line = if self.crlf { ended } else { line };
        if let Some(prompt) = &mut self.prompt {
            if let Some(text) = line.strip_prefix("  ") {
                prompt.push(text.to_owned());
                return true;
            }
            let text = std::mem::take(prompt).join("\n");
            self.prompt = None;
            self.node.set(Field::SystemPrompt, Json::string(&text));
        }
        if ended == PROMPT {
            self.prompt = Some(Vec::new());
            return true;
        }
        let Some((key, value)) = line.split_once(": ") else { return false };
        let plain = key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        let mut cursor = Cursor::new(value.as_bytes());
        if key.is_empty()
            || key == "messages"
            || !plain
            || cursor.skip_value().is_err()
            || cursor.end().is_err()
        {
            return false;
        }
        self.member(key, Json::trusted(value.trim().to_owned().into()));
        true
    }

    /// Returns the names that came more than once.
    pub fn twice(&self) -> &[String] {
        &self.twice
    }

    /// Adds a member.
    pub fn member(&mut self, key: &str, json: Json) {
        if !self.names.insert(key.to_owned()) {
            self.twice.push(key.to_owned());
        }
        let mut quoted = Vec::new();
        text::quote(key, &mut quoted);
        match LINES.iter().find(|(name, _)| *name == key) {
            Some((_, Target::Text(field))) if json.is_string() => {
                self.node.set(*field, json);
            }
            Some((_, Target::Total)) if json.float().is_some() => {
                self.totals.add(&quoted, json.as_bytes());
            }
            _ => self.extra.add(&quoted, json.as_bytes()),
        }
    }

    /// Returns the session record, and the lines from which it was read.
    pub fn finish(mut self, source: &str) -> (Record, String) {
        self.node.set(Field::Source, Json::string(source));
        self.node.put(Field::Totals, self.totals.finish());
        self.extra.put(&mut self.node);
        (Record { kind: Kind::Session, node: self.node }, self.source)
    }
}

/// Writes the header's lines as ConnectOnion does. A prompt of several lines is under `|` only
/// if it was read in that form, because a YAML parser loses some of the lines; otherwise it is one
/// JSON string.
pub fn write(node: &Node, own: bool, out: &mut Vec<u8>) {
    let mut rest = node.json(Field::Extra).cloned();
    for (key, target) in LINES {
        let (shape, value) = match target {
            Target::Text(field) => (field.shape(), node.json(*field).cloned()),
            Target::Total => {
                let totals = node.json(Field::Totals);
                (Shape::Number, totals.and_then(|totals| totals.member(key)))
            }
        };
        let value = value.filter(|value| !value.is_null());
        let misfit = misfit(&mut rest, key, shape, value.is_some());
        match (value.or(misfit), target) {
            (Some(text), Target::Text(_)) if text.is_string() => {
                text_line(key, &text, own, out);
            }
            (Some(other), _) => value_line(key, other.as_bytes(), out),
            (None, _) => {}
        }
    }
    for (key, value) in rest.iter().flat_map(Json::members) {
        value_line(&text::decode(key).unwrap_or_default(), value, out);
    }
}

/// Whether a run's header has a line for every total of a session record.
pub fn has_totals(node: &Node) -> bool {
    let is_line = |key: &[u8]| {
        LINES.iter().any(|(name, target)| text::is(key, name) && matches!(target, Target::Total))
    };
    let totals = node.json(Field::Totals);
    totals.is_some_and(|totals| totals.members().all(|(key, _)| is_line(key)))
}

fn value_line(key: &str, value: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(key.as_bytes());
    out.extend_from_slice(b": ");
    out.extend_from_slice(value);
    out.push(b'\n');
}

fn text_line(key: &str, value: &Json, own: bool, out: &mut Vec<u8>) {
    let text = value.text().filter(|text| own && key == "system_prompt" && text.contains('\n'));
    match text {
        Some(text) => {
            out.extend_from_slice(format!("{key}: |\n").as_bytes());
            for line in text.split('\n') {
                out.extend_from_slice(format!("  {line}\n").as_bytes());
            }
        }
        None => {
            let anew =
                Text::from_json(value.as_bytes()).filter(|_| !own).map(|text| text.to_json());
            let mut spelled = Vec::new();
            ascii(anew.as_deref().unwrap_or(value.as_bytes()), &mut spelled);
            value_line(key, &spelled, out);
        }
    }
}

/// Writes a string in ASCII where that is safe. A YAML parser takes the halves of a character
/// beyond 16 bits for two characters, so such a character stays unescaped.
fn ascii(value: &[u8], out: &mut Vec<u8>) {
    for c in String::from_utf8_lossy(value).chars() {
        match u16::try_from(u32::from(c)) {
            Ok(_) if matches!(c, ' '..='~') => out.push(c as u8),
            Ok(unit) => out.extend_from_slice(format!("\\u{unit:04x}").as_bytes()),
            Err(_) => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
}

/// Returns the header as one JSON object, for schema checks.
pub fn piece(node: &Node) -> Vec<u8> {
    let mut out = Vec::new();
    let mut object = Object::open(&mut out);
    for (key, target) in LINES {
        let value = match target {
            Target::Text(field) => node.json(*field).cloned(),
            Target::Total => node.json(Field::Totals).and_then(|totals| totals.member(key)),
        };
        value.into_iter().for_each(|value| object.member(key, value.as_bytes()));
    }
    object.extra(node);
    object.close();
    out
}
