//! Merges a file with its origin: record by record, the file's edits win.

mod additions;
mod apply;
pub mod block_edits;
mod deletions;
mod edited_turns;
mod message_edits;
mod models;
pub mod native_form;
mod new_records;
pub mod new_turns;
mod repeated_answers;
mod restored_texts;
pub mod taken_back;
mod trailing_state;
mod wording;

use crate::diagnostic::{Code, Diagnostic};
use crate::error::Result;
use crate::format::{Cx, Parts};
use crate::formats::{Spec, canonical};
use crate::json::Json;
use crate::origin::base::{Base, Item};
use crate::origin::file_records::FileRecords;
use crate::origin::matching::align::Tag;
use crate::origin::matching::branches::AT_END;
use crate::origin::matching::compactions::Summed;
use crate::origin::matching::outcomes::Match;
use crate::origin::matching::parent_links::ParentLinks;
use crate::origin::matching::shared_answers::Parted;
use crate::origin::merge::deletions::Deletions;
use crate::origin::merge::edited_turns::{EditedTurns, Repeated};
use crate::origin::merge::message_edits::{Answer, agree};
use crate::origin::merge::native_form::pass;
use crate::origin::merge::new_turns::NewTurns;
use crate::origin::merge::taken_back::TakenBack;
use crate::origin::merge::trailing_state::Tail;
use crate::origin::record_store::RecordStore;
use crate::record::{Answers, Called, Field, Kind, Record};
use additions::Omitted;
use models::Models;
use repeated_answers::Repeats;
use restored_texts::{RestoredTexts, Turn, nth};
use std::collections::{BTreeMap, HashMap};

/// Merger, which makes the records of the source from a file and its origin.
pub struct Merger<'n> {
    now: &'n mut FileRecords,
    base: &'n mut Base,
    outcomes: Vec<Match>,
    /// New records of the file in their order, and edits of records that the target's writer
    /// computed.
    added: BTreeMap<u32, Option<Record>>,
    store: RecordStore,
    cx: &'n Cx<'n>,
    changed: bool,
    /// The parents of nodes that were deleted.
    moved: HashMap<Json, Option<Json>>,
    /// The last node that the file shows.
    last_shown: Option<Json>,
    /// Last node of the source, or the new node behind it: the leaf of a session that names none.
    end: Option<Json>,
    has_leaf: bool,
    /// Last time of a record.
    time: Option<Json>,
    /// New compactions of the file, and records of the file that count as edited because another
    /// record was edited.
    summed: Summed,
    /// Two nodes, of which the second is new: nodes that followed the first one follow the second
    /// one.
    reparented: Option<(Option<Json>, Json)>,
    edited_turns: EditedTurns,
    repeated: Repeated,
    restored_texts: RestoredTexts,
    repeats: Repeats,
    /// The last answer that was edited.
    answer: Option<Answer>,
    called: Called,
    new_turns: NewTurns,
    tail: Tail,
    deletions: Deletions,
    parent_links: ParentLinks,
    parted: Parted,
    models: Models,
    whole: Option<Answers>,
    /// Number of the last record of the file that an item showed.
    last: Option<u32>,
    /// Identifiers in the file of the next record, and the new entry before that.
    shown: (Vec<Json>, Option<Json>),
    /// Source format and its version.
    source_format: Option<Spec>,
    /// Findings that are reported once, and their number of occurrences.
    often: Vec<(Code, String, u64)>,
    omitted: Omitted,
    /// Last number of a line, where the lines of the source have numbers.
    number: Option<u64>,
    /// Old and new identifier of the session.
    renamed: Option<(Json, Json)>,
    /// Whether the source has records at the beginning of turns.
    marks_turns: bool,
    /// Turns of the source that the file left, and that the source's agent takes back.
    pub taken_back: Option<TakenBack>,
}

/// Merged records of the source.
pub struct Done {
    /// The records.
    pub store: RecordStore,
    /// Whether anything was edited, deleted or added.
    pub changed: bool,
    /// New compactions, and the records of the file that change by them or by edits of other
    /// records.
    pub summed: Summed,
}

