//! Album, a toy of one JSON document: `{"id":"…","cwd":"…","messages":[…],"pages":12}`, laid out
//! as JavaScript does with two spaces, without a line ending.

use copyist::document::{self, Items, ListPen, Rules, Style, frame, on_one_line};
use copyist::error::{Error, Result};
use copyist::foreign::{ListWriter, MessageList, fitted, has_row, write_session};
use copyist::format::{
    Confidence, Cx, Format, Head, Parts, Reader, RepairIo, RepairOptions, Repaired, Required, Sink,
    Sniffed, Version, Writing,
};
use copyist::framing::{ReadLines, Reading};
use copyist::json::{Json, member};
use copyist::mapping::{
    BlockType, Extra, Object, Row, Source, apart, blocks, fixed, kept, row, whole,
};
use copyist::position::{Located, Position};
use copyist::record::{Field, Kind, Node, Record, block};
use std::collections::VecDeque;

pub static FORMAT: Format = Format::new(Required {
    name: "album",
    summary: "toy of one JSON document",
    source: "this file",
    versions: &[Version {
        number: 1,
        summary: "messages",
        schema: "{}",
        tree: false,
        kinds: &[Kind::Session, Kind::Message, Kind::Opaque],
    }],
    extensions: &[".album.json"],
    sniff,
    read,
    write,
    repair,
});

const PATH: document::Path = &["messages"];
const STYLE: Style = Style { indented: true, newline: false };
const DOCUMENT: &[Row] = &[
    fixed("album", "1"),
    row("id", Field::Id),
    row("cwd", Field::Cwd),
    row("began", Field::Created),
    apart("messages"),
    kept("pages"),
];
const MESSAGE: &[Row] = &[
    row("id", Field::Id),
    row("at", Field::Time),
    row("role", Field::Role),
    blocks("parts", Field::Content, PARTS),
];
const TEXT: BlockType =
    BlockType { wire: "text", name: block::TEXT, rows: &[row("text", Field::Text)] };
const CALL: &[Row] =
    &[row("id", Field::Id), row("name", Field::Name), row("input", Field::Arguments)];
const RESULT: &[Row] = &[row("call", Field::Call), blocks("output", Field::Content, &[TEXT])];
const PARTS: &[BlockType] = &[
    TEXT,
    BlockType { wire: "call", name: block::TOOL_CALL, rows: CALL },
    BlockType { wire: "result", name: block::TOOL_RESULT, rows: RESULT },
];

fn sniff(head: &Head<'_>) -> Option<Sniffed> {
    let begins = member(head.bytes, "album") == Some(b"1");
    begins.then_some(Sniffed { confidence: Confidence::Certain, version: 1 })
}

fn read<'a>(parts: &'a mut dyn Parts, cx: &'a Cx<'a>) -> Result<Reader<'a>> {
    parts.keep()?;
    let frame = frame(parts.main()?, PATH, cx.options.max_line)?;
    let mut session = Record::new(Kind::Session);
    let mut source = Source::new(&frame.text);
    let read = source.object(DOCUMENT, None, &mut session.node);
    let at = Position { line: 1, ..Position::default() };
    read.map_err(|fault| Error::json(fault, &frame.text, at))?;
    session.node.set(Field::Source, Json::string(FORMAT.name));
    session.node.put(Field::File, frame.file(STYLE, cx));
    let items = Items::over(parts.main()?, PATH, cx.options.max_line)?;
    let first = VecDeque::from([Located { value: session, at }]);
    Ok(Box::new(Reading::behind(first, Album { items, last: None }, cx)))
}

struct Album {
    items: Items,
    /// Identifier of the last message.
    last: Option<Json>,
}

