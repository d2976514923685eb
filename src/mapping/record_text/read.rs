//! Strict reader of records: only known kinds, only their fields, only values of their shape.

use crate::diagnostic::{Code, Diagnostic};
use crate::error::{Error, Result};
use crate::json::{Cursor, Fault, Json, text};
use crate::lines::{Line, utf8};
use crate::mapping::Source;
use crate::record::{BLOCKS, Field, GROUPS, Kind, Node, Record, Shape, Value, block};
use bytes::Bytes;

/// Member that contains the kind of a record.
const KIND: &str = "kind";

/// Reason why a line is not a record.
enum Problem {
    Json(Fault),
    Record(usize, String),
}

impl From<Fault> for Problem {
    fn from(fault: Fault) -> Self {
        Self::Json(fault)
    }
}

/// Reads one line.
pub fn parse(line: &Line<'_>, bytes: &Bytes) -> Result<Record> {
    let record = parse_any(line, bytes)?;
    let is_message = record.kind == Kind::Message;
    match misplaced_result(&record.node).filter(|_| is_message) {
        Some(problem) => Err(bad(problem, line, 0)),
        None => Ok(record),
    }
}

/// Reads one line of a record that is still being assembled, so that its content may not fit its
/// role yet.
///
/// # Errors
/// The errors of [`parse`].
pub fn parse_any(line: &Line<'_>, bytes: &Bytes) -> Result<Record> {
    utf8(line)?;
    let mut walk = Walk { cursor: Cursor::new(bytes), bytes, depth: 0 };
    walk.record().map_err(|problem| match problem {
        Problem::Json(fault) => Error::json(fault, line.bytes, line.at),
        Problem::Record(at, message) => bad(message, line, at),
    })
}

fn bad(message: String, line: &Line<'_>, at: usize) -> Error {
    let found = Diagnostic::new(Code::BadRecord, message);
    Error::damaged(found.at(line.at.plus(at)).showing(line.bytes, at))
}

/// Maximum depth of blocks in blocks. Sources have one level, the blocks of a tool's answer.
const DEEPEST: usize = 64;

struct Walk<'a> {
    cursor: Cursor<'a>,
    bytes: &'a Bytes,
    /// Number of open blocks.
    depth: usize,
}