impl<'n> Merger<'n> {
    /// Creates a merger before its first item.
    pub fn new(
        (now, base): (&'n mut FileRecords, &'n mut Base),
        parent_links: ParentLinks,
        (outcomes, added): (Vec<Match>, Vec<u32>),
        summed: Summed,
        store: RecordStore,
        cx: &'n Cx<'n>,
    ) -> Self {
        let changed = !added.is_empty();
        let added = added.into_iter().map(|number| (number, None)).collect();
        Self {
            now,
            base,
            outcomes,
            added,
            store,
            cx,
            changed,
            moved: HashMap::new(),
            last_shown: None,
            end: None,
            has_leaf: false,
            time: None,
            summed,
            reparented: None,
            edited_turns: EditedTurns::default(),
            repeated: Repeated::default(),
            restored_texts: RestoredTexts::default(),
            repeats: Repeats::default(),
            answer: None,
            called: Called::default(),
            new_turns: NewTurns::default(),
            parent_links,
            parted: Parted::default(),
            models: Models::default(),
            whole: None,
            last: None,
            shown: (Vec::new(), None),
            tail: Tail::default(),
            deletions: Deletions::default(),
            source_format: None,
            renamed: None,
            marks_turns: false,
            taken_back: None,
            often: Vec::new(),
            omitted: Omitted::default(),
            number: None,
        }
    }

    /// Merges all items of the source.
    pub fn all(mut self, stream: &mut dyn Parts, quiet: &Cx<'_>) -> Result<Done> {
        let mut items = self.base.items(canonical::FORMAT.records(stream, quiet)?);
        while let Some(item) = self.base.next(&mut items)? {
            self.look(&item)?;
        }
        drop(items);
        let mut items = self.base.items(canonical::FORMAT.records(stream, quiet)?);
        while let Some(item) = self.base.next(&mut items)? {
            self.item(item)?;
        }
        drop(items);
        self.finish()
    }

    /// Looks at an item before all are merged: an edit of a text that a turn repeats is an edit of
    /// the turn, which comes before it.
    fn look(&mut self, item: &Item) -> Result<()> {
        let Some(source) = &item.source else { return Ok(()) };
        let is_turn = source.kind == Kind::Turn;
        let restored = source.is_restored();
        if source.kind == Kind::Message {
            self.look_at_words(&item.bases, source, restored)?;
        }
        let outcomes = self.outcomes(&item.bases);
        let tag = item.bases.first().and_then(|first| self.base.tag(*first));
        self.deletions.look(source, tag, &outcomes);
        if let (Some(share), [Match::Edited(number)]) = (&item.share, outcomes.as_slice()) {
            self.parted.look(*number, share);
        }
        let gone = !outcomes.is_empty() && outcomes.iter().all(|found| *found == Match::Deleted);
        // A question that its turn contains, too, would be restored from there.
        let asked = tag == Some(Tag('u'));
        if gone && (asked || restored) {
            let turn = source.node.json(Field::Turn);
            let turn = turn.filter(|_| asked || tag == Some(Tag('a')));
            turn.into_iter().for_each(|turn| self.restored_texts.erase(turn, asked));
            return Ok(());
        }
        if !(is_turn || restored) {
            return Ok(());
        }
        if let (Some(Tag('T')), Some(Match::Edited(number)), Some(base)) =
            (tag, outcomes.first(), item.bases.first())
        {
            let (was, now) = (self.base.record(*base)?, self.now.record(*number)?);
            let turn = self.turn(&now, *number);
            let repeated = self.repeated.of(turn, self.now)?;
            self.edited_turns.look(turn, &was, &now, &repeated);
        }
        let (bases, edited, _) = self.bases(&outcomes)?;
        if is_turn {
            self.restored_texts.look(Some(source));
        } else if edited {
            let mut source = source.clone();
            agree(&mut source, &bases);
            self.restored_texts.edited(&source);
        }
        Ok(())
    }

    fn outcomes(&self, bases: &[u32]) -> Vec<Match> {
        let found = |number: &u32| self.outcomes.get(*number as usize).copied();
        bases.iter().map(|number| found(number).unwrap_or(Match::Deleted)).collect()
    }

