//! A turn's summary as a record and back.

use crate::json::{Fault, Json, text};
use crate::mapping::{Extra, Finder, Object, Row, Source, object, row};
use crate::record::{Field, Kind, Node, Record, Value, block};
use bytes::Bytes;

/// Members in the order in which releases 0.5.0 to 0.6.0 write them, then those that people add.
pub const KEYED: &[Row] = &[
    row("input", Field::Input),
    row("expected", Field::Expected),
    row("model", Field::Model),
    row("duration_ms", Field::Duration),
    row("tokens", Field::Tokens),
    row("cost", Field::TotalCost),
    row("tools_called", Field::ToolsCalled),
    row("result", Field::Result),
    row("evaluation", Field::Evaluation),
    row("turn", Field::Number),
    row("timestamp", Field::Time),
    row("passed", Field::Passed),
    row("analysis", Field::Analysis),
    CHECK,
];

/// The same members, and the messages of the turn, in the order of their names: so version 1 has
/// them.
pub const DATED: &[Row] = &[
    row("analysis", Field::Analysis),
    row("cost", Field::TotalCost),
    row("duration_ms", Field::Duration),
    CHECK,
    row("evaluation", Field::Evaluation),
    row("expected", Field::Expected),
    row("input", Field::Input),
    MESSAGES,
    row("model", Field::Model),
    row("passed", Field::Passed),
    row("result", Field::Result),
    row("timestamp", Field::Time),
    row("tokens", Field::Tokens),
    row("tools_called", Field::ToolsCalled),
    row("turn", Field::Number),
];

/// The messages of a turn as JSON text. They become records of their own.
const MESSAGES: Row = row("messages", Field::Messages);
/// What version 1 gives people to say about a turn.
const CHECK: Row = object("eval", Field::Eval, EXPECTS);
const EXPECTS: &[Row] =
    &[row("expect_result", Field::ExpectResult), row("expect_tools", Field::ExpectTools)];

/// The members that make up the check of a turn where it has no member of its own.
const EVAL: &[Field] = &[Field::Expected, Field::Passed, Field::Analysis, Field::Evaluation];

/// Members that are text whatever they look like.
pub const TEXTS: &[&str] = &[
    "input",
    "expected",
    "model",
    "result",
    "evaluation",
    "timestamp",
    "messages",
    "tools_called",
    "eval/expect_tools",
    "eval/expect_result",
];

/// Reads a turn of version 2.
///
/// # Errors
/// If the text is not one JSON value.
pub fn read(text: &Bytes) -> Result<Record, Fault> {
    members(text, KEYED).map(|(record, _)| record)
}

/// Reads a turn of version 1, and its messages if they are a text.
///
/// # Errors
/// If the text is not one JSON value.
pub fn read_dated(text: &Bytes) -> Result<(Record, Option<String>), Fault> {
    members(text, DATED)
}

fn members(text: &Bytes, rows: &'static [Row]) -> Result<(Record, Option<String>), Fault> {
    let mut source = Source::new(text);
    let mut record = Record::new(Kind::Turn);
    if source.cursor.peek() != Some(b'{') {
        let span = source.cursor.skip_value()?;
        record.kind = Kind::Opaque;
        record.node.set(Field::Type, Json::constant("\"turn\""));
        record.node.set(Field::Data, source.json(span));
        return Ok((record, None));
    }
    let (mut flat, mut extra) = (Node::with_capacity(12), Extra::default());
    let mut finder = Finder::new(rows);
    source.cursor.begin_object()?;
    while let Some(key) = source.cursor.next_key()? {
        let listed = source.cursor.peek() == Some(b'"');
        match finder.find(source.spelling(key)) {
            Some(row) if row.field == Field::Messages && !listed => {
                source.unknown(key, &mut extra)?;
            }
            Some(row) if flat.get(row.field).is_none() => {
                source.value(key, row, &mut flat, &mut extra)?;
                if flat.node(row.field).is_some_and(Node::is_empty) {
                    flat.take(row.field);
                    extra.add(source.spelling(key), b"{}");
                }
            }
            _ => source.unknown(key, &mut extra)?,
        }
    }
    let messages = match flat.take(Field::Messages) {
        Some(Value::Json(messages)) => messages.text(),
        _ => None,
    };
    let mut eval = match flat.take(Field::Eval) {
        Some(Value::Node(eval)) => eval,
        _ => Node::default(),
    };
    for &field in EVAL {
        if let Some(value) = flat.take(field) {
            eval.set(field, value);
        }
    }
    record.node = flat;
    if !eval.is_empty() {
        record.node.set(Field::Eval, eval);
    }
    if let Some(extra) = extra.finish() {
        record.node.set(Field::Extra, extra);
    }
    Ok((record, messages))
}