impl Walk<'_> {
    fn problem<T>(&self, message: String) -> std::result::Result<T, Problem> {
        Err(Problem::Record(self.cursor.at(), message))
    }

    fn json(&mut self) -> std::result::Result<Json, Problem> {
        let span = self.cursor.skip_value()?;
        Ok(Json::trusted(self.bytes.slice(span.start..span.end)))
    }

    /// Enters the object that begins here, after a look at its member `name`.
    fn enter(&mut self, name: &str) -> std::result::Result<Json, Problem> {
        let source = Source::at(self.bytes, self.cursor.clone());
        let named = source.peek(name)?;
        if self.cursor.peek() != Some(b'{') {
            // Broken JSON is the more serious finding.
            self.cursor.clone().skip_value()?;
            return self.problem("expected an object".to_owned());
        }
        let Some(named) = named else {
            return self.problem(format!("expected a member `{name}`"));
        };
        self.cursor.begin_object()?;
        Ok(named)
    }

    fn record(&mut self) -> std::result::Result<Record, Problem> {
        let name = self.enter(KIND)?;
        let kind = Kind::ALL.iter().copied().find(|kind| text::is(name.as_bytes(), kind.name()));
        let Some(kind) = kind else {
            return self.problem(format!("{name:?} is not a kind of record"));
        };
        let mut record = Record::new(kind);
        self.members(&mut record.node, kind.name(), Some(KIND), |field| kind.admits(field))?;
        self.cursor.end()?;
        if kind == Kind::Message && record.node.json(Field::Role).is_none() {
            return self.problem("message without a `role`".to_owned());
        }
        Ok(record)
    }

    /// Reads the members of an object that was entered.
    fn members(
        &mut self,
        node: &mut Node,
        whole: &str,
        decides: Option<&str>,
        admits: impl Fn(Field) -> bool,
    ) -> std::result::Result<(), Problem> {
        let mut decided = false;
        while let Some(key) = self.cursor.next_key()? {
            let name = key.of(self.bytes);
            if decides.is_some_and(|decides| text::is(name, decides)) {
                if std::mem::replace(&mut decided, true) {
                    return Err(Problem::Record(
                        key.start,
                        format!("field {} twice", String::from_utf8_lossy(name)),
                    ));
                }
                self.cursor.skip_value()?;
                continue;
            }
            let Some(field) = field_of(name, &admits) else {
                let name = String::from_utf8_lossy(name);
                return Err(Problem::Record(key.start, format!("{whole} has no field {name}")));
            };
            if node.get(field).is_some() {
                return Err(Problem::Record(key.start, format!("field `{}` twice", field.name())));
            }
            let value = self.value(field)?;
            node.set(field, value);
        }
        Ok(())
    }

    fn value(&mut self, field: Field) -> std::result::Result<Value, Problem> {
        let first = self.cursor.peek().unwrap_or_default();
        let shape = field.shape();
        if !shape.admits(first) {
            self.cursor.clone().skip_value()?;
            return self.problem(format!("field `{}` must be {}", field.name(), shape.name()));
        }
        match (shape, first) {
            (Shape::Node | Shape::NodeOrNull, b'{') => {
                let fields = GROUPS.iter().find(|(group, _)| *group == field);
                let fields = fields.map_or(&[][..], |(_, fields)| fields);
                let mut node = Node::with_capacity(fields.len());
                self.cursor.begin_object()?;
                self.members(&mut node, field.name(), None, |field| fields.contains(&field))?;
                Ok(node.into())
            }
            (Shape::Content, b'[') => {
                let mut list = Vec::new();
                self.cursor.begin_array()?;
                while self.cursor.next_element()? {
                    list.push(self.block()?);
                }
                Ok(list.into())
            }
            _ => Ok(self.json()?.into()),
        }
    }

    fn block(&mut self) -> std::result::Result<Node, Problem> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return self.problem(format!("blocks nested deeper than {DEEPEST} levels"));
        }
        let name = self.enter(Field::Type.name())?;
        let known = BLOCKS.iter().find(|(block, _)| text::is(name.as_bytes(), block));
        let Some((known_name, fields)) = known else {
            return self.problem(format!("{name:?} is not a type of block"));
        };
        let mut node = Node::with_capacity(fields.len() + 1);
        node.set(Field::Type, block::type_of(known_name));
        let decides = Some(Field::Type.name());
        self.members(&mut node, known_name, decides, |field| fields.contains(&field))?;
        if *known_name == block::OPAQUE && node.json(Field::Data).is_none() {
            return self.problem("opaque block without `data`".to_owned());
        }
        self.depth -= 1;
        Ok(node)
    }
}

/// Returns the fault in the places of tool results in a message: a result must be alone in a
/// message of a tool.
fn misplaced_result(message: &Node) -> Option<String> {
    let blocks = message.content();
    let results = blocks.iter().filter(|block| block.is(Field::Type, block::TOOL_RESULT)).count();
    if message.is(Field::Role, "tool") {
        let found = format!("{results} among {} blocks", blocks.len());
        let one = results == 1 && blocks.len() == 1;
        return (!one).then(|| {
            format!(
                "a message of a tool holds one block `tool_result` and nothing else, not {found}"
            )
        });
    }
    (results > 0).then(|| "a `tool_result` is in a message of the role `tool`".to_owned())
}

/// Returns the field that a key names.
fn field_of(spelling: &[u8], admits: impl Fn(Field) -> bool) -> Option<Field> {
    let name = spelling.get(1..spelling.len().saturating_sub(1))?;
    let named = |name: &[u8]| Field::named(name).find(|field| admits(*field));
    named(name).or_else(|| {
        memchr::memchr(b'\\', name)?;
        named(text::decode(spelling)?.as_bytes())
    })
}
