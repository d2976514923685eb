//! A turn's summary as a record and back.

use crate::json::{Fault, Json, text};
use crate::mapping::{Extra, Finder, Object, Row, Source, row};
use crate::record::{Field, Kind, Node, Record, Value, block};
use bytes::Bytes;

/// Members in the order in which releases 0.5.0 to 0.6.0 write them, then those that people add.
const ROWS: &[Row] = &[
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
];

/// The members that make up the check of a turn.
const EVAL: &[Field] = &[Field::Expected, Field::Passed, Field::Analysis, Field::Evaluation];

/// Members that are text whatever they look like.
pub const TEXTS: &[&str] = &["input", "expected", "model", "result", "evaluation", "timestamp"];

/// Reads a turn.
///
/// # Errors
/// If the text is not one JSON value.
pub fn read(text: &Bytes) -> Result<Record, Fault> {
    let mut source = Source::new(text);
    let mut record = Record::new(Kind::Turn);
    if source.cursor.peek() != Some(b'{') {
        let span = source.cursor.skip_value()?;
        record.kind = Kind::Opaque;
        record.node.set(Field::Type, Json::constant("\"turn\""));
        record.node.set(Field::Data, source.json(span));
        return Ok(record);
    }
    let (mut flat, mut extra) = (Node::with_capacity(12), Extra::default());
    let mut finder = Finder::new(ROWS);
    source.cursor.begin_object()?;
    while let Some(key) = source.cursor.next_key()? {
        match finder.find(source.spelling(key)) {
            Some(row) if flat.get(row.field).is_none() => {
                source.value(key, row, &mut flat, &mut extra)?;
            }
            _ => source.unknown(key, &mut extra)?,
        }
    }
    let mut eval = Node::default();
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
    Ok(record)
}

/// Writes the turn that a record stands for as JSON; false if it stands for none.
pub fn write(record: &Record, out: &mut Vec<u8>) -> bool {
    let node = &record.node;
    if record.kind == Kind::Opaque {
        let data = node.json(Field::Data).filter(|_| node.is(Field::Type, "turn"));
        data.into_iter().for_each(|data| out.extend_from_slice(data.as_bytes()));
        return data.is_some();
    }
    let mut object = Object::open(out);
    let empty = Node::default();
    let eval = node.node(Field::Eval).unwrap_or(&empty);
    for row in ROWS {
        let holder = if EVAL.contains(&row.field) { eval } else { node };
        object.rows(std::slice::from_ref(row), holder);
    }
    object.extra(eval);
    object.extra(node);
    object.close();
    record.kind == Kind::Turn
}

/// Whether a field of a turn stands in what [`write()`] makes of it.
#[must_use]
pub fn holds(field: Field) -> bool {
    const HELD: &[Field] = &[Field::Eval, Field::Extra, Field::Layout, Field::Raw, Field::Data];
    HELD.contains(&field) || ROWS.iter().any(|row| row.field == field)
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
}

/// A sum of money as the real software writes it.
#[must_use]
pub fn money(sum: f64) -> Json {
    let rounded = (sum * 10_000.0).round() / 10_000.0;
    Json::checked(format!("{rounded:?}").into())
}

impl Summary {
    /// Takes a message of the turn in.
    pub fn message(&mut self, node: &Node) {
        self.time = node.json(Field::Time).cloned().or(self.time.take());
        if node.is(Field::Role, "user") {
            self.input = said(node);
        } else if node.is(Field::Role, "assistant") {
            if let Some(usage) = node.node(Field::Usage) {
                let number = |node: &Node| node.json(Field::Total).and_then(Json::float);
                self.tokens += number(usage).unwrap_or(0.0);
                self.cost += usage.node(Field::Cost).and_then(number).unwrap_or(0.0);
            }
            self.result = said(node).or(self.result.take());
            self.model = node.json(Field::Model).cloned().or(self.model.take());
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
        node.set(Field::Eval, eval);
        record
    }
}

/// The texts of a message as one.
#[must_use]
pub fn said(node: &Node) -> Option<Json> {
    if let Some(text) = node.json(Field::Content) {
        return Some(text.clone()).filter(|text| !text.is_null());
    }
    let blocks = node.nodes(Field::Content)?;
    let texts = blocks.iter().filter(|block| block.is(Field::Type, block::TEXT));
    texts.filter_map(|block| block.json(Field::Text).cloned()).reduce(|a, b| a.joined(&b))
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