impl ReadLines for Album {
    fn line(&mut self, ready: &mut VecDeque<Located<Record>>) -> Result<bool> {
        let Some(Located { value, at }) = self.items.next().transpose()? else { return Ok(false) };
        let text = on_one_line(value.bytes());
        let fault = |fault| Error::json(fault, &text, at);
        let mut message = Record::new(Kind::Message);
        let mut source = Source::new(&text);
        if source.cursor.peek() == Some(b'{') {
            source.object(MESSAGE, None, &mut message.node).map_err(fault)?;
        }
        let Some(id) =
            message.node.json(Field::Id).filter(|_| message.node.get(Field::Role).is_some())
        else {
            ready.push_back(Located { value: whole(&text, None).map_err(fault)?, at });
            return Ok(true);
        };
        let parent = self.last.replace(id.clone());
        message.node.set(Field::Parent, parent.unwrap_or(Json::constant("null")));
        ready.push_back(Located { value: message, at });
        Ok(true)
    }

    fn tail(&mut self, _: &mut VecDeque<Located<Record>>) -> Result<()> {
        Ok(())
    }
}

fn write<'a>(sink: &'a mut dyn Sink, _: &'static Version, cx: &'a Cx<'a>) -> Writing<'a> {
    let pen = ListPen::new(sink.spool()?, PATH, STYLE);
    Ok(ListWriter::begin(Out { sink, cx, pen, session: Node::default() }, &FORMAT, cx))
}

struct Out<'a> {
    sink: &'a mut dyn Sink,
    cx: &'a Cx<'a>,
    pen: ListPen,
    session: Node,
}

impl MessageList for Out<'_> {
    fn session(&mut self, node: &Node, first: bool, _: bool) -> Result<()> {
        if first {
            self.session = node.clone();
        }
        Ok(())
    }

    fn item(&mut self, record: &Record, own: bool) -> Result<bool> {
        let (mut node, log) = (record.node.clone(), self.cx.log);
        match (record.kind, node.json(Field::Data)) {
            (Kind::Opaque, Some(data)) => return self.pen.item(data.as_bytes()).map(|()| true),
            (Kind::Message, _) => {}
            _ => return Ok(false),
        }
        if !own {
            log.count_lost("message", &node, |field| {
                let is_held = MESSAGE.iter().any(|row| row.field == field);
                is_held || Field::STRUCTURAL.contains(&field)
            });
            let holds = |name: &str, field| has_row(PARTS, name, field);
            node.put(Field::Content, fitted(node.get(Field::Content), &holds, log));
        }
        let mut item = Vec::new();
        let mut object = Object::open(&mut item);
        object.in_order(MESSAGE, &node, node.json(Field::Extra).filter(|_| own), &mut |_, _| false);
        object.close();
        self.pen.item(&item).map(|()| true)
    }

    fn finish(self, own: bool) -> Result<()> {
        let mut frame = Vec::new();
        let mut put = |row: &'static Row, object: &mut Object<'_>| {
            let is_list = row.key == "messages";
            if is_list {
                object.member(row.key, b"[]");
            }
            is_list
        };
        write_session(DOCUMENT, &self.session, own, &mut frame, &mut put, self.cx.log);
        self.pen.finish(self.sink.create("")?, &frame, &self.session)
    }
}

static RULES: Rules = Rules {
    path: PATH,
    recognise: |item| ["id", "role", "parts"].iter().all(|name| member(item, name).is_some()),
    lacks: |document, wanted| {
        let mut extra = Extra::default();
        let id = Json::string(wanted.name.split('.').next().unwrap_or_default());
        for (name, value) in
            [("album", b"1".as_slice()), ("id", id.as_bytes()), ("messages", b"[]")]
        {
            if document.member(name).is_none() {
                extra.add(Json::string(name).as_bytes(), value);
            }
        }
        Some(extra.finish().unwrap_or(Json::constant("{}")))
    },
    complete: None,
    notes_in: None,
};

fn repair(io: &mut dyn RepairIo, wanted: &RepairOptions, cx: &Cx<'_>) -> Result<Repaired> {
    document::repair(&RULES, io, wanted, cx)
}
