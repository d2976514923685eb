//! Diary, a toy of JSON Lines: a header, then on each line a message of Chat Completions with its
//! time, `{"at":"…","message":{"role":"user","content":"…"}}`.

use copyist::dialect::chat_completions;
use copyist::error::{Error, Result};
use copyist::foreign::{ListWriter, MessageList, write_session};
use copyist::format::{
    Confidence, Cx, Format, Head, Parts, Reader, Records, RepairIo, RepairOptions, Repaired,
    Required, Sink, Sniffed, Version, Writing, no_header,
};
use copyist::framing::{Chain, Pen, each_line};
use copyist::json::{Json, member, salvage};
use copyist::mapping::{Object, Row, Source, Spacing, apart, fixed, row, whole};
use copyist::record::{Field, Kind, Node, Record};
use copyist::repair::{Talk, repair_talk};

pub static FORMAT: Format = Format::new(Required {
    name: "diary",
    summary: "toy of JSON Lines",
    source: "this file",
    versions: &[Version {
        number: 1,
        summary: "messages",
        schema: "{}",
        tree: false,
        kinds: &[Kind::Session, Kind::Message, Kind::Opaque],
    }],
    extensions: &[".diary.jsonl"],
    sniff,
    read,
    write,
    repair,
});

const HEADER: &[Row] = &[
    fixed("diary", "1"),
    row("id", Field::Id),
    row("cwd", Field::Cwd),
    row("began", Field::Created),
];
const LINE: &[Row] = &[row("at", Field::Time), apart("message")];

fn is_header(line: &[u8]) -> bool {
    member(line, "diary") == Some(b"1")
}

fn sniff(head: &Head<'_>) -> Option<Sniffed> {
    let begins = head.lines().next().is_some_and(is_header);
    begins.then_some(Sniffed { confidence: Confidence::Certain, version: 1 })
}

fn read<'a>(parts: &'a mut dyn Parts, cx: &'a Cx<'a>) -> Result<Reader<'a>> {
    let mut chain = None;
    each_line(parts.main()?, cx, move |frame| {
        let line = frame.line();
        let fault = |fault| Error::json(fault, line.bytes, line.at);
        let (mut source, mut node) = (Source::new(&frame.bytes), Node::default());
        let Some(chain) = &mut chain else {
            let header = is_header(line.bytes).then(|| source.object(HEADER, None, &mut node));
            if header.is_none_or(|read| read.and_then(|()| source.cursor.end()).is_err()) {
                return Err(no_header(&line, "first line is not the header"));
            }
            node.set(Field::Source, Json::string(FORMAT.name));
            chain = Some(Chain::of(node.json(Field::Id).map_or(&b""[..], Json::as_bytes), cx));
            return Ok(Record { kind: Kind::Session, node });
        };
        let read = source.object(LINE, None, &mut node).and_then(|()| source.cursor.end());
        read.map_err(fault)?;
        let Some(span) = source.apart.filter(|_| node.get(Field::Extra).is_none()) else {
            return whole(&frame.bytes, None).map_err(fault);
        };
        let mut message = chat_completions::read(source.json(span).bytes()).map_err(fault)?;
        message.node.put(Field::Time, node.take(Field::Time));
        chain.link(&mut message.node);
        Ok(message)
    })
}

fn write<'a>(sink: &'a mut dyn Sink, _: &'static Version, cx: &'a Cx<'a>) -> Writing<'a> {
    Ok(ListWriter::begin(Diary { pen: Pen::to(sink.create("")?), cx }, &FORMAT, cx))
}

struct Diary<'a> {
    pen: Pen,
    cx: &'a Cx<'a>,
}

impl MessageList for Diary<'_> {
    fn session(&mut self, node: &Node, first: bool, own: bool) -> Result<()> {
        self.pen.file(node, first);
        if first {
            write_session(HEADER, node, own, self.pen.line()?, &mut |_, _| false, self.cx.log);
        }
        Ok(())
    }

    fn item(&mut self, record: &Record, own: bool) -> Result<bool> {
        if own && self.pen.write_unchanged(record)? {
            return Ok(true);
        }
        if own && let Some(data) = record.node.json(Field::Data).filter(|_| !record.is_node()) {
            self.pen.line()?.extend_from_slice(data.as_bytes());
            return Ok(true);
        }
        let (mut record, mut message) = (record.clone(), Vec::new());
        let time = record.node.take(Field::Time);
        if !chat_completions::write(&record, Spacing::None, own, &mut message) {
            return Ok(false);
        }
        chat_completions::losses(&record, own, self.cx.log);
        let mut object = Object::open(self.pen.line()?);
        time.iter().for_each(|time| object.row(&LINE[0], time));
        object.member("message", &message);
        object.close();
        Ok(true)
    }

    fn finish(self, _: bool) -> Result<()> {
        self.pen.finish()
    }
}

/// Name of the file.
#[derive(Clone)]
struct Named(String);

impl Talk for Named {
    const RECORDS: &'static Records =
        &Records { begins: &[b"{\"at\":", b"{\"diary\":"], recognise, restore };

    fn is_header(&self, line: &Json) -> bool {
        is_header(line.as_bytes())
    }

    fn header(&self, _: &Json) -> Vec<u8> {
        format!(r#"{{"diary":1,"id":{:?}}}"#, self.0).into_bytes()
    }
}

fn recognise(object: &[u8]) -> bool {
    is_header(object) || member(object, "message").is_some_and(|it| it.starts_with(b"{\"role\":"))
}

fn restore(torn: &[u8]) -> Option<Vec<u8>> {
    salvage(String::from_utf8_lossy(torn).as_bytes()).filter(|object| recognise(object))
}

fn repair(io: &mut dyn RepairIo, wanted: &RepairOptions, cx: &Cx<'_>) -> Result<Repaired> {
    repair_talk(Named(wanted.name.clone()), io, wanted, cx)
}
