//! Records of the source that the file shows, unchanged or edited, and records that the target's
//! writer computed from them.

use super::Merger;
use super::message_edits::{Agreed, Answer, agree, edited as edited_value, edits, unknown};
use super::native_form::{call_of, in_source_format, mend, whole};
use super::wording::reword;
use crate::diagnostic::{self, Code};
use crate::error::Result;
use crate::origin::matching::align::Tag;
use crate::origin::matching::outcomes::Match;
use crate::origin::matching::shared_answers::{Part, Share};
use crate::record::{Field, Kind, Node, Record, Value};

impl Merger<'_> {
    /// Handles a record that the target's writer computed, which changes the source only if it was
    /// edited.
    pub(super) fn derived(&mut self, base: u32, found: Match) -> Result<()> {
        let number = match found {
            Match::Same(number) => return self.pass(number),
            Match::Edited(number) => number,
            Match::Deleted => {
                if self.base.tag(base) == Some(Tag('T')) {
                    self.again(Code::OriginDeleted, "a turn was deleted".to_owned());
                }
                return Ok(());
            }
        };
        let (was, now) = (self.base.record(base)?, self.now.record(number)?);
        if now.kind == Kind::SessionInfo {
            // Another name is a new one.
            self.added.insert(number, None);
            self.changed = true;
            return Ok(());
        }
        let mut edits = edits(&was, &now, None);
        edits.retain(|field| !self.is_set_by_agent(*field, &now));
        // The agent rewrites the extra members of a state.
        if now.kind != Kind::Snapshot {
            self.edit_extra(Some(&was), &now, &mut Record::new(now.kind), number);
        }
        self.unplaced(&was, &now, number);
        if edits.is_empty() {
            return Ok(());
        }
        let mut record = Record::new(now.kind);
        for field in [Field::Number, Field::Turn, Field::Role, Field::Content].iter().chain(&edits)
        {
            record.node.put(*field, now.node.get(*field).cloned());
        }
        if now.kind == Kind::Turn {
            let turn = self.turn(&now, number);
            self.edited_turns.take(turn, &was, &mut record);
            // A turn shows its calls in short; the messages hold them.
            record.node.take(Field::ToolsCalled);
        }
        self.edited(&now, number, &edits);
        let has_content =
            record.node.fields().any(|field| !matches!(field, Field::Number | Field::Turn));
        if has_content {
            self.added.insert(number, Some(record));
        }
        self.changed = true;
        Ok(())
    }

    /// Returns the records of [`bases`](Self::bases), with a shared answer reduced to the item's
    /// part of it.
    fn shown_by(
        &mut self,
        share: Option<&Share>,
        outcomes: &[Match],
    ) -> Result<(Vec<Record>, bool, u32, Option<Part>)> {
        // One answer may have very many parts. An edited turn may change the text of an answer.
        if let (Some(share), [found @ (Match::Same(number) | Match::Edited(number))]) =
            (share, outcomes)
            && let Some((base, part)) = self.parted.held(*number, share)
            && self.edited_turns.is_empty()
        {
            return Ok((vec![base], matches!(found, Match::Edited(_)), *number, Some(part)));
        }
        let (mut bases, edited, last) = self.bases(outcomes)?;
        let part = match (share, bases.as_mut_slice()) {
            (Some(share), [base]) => Some(self.parted.part(last, share, base)),
            _ => None,
        };
        Ok((bases, edited, last, part))
    }

    /// Reports fields that the user added to a run or its outcome, where the target's writer
    /// computed the record without them.
    fn unplaced(&self, was: &Record, now: &Record, number: u32) {
        if !matches!(now.kind, Kind::Run | Kind::Result) {
            return;
        }
        for field in unknown(was, now) {
            let (kind, name) = (now.kind.name(), field.name());
            self.drop(&format!("{kind}.{name}"));
            let message = format!("`{name}` of the {kind} has no place in the source format");
            self.report(Code::Dropped, &message, Some(number));
        }
    }

    /// Notes an entry that the target's writer computed: it is not in the source, but a new entry
    /// may follow it.
    fn pass(&mut self, number: u32) -> Result<()> {
        if self.parent_links.tree {
            self.parent_links.pass(&self.now.record(number)?);
        }
        Ok(())
    }

    /// Writes a record of the source that the file shows, with the edits of the file.
    pub(super) fn write_shown(
        &mut self,
        mut source: Record,
        (of, share): (&[u32], Option<&Share>),
        outcomes: &[Match],
    ) -> Result<()> {
        let (bases, mut edited, last, part) = self.shown_by(share, outcomes)?;
        self.flush(last)?;
        self.show(&bases, last);
        let numbers = outcomes.iter().filter_map(|found| match found {
            Match::Same(number) | Match::Edited(number) => Some(*number),
            Match::Deleted => None,
        });
        if let Some(taken) = &mut self.taken_back {
            numbers.for_each(|number| match source.kind {
                Kind::Compaction => taken.list(number),
                _ => taken.show(number, source.node.json(Field::Id)),
            });
        }
        self.summed.leave_behind(last, &source);
        if part == Some(Part::Empty) {
            return self.deleted(&source);
        }
        if self.parent_links.tree && !source.is_node() {
            bases.iter().for_each(|base| self.parent_links.pass(base));
        }
        let first = outcomes.iter().position(|found| *found != Match::Deleted).unwrap_or(0);
        let (Some(base), Some(was), true) = (bases.get(first), of.get(first), edited) else {
            return self.put(source, true);
        };
        let was = self.base.record(*was)?;
        if part == Some(Part::Same) {
            edited = !edits(&was, base, None).is_empty();
        }
        if !edited {
            return self.put(source, true);
        }
        let mut edits = edits(&was, base, Some(&source.node));
        edits.retain(|field| !self.is_filled(*field, &was));
        if edits.is_empty() && self.are_all_filled(&was, base) {
            return self.put(source, true);
        }
        if source.kind == Kind::Session && is_forked(&edits, base) {
            edits.retain(|field| base.node.get(*field).is_some());
            self.remove_omitted(&mut source.node, (&was.node, &base.node), last);
        }
        if source.kind == Kind::Session && edits.contains(&Field::Id) {
            let id = |node: &Node| node.json(Field::Id).cloned();
            self.renamed = id(&source.node).zip(id(&base.node));
        }
        let own = source.node.clone();
        for field in &edits {
            match base.node.get(*field) {
                Some(value) if source.kind.admits(*field) => {
                    let value = edited_value(source.node.get(*field), was.node.get(*field), value);
                    source.node.set(*field, value);
                }
                _ => drop(source.node.take(*field)),
            }
        }
        let held = self.agree(&mut source, &was, &bases, last);
        self.mend(&mut source, held.as_deref(), &own);
        let all = of.iter().map(|number| self.base.record(*number)).collect::<Result<Vec<_>>>()?;
        self.answer = Answer::of(&all, &bases);
        self.edit_extra(Some(&was), base, &mut source, last);
        self.edited(&source, last, &edits);
        self.changed = true;
        self.put(source, true)
    }

    /// Gives a record the content of the file's records, the first of which was `was`. Returns the
    /// blocks that come from the source, if the record got others.
    fn agree(
        &self,
        source: &mut Record,
        was: &Record,
        bases: &[Record],
        number: u32,
    ) -> Option<Vec<Node>> {
        if self.source_format.is_some_and(|format| reword(source, was, bases, format)) {
            return None;
        }
        let Agreed { unsigned, command, held } = agree(source, bases);
        (0..unsigned).for_each(|_| self.drop("message.content.*.signature"));
        if unsigned > 0 {
            let message = "the signature belongs to a text that was edited, and is left out";
            self.report(Code::Dropped, message, Some(number));
        }
        if let Some(Value::Node(command)) = command {
            let fields: Vec<_> = command.fields().map(Field::name).collect();
            fields.iter().for_each(|name| self.drop(&format!("message.bash.{name}")));
            let message = format!(
                "the text of a command was edited and is no longer a command; its {} are lost",
                fields.join(", ")
            );
            self.report(Code::Dropped, &message, Some(number));
        }
        held
    }

    fn drop(&self, path: &str) {
        self.cx.log.count(diagnostic::FieldOutcome::Dropped, path);
    }

    /// Removes the fields from the session that its head contained before it was forked and no
    /// longer contains, and reports them.
    fn remove_omitted(&mut self, session: &mut Node, (was, head): (&Node, &Node), number: u32) {
        let gone = |field: &Field| was.get(*field).is_some() && head.get(*field).is_none();
        for field in session.fields().filter(gone).collect::<Vec<_>>() {
            session.take(field);
            let name = field.name();
            if field == Field::SystemPrompt {
                self.deletions.lose_prompt();
            }
            self.cx.log.count(diagnostic::FieldOutcome::Dropped, &format!("session.{name}"));
            let message =
                format!("a fork of the session does not contain its {name}, which is lost");
            self.report(Code::Dropped, &message, Some(number));
        }
    }

    /// Notes that the file shows the next record by these records, up to number `last`.
    fn show(&mut self, bases: &[Record], last: u32) {
        self.shown = (Vec::new(), None);
        if self.parent_links.tree
            || self.parent_links.names_new_leaf()
            || self.summed.needs_origins()
        {
            let names = bases.iter().filter_map(|base| base.node.json(Field::Id).cloned());
            // A new entry before an answer comes before its first part.
            let first = bases.first().filter(|_| self.last != Some(last));
            let before = first.and_then(|base| self.parent_links.new_before(base));
            self.shown = (names.collect(), before.cloned());
        }
        self.last = Some(last);
    }

    /// Completes an edited message, which was `own`, with what the source's agent requires. `held`
    /// contains the blocks that come from the source, if the message got others.
    fn mend(&self, source: &mut Record, held: Option<&[Node]>, own: &Node) {
        if !self.restored_texts.has_edits_for(source) {
            source.node.take(Field::Synthesized);
        }
        let source_format = self.source_format.filter(|_| source.kind == Kind::Message);
        let call = call_of(&source.node, &self.called);
        let made = source_format
            .map(|to| in_source_format(to, self.new_turns.session(), call, source))
            .unwrap_or_default();
        if let Some(made) = whole(made) {
            // A message of the source's own agent has the fields that this agent gives it.
            let is_own = !own.is_true(Field::Synthesized)
                && own.json(Field::Role) == source.node.json(Field::Role);
            mend(source, &made, held, &|field| !is_own || own.get(field).is_some());
        }
    }

    fn edited(&self, record: &Record, number: u32, edits: &[Field]) {
        let names: Vec<_> = edits.iter().map(|field| field.name()).collect();
        let what = if names.is_empty() { String::new() } else { format!(": {}", names.join(", ")) };
        let message = format!("{} was edited{what}", record.description());
        self.report(Code::OriginEdited, &message, Some(number));
    }
}

/// Whether the head of a session was rewritten for a fork of it: fields that the agent has no place
/// for there were not removed by the user.
fn is_forked(edits: &[Field], session: &Record) -> bool {
    edits.contains(&Field::Id) && session.node.get(Field::ParentSession).is_some()
}