/// Writes the turn that a record stands for as JSON, as version 2 has it; false if it stands for
/// none.
pub fn write(record: &Record, out: &mut Vec<u8>) -> bool {
    write_members(record, KEYED, None, out)
}

/// The same as version 1 has it, with messages as one text.
pub fn write_dated(record: &Record, messages: Option<&str>, out: &mut Vec<u8>) -> bool {
    write_members(record, DATED, messages, out)
}

fn write_members(
    record: &Record,
    rows: &'static [Row],
    messages: Option<&str>,
    out: &mut Vec<u8>,
) -> bool {
    let node = &record.node;
    if record.kind == Kind::Opaque {
        let data = node.json(Field::Data).filter(|_| node.is(Field::Type, "turn"));
        data.into_iter().for_each(|data| out.extend_from_slice(data.as_bytes()));
        return data.is_some();
    }
    let mut object = Object::open(out);
    let empty = Node::default();
    let eval = node.node(Field::Eval).unwrap_or(&empty);
    let check = eval.fields().any(|field| !EVAL.contains(&field));
    for row in rows {
        match row.field {
            Field::Messages => {
                let messages = messages.into_iter();
                messages.for_each(|messages| text::quote(messages, object.key(row.key)));
            }
            Field::Eval if !check => {}
            field => {
                let holder = if EVAL.contains(&field) { eval } else { node };
                object.rows(std::slice::from_ref(row), holder);
            }
        }
    }
    object.extra(node);
    object.close();
    record.kind == Kind::Turn
}

/// Keeps the messages of a turn with it, for they cannot be read.
pub fn keep_messages(turn: &mut Record, messages: &str) {
    let mut extra = Extra::default();
    turn.node.json(Field::Extra).into_iter().for_each(|kept| extra.add_members(kept));
    extra.add(b"\"messages\"", Json::string(messages).as_bytes());
    extra.finish().into_iter().for_each(|extra| turn.node.set(Field::Extra, extra));
}

/// Whether a field of a turn stands in what [`write()`] makes of it.
#[must_use]
pub fn holds(field: Field) -> bool {
    const HELD: &[Field] = &[Field::Extra, Field::Layout, Field::Raw, Field::Data];
    HELD.contains(&field) || KEYED.iter().any(|row| row.field == field)
}

/// A turn that is made up of a conversation that has none: its question, its answer, and calls
/// between them.
#[derive(Debug, Default)]
pub struct Summary {
    /// What was asked.
    pub input: Option<Json>,
    /// The last answer.
    pub result: Option<Json>,
    /// The model that gave it.
    pub model: Option<Json>,
    /// When it was given.
    pub time: Option<Json>,
    /// Calls of tools, for display.
    pub tools: Vec<Json>,
    /// Tokens of all answers.
    pub tokens: f64,
    /// Cost of all answers.
    pub cost: f64,
    /// What a turn of the source tells, which says it better.
    pub told: Option<Node>,
}

/// A sum of money as the real software writes it.
#[must_use]
pub fn money(sum: f64) -> Json {
    let rounded = (sum * 10_000.0).round() / 10_000.0;
    Json::checked(format!("{rounded:?}").into())
}

impl Summary {
    /// Begins with what a turn of the source tells.
    #[must_use]
    pub fn of(turn: &Node) -> Self {
        let number = |field| turn.json(field).and_then(Json::float).unwrap_or(0.0);
        let (tokens, cost) = (number(Field::Tokens), number(Field::TotalCost));
        Self { tokens, cost, told: Some(turn.clone()), ..Self::default() }
    }

