//! Item by item from a file's records and its residue to the records of the source.

use super::align::Tag;
use super::merge::{Fate, Now, named};
use super::pack::refused;
use super::print;
use super::shelf::Shelf;
use super::template::{fill, members};
use crate::context::plain;
use crate::diagnostic::{Code, Diagnostic};
use crate::error::Result;
use crate::format::Cx;
use crate::formats::canonical;
use crate::ids::hash;
use crate::json::Json;
use crate::position::Position;
use crate::record::{Field, Kind, Node, Record, Value, block};
use bytes::Bytes;
use std::collections::{BTreeMap, HashMap};

/// Makes the records of the source.
pub struct Back<'n> {
    now: &'n mut Now,
    fates: BTreeMap<u32, Fate>,
    /// Records of the file that are new, in their order, and what was edited of derived ones.
    news: BTreeMap<u32, Option<Record>>,
    shelf: Shelf,
    cx: &'n Cx<'n>,
    changed: bool,
    /// The parents of nodes that were deleted.
    moved: HashMap<Json, Option<Json>>,
    /// The last node that the file shows.
    tip: Option<Json>,
    /// The last time that was told.
    time: Option<Json>,
    /// Records of the file that are read as edited where another record was edited.
    said: BTreeMap<u32, Record>,
    /// Nodes that followed the first follow the second, which is new.
    bent: Option<(Option<Json>, Json)>,
    /// Results of turns that were edited: turn, hash of the old one, and the new one.
    results: Vec<(f64, String, Json)>,
}

/// All records of the source.
pub struct Done {
    /// The records.
    pub shelf: Shelf,
    /// Whether anything was edited, deleted or added.
    pub changed: bool,
    /// What some of the file's records say by an edit of other ones.
    pub said: BTreeMap<u32, Record>,
}

impl<'n> Back<'n> {
    /// Before the first item.
    pub fn new(
        now: &'n mut Now,
        fates: BTreeMap<u32, Fate>,
        added: Vec<u32>,
        shelf: Shelf,
        cx: &'n Cx<'n>,
    ) -> Self {
        let changed = !added.is_empty();
        let news = added.into_iter().map(|number| (number, None)).collect();
        let (moved, results) = (HashMap::new(), Vec::new());
        Self {
            now,
            fates,
            news,
            shelf,
            cx,
            changed,
            moved,
            tip: None,
            time: None,
            said: BTreeMap::new(),
            bent: None,
            results,
        }
    }

    /// Takes the next item.
    pub fn item(&mut self, item: &Json) -> Result<()> {
        let names: Vec<_> = named(item).into_iter().flatten().collect();
        let fates = names.iter().map(|(number, ..)| self.fates.get(number).copied());
        let fates: Vec<Fate> = fates.map(|fate| fate.unwrap_or(Fate::Deleted)).collect();
        if item.member("derived").is_some() {
            let fate = fates.first().copied().unwrap_or(Fate::Deleted);
            let tag = names.first().map(|(_, tag, _)| *tag);
            return self.derived(item, fate, tag);
        }
        let template = item.member("is").ok_or_else(|| refused("an item is not understood"))?;
        if fates.is_empty() {
            let line = fill(&template, &[]).ok_or_else(|| refused("an item is not understood"))?;
            return self.put(record(line)?, false);
        }
        if fates.iter().all(|fate| *fate == Fate::Deleted) {
            return self.deleted(&template);
        }
        self.told(item, &template, &fates)
    }

    /// What is left when all items are done.
    pub fn finish(mut self) -> Result<Done> {
        self.flush(u32::MAX)?;
        Ok(Done { shelf: self.shelf, changed: self.changed, said: self.said })
    }

    /// A record that the target computed: nothing of the source, unless it was edited.
    fn derived(&mut self, item: &Json, fate: Fate, tag: Option<Tag>) -> Result<()> {
        let number = match fate {
            Fate::Same(_) => return Ok(()),
            Fate::Edited(number) => number,
            Fate::Deleted => {
                if tag == Some(Tag('T')) {
                    self.say(Code::ResidueDeleted, "a turn was deleted", None);
                }
                return Ok(());
            }
        };
        let now = canonical::record(&self.now.shelf.line(number)?)?;
        let edits = edits(item, &now.node);
        if edits.is_empty() {
            return Ok(());
        }
        let mut record = Record::new(now.kind);
        for field in [Field::Number, Field::Turn, Field::Role, Field::Content].iter().chain(&edits)
        {
            now.node.get(*field).into_iter().for_each(|v| record.node.set(*field, v.clone()));
        }
        if let (Kind::Turn, Some(turn)) = (now.kind, now.node.json(Field::Number))
            && edits.contains(&Field::Result)
            && let Some(result) = now.node.json(Field::Result)
        {
            let was = item.member("was").and_then(|was| was.member("result"));
            let was = was.and_then(|was| was.text()).unwrap_or_default();
            self.results.push((turn.float().unwrap_or(0.0), was, result.clone()));
            record.node.take(Field::Result);
        }
        self.edited(&now, number, &edits);
        let told = record.node.fields().any(|field| !matches!(field, Field::Number | Field::Turn));
        if told {
            self.news.insert(number, Some(record));
        }
        self.changed = true;
        Ok(())
    }

