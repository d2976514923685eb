//! Cellar, a toy of SQLite: a table with the session, and a table with a row for each message of
//! Chat Completions. A real format has many sessions in one database, as `Parts::session` says.

use copyist::diagnostic::{Code, Diagnostic};
use copyist::dialect::chat_completions;
use copyist::error::{Error, Result};
use copyist::foreign::{ListWriter, MessageList};
use copyist::format::{
    Confidence, Cx, Format, Head, Parts, Reach, Reader, RepairIo, RepairOptions, Repaired,
    Required, Sink, Sniffed, Version, Writing,
};
use copyist::framing::Chain;
use copyist::json::Json;
use copyist::mapping::Spacing;
use copyist::position::{Located, Position};
use copyist::record::{Field, Kind, Node, Record};
use copyist::repair::nothing_back;
use copyist::sqlite::{Database, MAGIC, PageRow, Row, Rows, rows_of};
use std::io::{Read, Write};
use std::iter::once;

pub static FORMAT: Format = Format::new(Required {
    name: "cellar",
    summary: "toy of SQLite",
    source: "this file",
    versions: &[Version {
        number: 1,
        summary: "messages",
        schema: "{}",
        tree: false,
        kinds: &[Kind::Session, Kind::Message, Kind::Opaque],
    }],
    extensions: &[".cellar.db"],
    sniff,
    read,
    write,
    repair,
});

const SCHEMA: &str = "CREATE TABLE cellar (id TEXT PRIMARY KEY, cwd TEXT, began TEXT);
     CREATE TABLE note (id INTEGER PRIMARY KEY, session TEXT, at TEXT, message TEXT);";

/// Columns of a session that are fields.
const SESSION: [(&str, Field); 3] =
    [("id", Field::Id), ("cwd", Field::Cwd), ("began", Field::Created)];

fn sniff(head: &Head<'_>) -> Option<Sniffed> {
    let schema = b"CREATE TABLE cellar ";
    let has = head.bytes.windows(schema.len()).any(|bytes| bytes == schema);
    (head.bytes.starts_with(MAGIC) && has)
        .then_some(Sniffed { confidence: Confidence::Certain, version: 1 })
}

fn read<'a>(parts: &'a mut dyn Parts, cx: &'a Cx<'a>) -> Result<Reader<'a>> {
    let db = Database::read(parts, "", cx.options.max_line)?;
    let session = db.table("cellar")?.rows("ORDER BY id LIMIT 1", &[])?.pop();
    let Some(session) = session else {
        return Err(Error::unfit(Diagnostic::new(Code::NoHeader, "the database has no session")));
    };
    let mut value = Record::new(Kind::Session);
    value.node.set(Field::Source, Json::string(FORMAT.name));
    for (name, field) in SESSION {
        value.node.put(field, session.value(name).filter(|value| !value.is_null()).cloned());
    }
    let id = session.value("id").cloned().unwrap_or_default();
    let mut chain = Chain::of(id.as_bytes(), cx);
    let notes = Rows::of(db, "note", "id", "session = ?1", id)?.zip(1..);
    let notes = notes.filter_map(move |(row, record)| match row {
        Ok(row) => {
            let at = Position { record, ..Position::default() };
            Some(Ok(Located { value: message(&row, &mut chain), at }))
        }
        Err(error) => cx.tolerate(error).err().map(Err),
    });
    Ok(Box::new(once(Ok(Located { value, at: Position::default() })).chain(notes)))
}

fn message(row: &Row, chain: &mut Chain) -> Record {
    let text = row.value("message").and_then(Json::parsed);
    let message = text.and_then(|text| chat_completions::read(text.bytes()).ok());
    let mut message = message.unwrap_or_else(|| Record::of_line(row.text("message").as_bytes()));
    if message.kind == Kind::Message {
        message.node.put(Field::Time, row.value("at").filter(|at| !at.is_null()).cloned());
        chain.link(&mut message.node);
    }
    message
}

fn write<'a>(sink: &'a mut dyn Sink, _: &'static Version, cx: &'a Cx<'a>) -> Writing<'a> {
    let cellar = Cellar { sink, db: Database::create(SCHEMA)?, cx, id: Json::default(), count: 0 };
    Ok(ListWriter::begin(cellar, &FORMAT, cx))
}

struct Cellar<'a> {
    sink: &'a mut dyn Sink,
    db: Database,
    cx: &'a Cx<'a>,
    /// Identifier of the session.
    id: Json,
    count: u64,
}