    /// Returns the file's records of an item, whether one of them changed, and the number of the
    /// last one.
    fn bases(&mut self, outcomes: &[Match]) -> Result<(Vec<Record>, bool, u32)> {
        let mut bases = Vec::new();
        let (mut edited, mut last) = (outcomes.contains(&Match::Deleted), 0);
        for found in outcomes {
            let (Match::Same(number) | Match::Edited(number)) = *found else {
                bases.push(Record::new(Kind::Opaque));
                continue;
            };
            let mut base = self.now.record(number)?;
            let own = matches!(found, Match::Edited(_));
            edited |= own;
            if self.edited_turns.edit(&mut base, own) {
                edited = true;
                self.summed.replacements.insert(number, base.clone());
            }
            bases.push(base);
            last = number;
        }
        Ok((bases, edited, last))
    }

    /// Merges the next item.
    fn item(&mut self, item: Item) -> Result<()> {
        let outcomes = self.outcomes(&item.bases);
        let Item { source, bases, share } = item;
        let Some(source) = source else {
            let found = outcomes.first().copied().unwrap_or(Match::Deleted);
            if let Match::Same(number) = found {
                self.omit_addition(number)?;
            }
            return bases.first().map_or(Ok(()), |base| self.derived(*base, found));
        };
        self.deletions.next();
        if outcomes.is_empty() {
            let tree = self.source_format.is_none_or(|source_format| source_format.format.links());
            if !self.deletions.takes(&source, tree) {
                // The source counts as one without this message, as the file has none.
                let additions = self.source_format.and_then(|spec| spec.format.agent.additions);
                if source.kind == Kind::Message && additions.is_some_and(|of| of(&source).is_some())
                {
                    self.summed.omit(&source);
                }
                return self.put(source, false);
            }
            self.move_up(source.node.json(Field::Id).cloned(), source.node.json(Field::Parent));
            self.changed = true;
            return self.deletions.reported_name(&source).map_or(Ok(()), |what| self.lost(what));
        }
        if outcomes.iter().all(|found| *found == Match::Deleted) {
            return self.deleted(&source);
        }
        self.write_shown(source, (&bases, share.as_ref()), &outcomes)
    }

    /// Writes the remaining records behind the last item.
    fn finish(mut self) -> Result<Done> {
        self.flush(u32::MAX)?;
        self.take_back(AT_END)?;
        let leaf = self.parent_links.leaf().filter(|_| self.taken_back.is_none());
        if let Some(leaf) = leaf.filter(|leaf| self.last_shown.as_ref() != Some(*leaf)) {
            self.tail.set_leaf(leaf);
            self.report(
                Code::OriginAdded,
                "the session continues at an entry before the newest records",
                None,
            );
        }
        self.settle_leaf();
        self.report_counted();
        self.report_omitted();
        let mut tail = self.tail.end(&self.new_turns, self.time.as_ref());
        tail.iter_mut().for_each(|record| self.deletions.unprompt(record));
        let mut left = self.new_turns.without_messages();
        left.extend(self.edited_turns.unplaced());
        tail.iter().chain(&left).try_for_each(|record| self.store.add(record))?;
        Ok(Done { store: self.store, changed: self.changed, summed: self.summed })
    }

    /// Sets the leaf of a session whose last node was deleted to the nearest node above it that
    /// remains, so that it is not on another branch that is the last one now.
    fn settle_leaf(&mut self) {
        let says = self.has_leaf || self.parent_links.names_new_leaf();
        let tree = self.source_format.is_some_and(|source_format| source_format.version().tree);
        let gone = self.end.as_ref().filter(|end| tree && !says && self.moved.contains_key(*end));
        if let Some(left) = gone.map(|end| self.remaining_above(end)).filter(|left| !left.is_null())
        {
            self.tail.set_leaf(&left);
        }
    }

    /// Returns the number of a turn of the file, or else its place among the turns.
    fn turn(&self, turn: &Record, number: u32) -> Turn {
        let place = || {
            let turns = self.now.names.iter().take(number as usize + 1);
            nth(turns.filter(|name| name.tag == Tag('T')).count() as u64)
        };
        restored_texts::number(turn, Field::Number).unwrap_or_else(place)
    }

    fn deleted(&mut self, source: &Record) -> Result<()> {
        self.move_up(source.node.json(Field::Id).cloned(), source.node.json(Field::Parent));
        self.deletions.lose();
        self.lost(source.kind.name())
    }