    /// A record of the source that the file shows.
    fn told(&mut self, item: &Json, template: &Json, fates: &[Fate]) -> Result<()> {
        let mut bases = Vec::new();
        let (mut edited, mut last) = (fates.contains(&Fate::Deleted), 0);
        for fate in fates {
            let (Fate::Same(number) | Fate::Edited(number)) = *fate else {
                bases.push(Record::new(Kind::Opaque));
                continue;
            };
            let mut base = canonical::record(&self.now.shelf.line(number)?)?;
            edited |= matches!(fate, Fate::Edited(_));
            if self.answer(&mut base) {
                edited = true;
                self.said.insert(number, base.clone());
            }
            bases.push(base);
            last = number;
        }
        self.flush(last)?;
        let lines: Vec<Json> = bases.iter().map(line).collect();
        let filled = fill(template, &lines).and_then(|line| record(line).ok());
        if !edited {
            let filled = filled.ok_or_else(|| refused("an item is not understood"))?;
            return self.put(filled, true);
        }
        let first = fates.iter().position(|fate| *fate != Fate::Deleted).unwrap_or(0);
        let base = bases.get(first).ok_or_else(|| refused("an item is not understood"))?;
        let mut source = filled.unwrap_or_else(|| of_file(template, base));
        let edits = edits(item, &base.node);
        for field in &edits {
            match base.node.get(*field) {
                Some(value) if source.kind.admits(*field) => source.node.set(*field, value.clone()),
                _ => drop(source.node.take(*field)),
            }
        }
        for field in [Field::Usage, Field::Raw, Field::RawBytes] {
            source.node.take(field);
        }
        agree(&mut source, &bases);
        self.edited(&source, last, &edits);
        self.changed = true;
        self.put(source, true)
    }

    /// Gives an answer what its turn's result was edited to; false if it was not.
    fn answer(&self, base: &mut Record) -> bool {
        let turn = base.node.json(Field::Turn).and_then(Json::float);
        let Some(turn) = turn.filter(|_| base.node.is(Field::Role, "assistant")) else {
            return false;
        };
        for (number, was, result) in self.results.iter().filter(|(number, ..)| *number == turn) {
            let text = said(&base.node);
            let mut node = Node::default();
            text.into_iter().for_each(|text| node.set(Field::Result, text));
            if *number == turn && print::of_field(&node, Field::Result).as_ref() == Some(was) {
                say(&mut base.node, result);
                return true;
            }
        }
        false
    }

    fn deleted(&mut self, template: &Json) -> Result<()> {
        let own = |name| template.member(name).filter(|id| id.as_bytes().first() == Some(&b'"'));
        if let Some(id) = own("id") {
            self.moved.insert(id, own("parent"));
        }
        let kind = template.member("kind").and_then(|kind| kind.text()).unwrap_or_default();
        self.say(Code::ResidueDeleted, &format!("a {kind} was deleted"), None);
        self.changed = true;
        Ok(())
    }

    /// Puts what is new before record `end` of the file.
    fn flush(&mut self, end: u32) -> Result<()> {
        while let Some(entry) = self.news.first_entry().filter(|entry| *entry.key() < end) {
            let (number, known) = entry.remove_entry();
            let fresh = known.is_none();
            let mut record = match known {
                Some(record) => record,
                None => canonical::record(&self.now.shelf.line(number)?)?,
            };
            if is_nothing(&mut record) {
                continue;
            }
            if fresh {
                let message = format!("{} is new", record.told());
                self.say(Code::ResidueAdded, &message, Some(number));
            }
            if record.is_node() {
                let line = self.now.shelf.line(number)?;
                let id = Json::string(&format!("{:08x}", hash(&line) >> 32));
                let before = self.tip.replace(id.clone());
                let parent = before.clone().unwrap_or(Json::constant("null"));
                self.bent = Some((self.bent.take().map_or(before, |(from, _)| from), id.clone()));
                record.node.take(Field::IdMade);
                record.node.set(Field::Id, id);
                record.node.set(Field::Parent, parent);
                if let (None, Some(time)) = (record.node.json(Field::Time), &self.time) {
                    record.node.set(Field::Time, time.clone());
                }
            }
            self.changed = true;
            self.shelf.add(&record)?;
        }
        Ok(())
    }

    /// Puts a record of the source; `shown` is one that the file shows.
    fn put(&mut self, mut record: Record, shown: bool) -> Result<()> {
        self.time = record.node.json(Field::Time).or(self.time.as_ref()).cloned();
        if record.is_node() {
            let mut parent = record.node.json(Field::Parent).cloned();
            // No way up is longer, unless the residue leads in a circle.
            for _ in 0..self.moved.len() {
                let above = parent.as_ref().and_then(|id| self.moved.get(id));
                let Some(above) = above else { break };
                parent = Some(above.clone().unwrap_or(Json::constant("null")));
            }
            if shown
                && let Some((from, to)) = &self.bent
                && parent.as_ref().filter(|id| !id.is_null()) == from.as_ref()
            {
                parent = Some(to.clone());
                self.bent = None;
            }
            parent.into_iter().for_each(|parent| record.node.set(Field::Parent, parent));
            if shown {
                self.tip = record.node.json(Field::Id).cloned();
            }
        }
        self.shelf.add(&record)
    }