    /// Takes a message of the turn in.
    pub fn message(&mut self, node: &Node) {
        self.time = node.json(Field::Time).cloned().or(self.time.take());
        if node.is(Field::Role, "user") {
            self.input = said(node);
            self.result = None;
        } else if node.is(Field::Role, "assistant") {
            if let Some(usage) = node.node(Field::Usage) {
                let number = |node: &Node| node.json(Field::Total).and_then(Json::float);
                self.tokens += number(usage).unwrap_or(0.0);
                self.cost += usage.node(Field::Cost).and_then(number).unwrap_or(0.0);
            }
            self.model = node.json(Field::Model).cloned().or(self.model.take());
            // What is said beside calls is no answer, and would be taken for one.
            self.result = is_answer(node).then(|| said(node)).flatten();
            let blocks = node.nodes(Field::Content).unwrap_or_default();
            let calls = blocks.iter().filter(|block| block.is(Field::Type, block::TOOL_CALL));
            self.tools.extend(calls.map(display));
        }
    }

    /// The turn's record.
    #[must_use]
    pub fn record(self, number: u64) -> Record {
        let mut record = Record::new(Kind::Turn);
        let empty = Json::constant("\"\"");
        let node = &mut record.node;
        node.set(Field::Number, Json::number(number));
        node.set(Field::Input, self.input.unwrap_or(empty.clone()));
        node.set(Field::Result, self.result.unwrap_or(empty.clone()));
        node.set(Field::Model, self.model.unwrap_or(empty.clone()));
        node.set(Field::Time, self.time.unwrap_or(empty.clone()));
        node.set(Field::Duration, Json::number(0));
        node.set(Field::Tokens, Json::number(self.tokens as u64));
        node.set(Field::TotalCost, money(self.cost));
        let tools: Vec<&[u8]> = self.tools.iter().map(Json::as_bytes).collect();
        let tools = [b"[", tools.join(&b","[..]).as_slice(), b"]"].concat();
        node.set(Field::ToolsCalled, Value::Json(Json::checked(tools.into())));
        let mut eval = Node::default();
        eval.set(Field::Expected, empty.clone());
        eval.set(Field::Evaluation, empty);
        for (field, value) in self.told.iter().flat_map(Node::iter) {
            match value {
                Value::Node(told) if field == Field::Eval => {
                    told.iter().for_each(|(field, value)| eval.set(field, value.clone()));
                }
                _ if matches!(field, Field::Number | Field::Extra | Field::Layout | Field::Raw) => {
                }
                value => node.set(field, value.clone()),
            }
        }
        node.set(Field::Eval, eval);
        record
    }
}

/// Whether a message ends a turn: it is said, and calls no tool.
#[must_use]
pub fn is_answer(node: &Node) -> bool {
    let blocks = node.nodes(Field::Content).unwrap_or_default();
    let calls = blocks.iter().any(|block| block.is(Field::Type, block::TOOL_CALL));
    node.is(Field::Role, "assistant") && !calls
}

/// The texts of a message as one.
#[must_use]
pub fn said(node: &Node) -> Option<Json> {
    if let Some(text) = node.json(Field::Content) {
        return Some(text.clone()).filter(|text| !text.is_null());
    }
    block::all_text(node.nodes(Field::Content)?)
}

/// How many characters of an argument are shown.
const SHOWN: usize = 50;

/// A call as the turn's summary shows it: `run(command='ls')`.
fn display(call: &Node) -> Json {
    let arguments = call.json(Field::Arguments).cloned().unwrap_or_default();
    // Arguments of a call may be any text; what is no object is not shown.
    let arguments = arguments.parsed().unwrap_or(arguments);
    let shown = arguments.members().map(|(key, value)| {
        let key = text::decode(key).unwrap_or_default();
        let value = match text::decode(value) {
            Some(text) if text.chars().count() > SHOWN => {
                format!("'{}...'", text.chars().take(SHOWN).collect::<String>())
            }
            Some(text) => format!("'{text}'"),
            None => String::from_utf8_lossy(value).chars().take(SHOWN).collect(),
        };
        format!("{key}={value}")
    });
    let shown: Vec<_> = shown.collect();
    let name = call.text(Field::Name).unwrap_or_default();
    Json::string(&format!("{name}({})", shown.join(", ")))
}