    /// Notes the parent of a deleted node: the node's children follow it now.
    fn move_up(&mut self, id: Option<Json>, parent: Option<&Json>) {
        if let Some(id) = id {
            self.end = Some(id.clone());
            self.moved.insert(id, parent.filter(|parent| !parent.is_null()).cloned());
        }
    }

    fn lost(&mut self, kind: &str) -> Result<()> {
        let article = if kind.starts_with(['a', 'e', 'i', 'o']) { "an" } else { "a" };
        self.again(Code::OriginDeleted, format!("{article} {kind} was deleted"));
        self.changed = true;
        Ok(())
    }

    /// Writes a record of the source. `shown` states whether the file shows it.
    fn put(&mut self, mut record: Record, shown: bool) -> Result<()> {
        self.time = record.node.json(Field::Time).or(self.time.as_ref()).cloned();
        if let Some((old, new)) = &self.renamed
            && record.node.json(Field::Session) == Some(old)
        {
            record.node.set(Field::Session, new.clone());
        }
        if let (Kind::Session, None) = (record.kind, self.source_format) {
            let source = record.node.text(Field::Source);
            self.source_format = source.and_then(|source| Spec::parse(&source).ok());
            self.look_ahead(&mut record.node)?;
            let created = record.node.json(Field::Created).filter(|_| self.time.is_none());
            self.time = created.cloned().or(self.time.take());
        }
        match record.kind {
            Kind::Result | Kind::Run | Kind::Event => {
                self.answer.iter().for_each(|answer| answer.repeat(&mut record));
            }
            Kind::Turn => {
                self.changed |= self.restored_texts.retell(&mut record);
                let turn = self.restored_texts.now(&record);
                self.changed |= turn.is_some_and(|turn| self.repeats.retell(turn, &mut record));
            }
            Kind::Message => pass(&record.node, &mut self.called),
            _ => {}
        }
        if record.is_node() {
            self.end = record.node.json(Field::Id).or(self.end.as_ref()).cloned();
            let parent = record.node.json(Field::Parent);
            let mut parent = parent.map(|parent| self.remaining_above(parent));
            if shown
                && let Some((from, to)) = &self.reparented
                && parent.as_ref().filter(|id| !id.is_null()) == from.as_ref()
            {
                parent = Some(to.clone());
                self.reparented = None;
            }
            let (names, new) = std::mem::take(&mut self.shown);
            record.node.put(Field::Parent, new.filter(|_| shown).or(parent));
            if shown {
                record.node.json(Field::Id).into_iter().for_each(|id| {
                    self.parent_links.place(&names, id);
                    self.summed.place(&names, id);
                });
                self.last_shown = record.node.json(Field::Id).cloned();
                self.tail.shown();
            }
        }
        self.deletions.pass(&record);
        self.deletions.mend(&mut record, &|id| self.remaining_above(id));
        if let Some(leaf) = record.node.json(Field::Leaf).filter(|_| record.kind == Kind::Session) {
            self.has_leaf = true;
            let leaf = self.remaining_above(leaf);
            record.node.set(Field::Leaf, leaf);
        }
        self.new_turns.note(&record);
        self.models.note(&record);
        self.taken_back.iter_mut().for_each(|taken| taken.note(&record, shown));
        let marks = self.source_format.and_then(|spec| Some(spec.format.agent.rewind?.marks));
        self.marks_turns |= marks.is_some_and(|marks| (marks.is)(&record));
        let number = self.source_format.and_then(|spec| spec.format.number);
        let own = number.and_then(|number| number(&mut record, None));
        self.number = own.max(self.number);
        let ready = self.tail.take(record);
        ready.iter().try_for_each(|record| self.store.add(record))
    }

    /// Returns this node of the source, or the nearest one above it that was not deleted.
    fn remaining_above(&self, id: &Json) -> Json {
        let mut id = id.clone();
        // A longer path would lead in a circle of the origin.
        for _ in 0..self.moved.len() {
            let Some(above) = self.moved.get(&id) else { break };
            id = above.clone().unwrap_or(Json::constant("null"));
        }
        id
    }

    fn report(&self, code: Code, message: &str, number: Option<u32>) {
        let place = number.and_then(|number| self.now.places.get(number as usize).copied());
        let found = Diagnostic::new(code, message);
        self.cx.report(place.into_iter().fold(found, |found, place| found.at(place)));
    }
}
