//! Conversion between a turn's summary and a record.

use super::super::time;
use crate::json::{Cursor, Fault, Json, text};
use crate::mapping::{Extra, Finder, Object, Row, Source, misfit, object, row};
use crate::record::{Field, Kind, Node, Record, Value, block};
use crate::times;
use bytes::Bytes;
use jiff::Timestamp;

/// How a kind of file spells its turns.
#[derive(Debug)]
pub struct Table {
    /// Members in the order in which the real software writes them, then the members that users
    /// add.
    rows: &'static [Row],
    /// Members that are text whatever they look like.
    pub texts: &'static [&'static str],
}

/// Version 2, as releases 0.5.0 to 0.6.0 write it.
pub static KEYED: Table = Table {
    rows: &[
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
    ],
    texts: TEXTS,
};

/// Turn members of version 1: those of version 2 and the messages of the turn, in alphabetical
/// order of their names.
pub static DATED: Table = Table {
    rows: &[
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
    ],
    texts: TEXTS,
};

/// Turn members of the summaries of version 3; behind `meta` the members that its evaluations have
/// in its place and add.
pub static INDEX: Table = Table {
    rows: &[
        row("input", Field::Input),
        row("run", Field::Attempt),
        row("output", Field::Result),
        row("tools_called", Field::ToolsCalled),
        row("expected", Field::Expected),
        row("evaluation", Field::Evaluation),
        META,
        row("tokens", Field::Tokens),
        row("cost", Field::TotalCost),
        row("ts", Field::Time),
        row("history", Field::History),
        row("pass", Field::Passed),
        row("analysis", Field::Analysis),
        CHECK,
    ],
    texts: &[
        "input",
        "output",
        "tools_called",
        "expected",
        "evaluation",
        "meta",
        "ts",
        "analysis",
        "eval/expect_tools",
        "eval/expect_result",
    ],
};

/// An earlier run in the `history` of a turn.
static EARLIER: Table = Table {
    rows: &[row("run", Field::Attempt), row("status", Field::Evaluation), META],
    texts: &[],
};

/// The messages of a turn as JSON text. They become records of their own.
const MESSAGES: Row = row("messages", Field::Messages);
/// Tokens, cost, duration and time of a turn, as JSON text.
const META: Row = row("meta", Field::Meta);
/// Members of the text of `meta`, in the order in which the real software writes them.
const MEASURES: &[(&str, Field)] = &[
    ("tokens", Field::Tokens),
    ("cost", Field::TotalCost),
    ("duration_ms", Field::Duration),
    ("ts", Field::Time),
];
/// Expectations that a user can add to a turn, from version 1 on.
const CHECK: Row = object("eval", Field::Eval, EXPECTS);
const EXPECTS: &[Row] =
    &[row("expect_result", Field::ExpectResult), row("expect_tools", Field::ExpectTools)];

/// The members that make up the check of a turn where it has no member of its own.
const EVAL: &[Field] = &[Field::Expected, Field::Passed, Field::Analysis, Field::Evaluation];

