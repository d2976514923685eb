//! Records of the source that the file shows, as they were or edited, and what the target computed
//! of them.

use super::{Back, line, record};
use crate::diagnostic::{self, Code};
use crate::error::Result;
use crate::json::Json;
use crate::record::{Field, Kind, Node, Record, Value};
use crate::residue::align::Tag;
use crate::residue::blocks;
use crate::residue::fates::Fate;
use crate::residue::fill::{fill, fill_rest, members};
use crate::residue::home::{at_home, call_of, mend, whole};
use crate::residue::pack::refused;
use crate::residue::said::{Agreed, Answer, agree, edits, respelled, unknown};
use crate::residue::share::{self, Part};
use crate::residue::signed;
use crate::residue::words::heard;
use crate::times;

impl Back<'_> {
    /// A record that the target computed: nothing of the source, unless it was edited.
    pub(super) fn derived(&mut self, item: &Json, fate: Fate, tag: Option<Tag>) -> Result<()> {
        let number = match fate {
            Fate::Same(number) => return self.pass(number),
            Fate::Edited(number) => number,
            Fate::Deleted => {
                if tag == Some(Tag('T')) {
                    self.again(Code::ResidueDeleted, "a turn was deleted".to_owned());
                }
                return Ok(());
            }
        };
        let now = self.now.record(number)?;
        let edits = edits(item, &now, None);
        // What a state says beside its messages its software writes anew.
        if now.kind != Kind::Snapshot && !edits.contains(&Field::Extra) {
            self.homeless(item, &now, &Record::new(now.kind), number);
        }
        self.unplaced(item, &now, number);
        if edits.is_empty() {
            return Ok(());
        }
        let mut record = Record::new(now.kind);
        for field in [Field::Number, Field::Turn, Field::Role, Field::Content].iter().chain(&edits)
        {
            now.node.get(*field).into_iter().for_each(|v| record.node.set(*field, v.clone()));
        }
        if now.kind == Kind::Turn {
            let turn = self.turn(&now, number);
            self.turned.take(turn, item, &mut record);
            // A turn shows its calls in short; the messages hold them.
            record.node.take(Field::ToolsCalled);
        }
        self.edited(&now, number, &edits);
        let told = record.node.fields().any(|field| !matches!(field, Field::Number | Field::Turn));
        if told {
            self.news.insert(number, Some(record));
        }
        self.changed = true;
        Ok(())
    }

    /// What [`bases`](Self::bases) gives, with an answer that others share as the item's part of it.
    fn shown_by(
        &mut self,
        item: &Json,
        fates: &[Fate],
    ) -> Result<(Vec<Record>, bool, u32, Option<Part>)> {
        let of = item.member(share::KEY);
        // There may be very many parts of one answer. A turn that was edited may change what it says.
        if let (Some(of), [fate @ (Fate::Same(number) | Fate::Edited(number))]) = (&of, fates)
            && let Some((base, part)) = self.parted.held(*number, of)
            && self.turned.is_empty()
        {
            return Ok((vec![base], matches!(fate, Fate::Edited(_)), *number, Some(part)));
        }
        let (mut bases, edited, last) = self.bases(fates)?;
        let part = match (of, bases.as_mut_slice()) {
            (Some(of), [base]) => Some(self.parted.part(last, &of, base)),
            _ => None,
        };
        Ok((bases, edited, last, part))
    }

    /// Says what a person set of a run or its outcome that the target computed without.
    fn unplaced(&self, item: &Json, now: &Record, number: u32) {
        if !matches!(now.kind, Kind::Run | Kind::Result) {
            return;
        }
        for field in unknown(item, now) {
            let (kind, name) = (now.kind.name(), field.name());
            self.drop(&format!("{kind}.{name}"));
            let message = format!("`{name}` of the {kind} has no place at home");
            self.say(Code::Dropped, &message, Some(number));
        }
    }

    /// What the target computed is nothing of the source, but a new entry may follow it.
    fn pass(&mut self, number: u32) -> Result<()> {
        if self.kin.tree {
            self.kin.pass(&self.now.record(number)?);
        }
        Ok(())
    }

    /// A record of the source that the file shows.
    pub(super) fn told(&mut self, item: &Json, template: &Json, fates: &[Fate]) -> Result<()> {
        let (bases, mut edited, last, part) = self.shown_by(item, fates)?;
        self.flush(last)?;
        self.show(&bases, last);
        match part {
            Some(Part::Gone) => return self.deleted(template),
            Some(Part::Same) => {
                edited &= bases.first().is_some_and(|base| !edits(item, base, None).is_empty());
            }
            Some(Part::Edited) | None => {}
        }
        let lines: Vec<Json> = bases.iter().map(line).collect();
        let filled = fill(template, &lines).and_then(|line| record(line).ok());
        if self.kin.tree && filled.as_ref().is_some_and(|record| !record.is_node()) {
            bases.iter().for_each(|base| self.kin.pass(base));
        }
        if !edited {
            let filled = filled.ok_or_else(|| refused("an item is not understood"))?;
            return self.put(filled, true);
        }
        let first = fates.iter().position(|fate| *fate != Fate::Deleted).unwrap_or(0);
        let base = bases.get(first).ok_or_else(|| refused("an item is not understood"))?;
        let whole = filled.is_some();
        let mut source = match filled {
            Some(filled) => filled,
            None => record(fill_rest(template, &lines))?,
        };
        let mut edits = edits(item, base, Some(&source.node));
        if source.kind == Kind::Session && is_forked(&edits, base) {
            edits.retain(|field| base.node.get(*field).is_some());
            self.left_out(template, &source.node, last);
        }
        if source.kind == Kind::Session && edits.contains(&Field::Id) {
            let id = |node: &Node| node.json(Field::Id).cloned();
            self.renamed = id(&source.node).zip(id(&base.node));
        }
        for field in &edits {
            match base.node.get(*field) {
                Some(value) if source.kind.admits(*field) => {
                    let value = respelled(value, source.node.get(*field));
                    source.node.set(*field, value);
                }
                _ => drop(source.node.take(*field)),
            }
        }
        if template.member(Field::Time.name()).is_some() && source.node.get(Field::Time).is_none() {
            // Only another part of the file told of it, and that is gone.
            let own = source.node.json(Field::MessageTime).and_then(times::of_millis);
            let own = own.map(|time| Json::string(&times::with_millis(time)));
            own.into_iter().for_each(|time| source.node.set(Field::Time, time));
            self.date(&mut source.node, None);
        }
        for field in [Field::Usage, Field::Raw, Field::RawBytes] {
            source.node.take(field);
        }
        // What the file has just so may be of another place, and in the form that it has there.
        let file: Vec<_> =
            bases.iter().flat_map(|base| blocks::of(base.node.get(Field::Content))).collect();
        let mut held = blocks::of(source.node.get(Field::Content));
        held.retain(|block| !file.contains(block));
        let says = self.agree(&mut source, &bases, (item, last));
        self.mend(&mut source, Some(held.as_slice()).filter(|_| says || !whole));
        self.answer = Answer::of(item, &bases);
        self.homeless(item, base, &source, last);
        self.edited(&source, last, &edits);
        self.changed = true;
        self.put(source, true)
    }

    /// Sees to it that a record says what the file's records say; whether it did not, and what went.
    fn agree(&self, source: &mut Record, bases: &[Record], (item, number): (&Json, u32)) -> bool {
        if self.home.is_some_and(|home| heard(source, bases, home)) {
            return false;
        }
        let hidden = signed::unsigned(item, source);
        let Agreed { differed, unsigned, command } = agree(source, bases);
        let unsigned = unsigned + hidden;
        (0..unsigned).for_each(|_| self.drop("message.content.*.signature"));
        if unsigned > 0 {
            let message = "a signature signs words that were edited, and is left out";
            self.say(Code::Dropped, message, Some(number));
        }
        if let Some(Value::Node(command)) = command {
            let fields: Vec<_> = command.fields().map(Field::name).collect();
            fields.iter().for_each(|name| self.drop(&format!("message.bash.{name}")));
            let message = format!(
                "the words of a command were edited so that it is none any more; its {} are lost",
                fields.join(", ")
            );
            self.say(Code::Dropped, &message, Some(number));
        }
        differed
    }

    fn drop(&self, path: &str) {
        self.cx.log.count(diagnostic::Fate::Dropped, path);
    }

    /// Says what the head of a fork does not tell that its session's did, where nothing else does.
    fn left_out(&mut self, template: &Json, session: &Node, number: u32) {
        for (name, _) in members(template) {
            let Some(name) = name.text() else { continue };
            let mut fields = Field::named(name.as_bytes()).filter(|f| Kind::Session.admits(*f));
            let Some(field) = fields.next().filter(|field| session.get(*field).is_none()) else {
                continue;
            };
            if field == Field::SystemPrompt {
                self.cut.lose_prompt();
            }
            self.cx.log.count(diagnostic::Fate::Dropped, &format!("session.{name}"));
            let message = format!("whoever forked the session left out its {name}, which is lost");
            self.say(Code::Dropped, &message, Some(number));
        }
    }

    /// What is told next is what the file shows by these records, up to number `last`.
    fn show(&mut self, bases: &[Record], last: u32) {
        self.shown = (Vec::new(), None);
        if self.kin.tree || self.kin.stands() || self.summed.asks() {
            let names = bases.iter().filter_map(|base| base.node.json(Field::Id).cloned());
            // What is new before an answer is new before the first part of it.
            let first = bases.first().filter(|_| self.last != Some(last));
            let before = first.and_then(|base| self.kin.new_before(base));
            self.shown = (names.collect(), before.cloned());
        }
        self.last = Some(last);
    }

    /// Sees to it that the source's software finds in an edited message what it looks for.
    /// `held` is what it said before, if that is not what it says now.
    fn mend(&self, source: &mut Record, held: Option<&[Node]>) {
        if !self.retold.tells(source) {
            source.node.take(Field::Synthesized);
        }
        let home = self.home.filter(|_| source.kind == Kind::Message);
        let call = call_of(&source.node, &self.called);
        let made = home.map(|home| at_home(home, call, source)).unwrap_or_default();
        if let Some(made) = whole(made) {
            mend(source, &made, held);
        }
    }

    fn edited(&self, record: &Record, number: u32, edits: &[Field]) {
        let names: Vec<_> = edits.iter().map(|field| field.name()).collect();
        let what = if names.is_empty() { String::new() } else { format!(": {}", names.join(", ")) };
        let message = format!("{} was edited{what}", record.told());
        self.say(Code::ResidueEdited, &message, Some(number));
    }
}

/// Whether the head of a session was written anew, for one that goes on from it: what its software
/// has no place for there nobody took away.
fn is_forked(edits: &[Field], session: &Record) -> bool {
    edits.contains(&Field::Id) && session.node.get(Field::ParentSession).is_some()
}