    fn place(&self, number: u32) -> Position {
        self.now.places.get(number as usize).copied().unwrap_or_default()
    }

    fn edited(&self, record: &Record, number: u32, edits: &[Field]) {
        let names: Vec<_> = edits.iter().map(|field| field.name()).collect();
        let what = if names.is_empty() { String::new() } else { format!(": {}", names.join(", ")) };
        let message = format!("{} was edited{what}", record.told());
        self.say(Code::ResidueEdited, &message, Some(number));
    }

    fn say(&self, code: Code, message: &str, number: Option<u32>) {
        let found = Diagnostic::new(code, message);
        let place = number.map(|number| self.place(number));
        self.cx.report(match place {
            Some(place) => found.at(place),
            None => found,
        });
    }
}

fn record(line: Vec<u8>) -> Result<Record> {
    canonical::record(&Bytes::from(line)).map_err(|_| refused("an item is no record"))
}

fn line(record: &Record) -> Json {
    let mut line = Vec::new();
    canonical::line(record, &mut line);
    line.pop();
    Json::checked(line.into())
}

/// The fields that a person changed: those whose hash is another one, and those that are new.
fn edits(item: &Json, now: &Node) -> Vec<Field> {
    let was = item.member("was");
    let was: Vec<_> = was.iter().flat_map(members).collect();
    let mut edits = Vec::new();
    for (name, print) in was {
        // Fields of one name share their meaning in any one kind of record.
        let Some(name) = name.text() else { continue };
        let held = now.fields().find(|field| field.name() == name);
        let Some(field) = held.or_else(|| Field::named(name.as_bytes()).next()) else { continue };
        if print::of_field(now, field) != print.text() {
            edits.push(field);
        }
    }
    edits
}

/// A record whose template cannot be filled: what the file says, in the place of the source's.
fn of_file(template: &Json, base: &Record) -> Record {
    let mut record = base.clone();
    record.node.take(Field::IdMade);
    for field in [Field::Id, Field::Parent, Field::Time] {
        let own = template.member(field.name());
        if let Some(own) = own.filter(|own| own.as_bytes().first() != Some(&b'{')) {
            record.node.set(field, own);
        }
    }
    record
}

/// Sees to it that a message says what the file's messages say.
fn agree(source: &mut Record, bases: &[Record]) {
    if source.kind != Kind::Message || bases.iter().any(|base| base.kind == Kind::Compaction) {
        return;
    }
    let mut file = Node::default();
    let mut blocks = Vec::new();
    for base in bases.iter().filter(|base| base.kind == Kind::Message) {
        match base.node.get(Field::Content) {
            Some(Value::Nodes(nodes)) => blocks.extend(nodes.iter().cloned()),
            Some(Value::Json(text)) if !text.is_null() => blocks.push(block::text(text.clone())),
            _ => {}
        }
    }
    file.set(Field::Content, blocks.clone());
    let said = |node: &Node| {
        let blocks =
            plain(node, false).and_then(|node| node.nodes(Field::Content).map(<[_]>::to_vec));
        blocks.unwrap_or_default().iter().map(super::align::spelled).collect::<Vec<_>>()
    };
    let mut own = Node::default();
    source.node.get(Field::Content).into_iter().for_each(|v| own.set(Field::Content, v.clone()));
    if said(&own) != said(&file) {
        source.node.set(Field::Content, blocks);
    }
}

/// The text of a message, if it is nothing but text.
fn said(node: &Node) -> Option<Json> {
    match node.get(Field::Content)? {
        Value::Json(text) => Some(text.clone()),
        Value::Nodes(blocks) => block::all_text(blocks),
        Value::Node(_) => None,
    }
}

/// Gives a message another text.
fn say(node: &mut Node, text: &Json) {
    let Some(Value::Nodes(blocks)) = node.get_mut(Field::Content) else {
        return node.set(Field::Content, text.clone());
    };
    let is_text = |block: &Node| block.is(Field::Type, block::TEXT);
    if let Some(first) = blocks.iter().position(is_text) {
        let mut place = 0;
        blocks.retain(|block| {
            place += 1;
            place <= first + 1 || !is_text(block)
        });
        if let Some(block) = blocks.get_mut(first) {
            block.set(Field::Text, text.clone());
        }
    }
}

/// Whether a new record says nothing of the session: a blank line, or how the file ends.
fn is_nothing(record: &mut Record) -> bool {
    match record.kind {
        Kind::Session => {
            [Field::File, Field::Leaf, Field::Source]
                .iter()
                .for_each(|f| drop(record.node.take(*f)));
            record.node.is_empty()
        }
        Kind::Opaque => record.node.text(Field::Text).is_some_and(|text| text.trim().is_empty()),
        _ => false,
    }
}