/// Members of versions 1 and 2 that are text.
const TEXTS: &[&str] = &[
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

impl Table {
    /// Reads a turn, and its messages if the turn contains them as a text.
    pub fn read(&'static self, text: &Bytes) -> Result<(Record, Option<String>), Fault> {
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
        self.members(&mut source, &mut flat, &mut extra)?;
        let messages = match flat.take(Field::Messages) {
            Some(Value::Json(messages)) => messages.text(),
            _ => None,
        };
        if let Some(Value::Json(meta)) = flat.take(Field::Meta)
            && !measure(&meta, &mut flat)
        {
            extra.add(b"\"meta\"", meta.as_bytes());
        }
        let mut eval = match flat.take(Field::Eval) {
            Some(Value::Node(eval)) => eval,
            _ => Node::default(),
        };
        for &field in EVAL {
            eval.put(field, flat.take(field));
        }
        record.node = flat;
        if !eval.is_empty() {
            record.node.set(Field::Eval, eval);
        }
        extra.put(&mut record.node);
        Ok((record, messages))
    }

    fn members(
        &'static self,
        source: &mut Source<'_>,
        flat: &mut Node,
        extra: &mut Extra,
    ) -> Result<(), Fault> {
        let mut finder = Finder::new(self.rows);
        source.cursor.begin_object()?;
        while let Some(key) = source.cursor.next_key()? {
            let is_text = source.cursor.peek() == Some(b'"');
            match finder.find(source.spelling(key)) {
                Some(row) if matches!(row.field, Field::Messages | Field::Meta) && !is_text => {
                    source.unknown(key, extra)?;
                }
                Some(row) if flat.get(row.field).is_none() => {
                    source.value(key, row, flat, extra)?;
                    if flat.node(row.field).is_some_and(Node::is_empty) {
                        flat.take(row.field);
                        extra.add(source.spelling(key), b"{}");
                    }
                }
                _ => source.unknown(key, extra)?,
            }
        }
        Ok(())
    }

    /// Writes the turn that a record represents as JSON, with messages as one text if this kind of
    /// file has them in turns; false if the record represents no turn.
    pub fn write(
        &'static self,
        record: &Record,
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
        let has_meta = self.rows.iter().any(|row| row.field == Field::Meta);
        let meta = has_meta.then(|| measures(node)).flatten();
        let measured = |field| MEASURES.iter().any(|(_, measure)| *measure == field);
        let mut rest = node.json(Field::Extra).cloned();
        for row in self.rows {
            match row.field {
                Field::Messages => {
                    let messages = messages.into_iter();
                    messages.for_each(|messages| text::quote(messages, object.key(row.key)));
                }
                Field::Meta => {
                    meta.iter().for_each(|meta| object.member(row.key, meta.as_bytes()));
                }
                field if meta.is_some() && measured(field) => {}
                Field::Eval if !check => {}
                field => {
                    let holder = if EVAL.contains(&field) { eval } else { node };
                    let value = holder.get(field);
                    match (value, misfit(&mut rest, row.key, field.shape(), value.is_some())) {
                        (Some(value), _) => object.row(row, value),
                        (None, misfit) => {
                            misfit
                                .iter()
                                .for_each(|misfit| object.member(row.key, misfit.as_bytes()));
                        }
                    }
                }
            }
        }
        object.extra_members(rest.as_ref());
        object.close();
        record.kind == Kind::Turn
    }

    /// Whether [`write`](Self::write) writes this field of a turn.
    pub fn holds(&self, field: Field) -> bool {
        const HELD: &[Field] = &[Field::Extra, Field::Layout, Field::Data];
        let has = |wanted| self.rows.iter().any(|row| row.field == wanted);
        let measured = || MEASURES.iter().any(|(_, measure)| *measure == field);
        HELD.contains(&field) || has(field) || (has(Field::Meta) && measured())
    }
}

/// Returns the earlier runs that the `history` of a turn in a summary contains.
pub fn earlier_runs(history: &Json) -> Vec<Node> {
    let mut cursor = Cursor::new(history.as_bytes());
    let mut runs = Vec::new();
    let begun = cursor.begin_array();
    while begun.is_ok() && cursor.next_element().is_ok_and(|more| more) {
        let Ok(run) = cursor.skip_value() else { break };
        let run = Bytes::copy_from_slice(run.of(history.as_bytes()));
        runs.extend(EARLIER.read(&run).ok().map(|(run, _)| run.node));
    }
    runs
}

/// Splits the text of `meta` into fields of the turn, if they give the same text again; false
/// otherwise.
fn measure(meta: &Json, turn: &mut Node) -> bool {
    let Some(object) = meta.parsed() else { return false };
    if MEASURES.iter().any(|(_, field)| turn.get(*field).is_some()) {
        return false;
    }
    let mut read = Node::with_capacity(MEASURES.len());
    for (name, field) in MEASURES {
        let value = object.member(name);
        match value
            .filter(|value| value.as_bytes().first().is_some_and(|b| field.shape().admits(*b)))
        {
            Some(value) => read.set(*field, value),
            None => return false,
        }
    }
    if measures(&read).is_none_or(|spelled| spelled.text() != meta.text()) {
        return false;
    }
    read.iter().for_each(|(field, value)| turn.set(field, value.clone()));
    true
}

/// Returns the text of `meta` for a turn, if the turn has all of its values.
fn measures(turn: &Node) -> Option<Json> {
    let mut out = Vec::new();
    let mut object = Object::open(&mut out);
    for (name, field) in MEASURES {
        object.member(name, turn.json(*field)?.as_bytes());
    }
    object.close();
    let python = Json::trusted(out.into()).python();
    Some(Json::string(&String::from_utf8_lossy(&python)))
}

/// Keeps the messages of a turn as a member of its record, because they cannot be read.
pub fn keep_messages(turn: &mut Record, messages: &str) {
    let mut extra = Extra::default();
    turn.node.json(Field::Extra).into_iter().for_each(|kept| extra.add_members(kept));
    extra.add(b"\"messages\"", Json::string(messages).as_bytes());
    extra.put(&mut turn.node);
}

/// Summary of a turn from a conversation without turns: its question, its answer, and the calls
/// between them.
#[derive(Debug, Default)]
pub struct Summary {
    /// The question of the turn.
    pub input: Option<Json>,
    /// The last answer.
    pub result: Option<Json>,
    /// The model of the last answer that has one.
    pub model: Option<Json>,
    /// The last time in the turn, as the real software writes times.
    pub time: Option<Json>,
    /// The first and the last time of the turn that can be read.
    pub times: Option<(Timestamp, Timestamp)>,
    /// Calls of tools, as the turn shows them.
    pub tools: Vec<Json>,
    /// Tokens of all answers.
    pub tokens: f64,
    /// Cost of all answers.
    pub cost: f64,
    /// The turn record of the source format, whose values take precedence.
    pub source_turn: Option<Node>,
    /// Whether the turn has messages.
    pub has_messages: bool,
}

/// Returns a sum of money as the real software writes it.
pub fn money(sum: f64) -> Json {
    let sum = sum.clamp(f64::MIN, f64::MAX);
    let rounded = (sum * 10_000.0).round() / 10_000.0;
    let rounded = if rounded.is_finite() { rounded } else { sum };
    Json::trusted(format!("{rounded:?}").into())
}

impl Summary {
    /// Begins a summary with the values of a turn of the source format.
    pub fn of(turn: &Node) -> Self {
        let number = |field| turn.json(field).and_then(Json::float).unwrap_or(0.0);
        let (tokens, cost) = (number(Field::Tokens), number(Field::TotalCost));
        Self { tokens, cost, source_turn: Some(turn.clone()), ..Self::default() }
    }

    /// Adds a message of the turn.
    pub fn message(&mut self, node: &Node) {
        if let Some(stated) = node.json(Field::Time) {
            self.time = Some(time(stated));
            let at = times::read(stated);
            self.times =
                at.map(|at| (self.times.map_or(at, |(first, _)| first), at)).or(self.times);
        }
        // A turn that continues behind its answer would be taken for one that lacks the answer.
        self.result = None;
        self.has_messages = true;
        if node.is(Field::Role, "user") {
            self.input = question_of(node);
        } else if node.is(Field::Role, "assistant") {
            if let Some(usage) = node.node(Field::Usage) {
                let number = |node: &Node, field| node.json(field).and_then(Json::float);
                let tokens = |field| number(usage, field).unwrap_or(0.0);
                self.tokens += tokens(Field::InputTokens) + tokens(Field::OutputTokens);
                let cost = usage.node(Field::Cost);
                self.cost += cost.and_then(|cost| number(cost, Field::Total)).unwrap_or(0.0);
            }
            self.model = node.json(Field::Model).cloned().or(self.model.take());
            // Text beside calls is not an answer, but would be taken for one.
            self.result = is_answer(node).then(|| text_of(node)).flatten();
            let calls = node.blocks_of(block::TOOL_CALL);
            self.tools.extend(calls.map(display));
        }
    }

    /// Returns the turn's record.
    pub fn record(self, number: u64) -> Record {
        let mut record = Record::new(Kind::Turn);
        let empty = Json::constant("\"\"");
        let node = &mut record.node;
        node.set(Field::Number, Json::number(number));
        node.set(Field::Input, self.input.unwrap_or(empty.clone()));
        node.set(Field::Result, self.result.unwrap_or(empty.clone()));
        node.set(Field::Model, self.model.unwrap_or(empty.clone()));
        node.set(Field::Time, self.time.unwrap_or(empty.clone()));
        let took = self.times.map_or(0, |(first, last)| last.duration_since(first).as_millis());
        node.set(Field::Duration, Json::number(u64::try_from(took).unwrap_or(0)));
        node.set(Field::Tokens, Json::number(self.tokens as u64));
        node.set(Field::TotalCost, money(self.cost));
        node.set(Field::ToolsCalled, Json::list(&self.tools));
        let mut eval =
            Node::default().with(Field::Expected, empty.clone()).with(Field::Evaluation, empty);
        for (field, value) in self.source_turn.iter().flat_map(Node::iter) {
            match value {
                Value::Node(source_eval) if field == Field::Eval => {
                    source_eval.iter().for_each(|(field, value)| eval.set(field, value.clone()));
                }
                _ if matches!(field, Field::Number | Field::Extra | Field::Layout) => {}
                // A result that no message contains would be taken for an answer that the messages
                // lack.
                _ if field == Field::Result && self.has_messages => {}
                value => node.set(field, value.clone()),
            }
        }
        node.set(Field::Eval, eval);
        record
    }
}

/// Whether a message ends a turn: an assistant's message that calls no tool.
pub fn is_answer(node: &Node) -> bool {
    let calls = node.blocks_of(block::TOOL_CALL).next().is_some();
    node.is(Field::Role, "assistant") && !calls
}

/// Returns the texts of a message as one.
pub fn text_of(node: &Node) -> Option<Json> {
    if let Some(text) = node.json(Field::Content) {
        return Some(text.clone()).filter(|text| !text.is_null());
    }
    block::all_text(node.nodes(Field::Content)?)
}

/// Returns the question of a message, with the placeholder `[image]` for each image.
fn question_of(node: &Node) -> Option<Json> {
    let Some(blocks) = node.nodes(Field::Content) else { return text_of(node) };
    let shown = blocks.iter().filter_map(|block| match block.is(Field::Type, block::IMAGE) {
        true => Some(Json::constant("\"[image]\"")),
        false => block.json(Field::Text).cloned(),
    });
    shown.reduce(|a, b| a.joined(&b))
}

/// Maximum number of characters of an argument that are shown.
const SHOWN: usize = 50;

/// Returns a call as the turn's summary shows it: `run(command='ls')`.
fn display(call: &Node) -> Json {
    let arguments = call.json(Field::Arguments).cloned().unwrap_or_default();
    // Arguments of a call may be any text; only those of an object are shown.
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