impl MessageList for Cellar<'_> {
    fn session(&mut self, node: &Node, first: bool, _: bool) -> Result<()> {
        if !first {
            return Ok(());
        }
        const ELSEWHERE: [Field; 4] = [Field::Source, Field::File, Field::Leaf, Field::IdMade];
        self.cx.log.count_lost("session", node, |field| {
            ELSEWHERE.contains(&field) || SESSION.iter().any(|(_, held)| *held == field)
        });
        self.id = node.json(Field::Id).cloned().unwrap_or(Json::constant("\"unnamed\""));
        let column = |(name, field): (&str, Field)| {
            let value = if field == Field::Id { Some(&self.id) } else { node.json(field) };
            (name.to_owned(), value.cloned().unwrap_or(Json::constant("null")))
        };
        self.db.table("cellar")?.put(&Row(SESSION.map(column).to_vec()))
    }

    fn item(&mut self, record: &Record, own: bool) -> Result<bool> {
        let mut record = record.clone();
        let time = record.node.json(Field::Time).cloned();
        record.node.take(Field::Time);
        let mut text = record.node.line().unwrap_or_default().to_vec();
        if text.is_empty() && !chat_completions::write(&record, Spacing::None, own, &mut text) {
            return Ok(false);
        }
        chat_completions::losses(&record, own, self.cx.log);
        self.count += 1;
        let text = Json::string(&String::from_utf8_lossy(&text));
        put_note(&self.db, [Json::number(self.count), self.id.clone(), or_null(time), text])?;
        Ok(true)
    }

    fn finish(self, _: bool) -> Result<()> {
        put_image(self.db, self.sink.create("")?)
    }
}

fn or_null(value: Option<Json>) -> Json {
    value.unwrap_or(Json::constant("null"))
}

fn put_note(db: &Database, values: [Json; 4]) -> Result<()> {
    let columns = ["id", "session", "at", "message"].map(str::to_owned);
    db.table("note")?.put(&Row(columns.into_iter().zip(values).collect()))
}

fn put_image(db: Database, mut part: Box<dyn Write>) -> Result<()> {
    let written = part.write_all(&db.into_image()?).and_then(|()| part.flush());
    written.map_err(|error| Error::io("cannot write", error))
}

fn repair(io: &mut dyn RepairIo, _: &RepairOptions, cx: &Cx<'_>) -> Result<Repaired> {
    let mut image = Vec::new();
    let read = io.parts().main()?.read_to_end(&mut image);
    read.map_err(|error| Error::io("cannot read", error))?;
    let is_note = |row: &PageRow| {
        let message = row.values.get(3).and_then(Json::parsed);
        row.values.len() == 4 && message.is_some_and(|message| message.member("role").is_some())
    };
    let mut notes = rows_of(&image, "note");
    notes.retain(is_note);
    let mut sessions = rows_of(&image, "cellar");
    sessions.retain(|row| row.values.len() == 3 && row.values[0].text().is_some());
    let count = notes.len() as u64;
    let reach = |messages| Reach { entries: messages, messages };
    if Database::of_image(&image).is_ok_and(|db| db.is_whole() && db.table("note").is_ok()) {
        io.begin(false)?;
        io.keep("")?;
        let done = Repaired { records: count + 1, ..Repaired::default() };
        return Ok(done.reaching(reach(count), reach(count)));
    }
    let of_note = notes.first().and_then(|note| note.values.get(1).cloned());
    let session = sessions.pop().map(|row| row.values).or_else(|| {
        let id = of_note.filter(|id| id.text().is_some_and(|id| !id.is_empty()))?;
        Some(vec![id, or_null(None), or_null(None)])
    });
    let Some(session) = session else { return Err(nothing_back()) };
    let at = Position::default();
    io.begin(true)?;
    io.aside("", &image, at, Code::StateRestored)?;
    cx.report(Diagnostic::new(Code::StateRestored, Code::StateRestored.title()).at(at));
    let db = Database::create(SCHEMA)?;
    let columns = SESSION.map(|(name, _)| name.to_owned());
    db.table("cellar")?.put(&Row(columns.into_iter().zip(session.iter().cloned()).collect()))?;
    for PageRow { number, values } in notes {
        let [_, session, at, message] =
            [0, 1, 2, 3].map(|place| or_null(values.get(place).cloned()));
        put_note(&db, [Json::number(number.unsigned_abs()), session, at, message])?;
    }
    put_image(db, io.create("")?)?;
    let done =
        Repaired { changed: true, records: count + 1, rescued: count, ..Repaired::default() };
    Ok(done.reaching(reach(0), reach(count)))
}
