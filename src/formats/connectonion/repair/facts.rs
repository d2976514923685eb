//! Facts about a file that are collected from all of its blocks.

use super::super::file::{Lists, Shape};
use super::block::Kind;
use super::check::{Checked, is_askew, opens_messages};
use super::resume::{self, Resume};
use super::spell::is_notes;
use crate::json::{Json, salvage};
use crate::repair::Pairing;
use bytes::Bytes;
use std::collections::{HashMap, HashSet};
use std::ops::Range;

/// A member of the top; one for each time that it occurs in the file.
#[derive(Debug)]
pub struct Section {
    /// Its name.
    pub name: String,
    /// Number of whole items in the member, or one if it is whole itself.
    pub items: u64,
    /// Whether the member stays: of several members with one name, one stays.
    pub stays: bool,
    /// Whether the member has the name of the notes without being notes.
    not_notes: bool,
}

/// A turn.
#[derive(Debug)]
pub struct Turn {
    section: usize,
    /// The question, as a text.
    pub input: Option<Json>,
    /// The answer, as a text.
    pub result: Option<Json>,
    /// The list of messages, where turns have one.
    pub list: Option<Json>,
    /// Members that the turn lacks.
    pub lacks: Vec<&'static str>,
    /// Members that the turn lacks if it is the last one; behind the last turn the file may have
    /// been cut.
    lacks_last: Vec<&'static str>,
    /// Whether a result is put into the turn's list, or a message removed, that no list before has.
    mends: bool,
}

/// The messages of a turn.
#[derive(Debug, Default)]
pub struct Key {
    section: usize,
    /// The turn's number.
    pub number: u64,
    /// Whether a message of the turn was torn or lost.
    pub lost: bool,
    /// Whether the messages contain one of the user.
    pub has_question: bool,
    /// Whether the last message is an answer.
    pub answered: bool,
    /// Whether the last message calls tools.
    calling: bool,
    /// Whether the line contains the value for no messages.
    pub empty: bool,
    /// Whether the line contains another number.
    pub wrong: bool,
    /// Number of messages that follow.
    pub messages: u64,
}

impl Key {
    fn new(section: usize, number: u64, empty: bool) -> Self {
        Self { section, number, empty, ..Self::default() }
    }
}

/// All facts about a file.
#[derive(Debug)]
pub struct Facts {
    shape: &'static Shape,
    /// The block behind which all blocks are removed, counted from 1.
    end: u64,
    /// Members of the top in their order.
    pub sections: Vec<Section>,
    /// Turns in their order.
    pub turns: Vec<Turn>,
    /// Messages of turns in their order.
    pub keys: Vec<Key>,
    /// Indentation of messages, if there are any.
    pub place: Option<usize>,
    /// Texts that are known to be whole: identifiers of calls, questions.
    known: HashSet<String>,
    /// Number of whole records.
    pub records: u64,
    /// Number of whole messages.
    pub messages: u64,
    /// Whether the file has any damage.
    pub damaged: bool,
    /// Whether any bytes are set aside.
    pub removes: bool,
    /// Number of blocks that are not whole, except the last one.
    pub broken: u64,
    /// Whether the last block is not whole.
    pub torn: bool,
    /// Whether a turn lacks only the line that it began with.
    pub headless: bool,
    /// Whether a member of the top occurs twice.
    pub twice: bool,
    /// Whether only the changes for a model's interface are made, and no repair.
    pub calm: bool,
    /// Whether a line opens the list of turns.
    opened: bool,
    missing: Vec<u64>,
    /// Whether a model's interface must take the messages.
    resumable: bool,
    /// Messages that the model's interface would refuse, by member of the top; `talk` is that of
    /// the member that stays.
    talks: HashMap<usize, Resume>,
    talk: Resume,
}

impl Facts {
    /// Makes facts without blocks, with the indentation of messages. All blocks behind the block
    /// with the number `end`, counted from 1, are removed.
    pub fn new(shape: &'static Shape, resumable: bool, place: Option<usize>, end: u64) -> Self {
        Self {
            shape,
            end,
            sections: Vec::new(),
            turns: Vec::new(),
            keys: Vec::new(),
            place,
            known: HashSet::new(),
            records: 0,
            messages: 0,
            damaged: false,
            removes: false,
            broken: 0,
            torn: false,
            headless: false,
            twice: false,
            calm: false,
            opened: false,
            missing: Vec::new(),
            resumable,
            talks: HashMap::new(),
            talk: Resume::default(),
        }
    }

    /// Returns the kind of the file.
    pub fn shape(&self) -> &'static Shape {
        self.shape
    }

    /// Whether no block that stays comes behind the block of this number.
    pub fn ends(&self, block: u64) -> bool {
        block >= self.end
    }

    /// Whether a text without quotes is known to be whole.
    pub fn is_known(&self, text: &str) -> bool {
        self.known.contains(text)
    }

    /// Adds a block.
    pub fn block(&mut self, kind: &Kind, bytes: &[u8], last: bool, checked: &Checked) {
        let whole = checked.is_all(bytes.len()) && checked.straight.is_none();
        // A turn may be complete except for the line that it began with.
        let left: usize = checked.staying.iter().map(ExactSizeIterator::len).sum();
        let all = left == bytes.len();
        self.damaged |= !whole;
        self.headless |= all && !whole;
        self.removes |= !all;
        self.broken += u64::from(!all && !last);
        self.torn |= !all && last;
        let Some(says) = &checked.content else {
            if kind == &Kind::Message {
                self.lose();
            }
            return;
        };
        if let Kind::Top(name) = kind {
            self.opened |=
                name == "turns" && says.member(name).is_some_and(|turns| turns.is_null());
            let not_notes = name == "copyist" && !is_notes(bytes);
            self.sections.push(Section { name: name.clone(), items: 0, stays: true, not_notes });
        }
        let section = self.sections.len().saturating_sub(1);
        if let Some(section) = self.sections.last_mut() {
            section.items += 1;
        }
        match kind {
            Kind::Turn => self.turn(section, says, bytes, whole),
            Kind::Key(number) => {
                let empty = !opens_messages(bytes);
                let askew = is_askew(bytes);
                self.damaged |= askew;
                self.removes |= askew;
                self.broken += u64::from(askew);
                self.talks.entry(section).or_default().turn();
                let key = Key::new(section, number.parse().unwrap_or(0), empty);
                // Text of the key's block that is not a list is the rest of a message.
                self.keys.push(Key { lost: !whole, ..key });
            }
            Kind::Message => {
                // A line that is lost may have been the key.
                if self.keys.last().is_none_or(|key| key.section != section) {
                    self.damaged = true;
                    self.broken += 1;
                    self.keys.push(Key::new(section, 0, false));
                }
                if self.resumable {
                    self.talks.entry(section).or_default().look(says);
                }
                self.message(says, all);
            }
            Kind::Top(_) | Kind::Before | Kind::Between => {}
        }
    }

    fn lose(&mut self) {
        if let Some(key) = self.keys.last_mut() {
            key.lost = true;
        }
    }

    fn turn(&mut self, section: usize, value: &Json, bytes: &[u8], whole: bool) {
        let of = |names: &[&str]| {
            let texts = names.iter().filter_map(|name| value.member(name));
            texts.filter(Json::is_string).last()
        };
        let (input, result) = (of(&["input"]), of(&["output", "result"]));
        self.known.extend(input.iter().filter_map(Json::text));
        let tools = value.member("tools_called");
        let tools = tools.iter().flat_map(Json::elements);
        self.known.extend(tools.filter_map(|tool| tool.text()));
        let within = self.shape.lists == Lists::Within;
        let list = of(&["messages"]).and_then(|list| list.parsed());
        let list = list.or_else(|| within.then(|| recovered(bytes)).flatten());
        let mends =
            list.as_ref().filter(|_| within).and_then(|list| self.repaired_list(list, false));
        let needs = self.shape.needs.iter().copied();
        let lacks_last: Vec<_> = needs.filter(|name| value.member(name).is_none()).collect();
        let mut lacks = if whole && !within { Vec::new() } else { lacks_last.clone() };
        if value.member("input").is_none() && !whole {
            lacks.insert(0, "input");
        }
        self.damaged |= !lacks.is_empty();
        self.records += 1;
        // Each list contains the list before it; lists are needed where one is missing, and before
        // that.
        let needs = |lacks: &[&str]| lacks.contains(&"messages");
        if let Some(before) = self.turns.last_mut().filter(|turn| !needs(&turn.lacks))
            && !needs(&lacks)
        {
            before.list = None;
        }
        self.turns.push(Turn {
            section,
            input,
            result,
            list,
            lacks,
            lacks_last,
            mends: mends.is_some(),
        });
    }

    fn message(&mut self, value: &Json, whole: bool) {
        self.records += 1;
        self.messages += 1;
        let calls = value.member("tool_calls");
        let calls: Vec<_> = calls.iter().flat_map(Json::elements).collect();
        self.known.extend(calls.iter().filter_map(|call| call.member("id")?.text()));
        let role = value.text_of("role").unwrap_or_default();
        let said = value.member("content").is_some_and(|content| !content.is_null());
        if let Some(key) = self.keys.last_mut() {
            self.removes |= key.empty;
            self.damaged |= key.empty;
            key.messages += 1;
            key.lost |= !whole;
            key.has_question |= role == "user";
            key.answered = role == "assistant" && said && calls.is_empty();
            key.calling = role == "assistant" && !calls.is_empty();
        }
    }

    /// Decides which blocks stay, after all blocks were added. Of the members with one name the one
    /// with the most items stays, and of those the last, as the real loader has it. A member before
    /// the list that stays is preferred to a later one, because a file is recognized by its first
    /// members.
    pub fn decide(&mut self) {
        let of = |name: &str| {
            let all = self.sections.iter().enumerate();
            all.filter(|(_, own)| own.name == name).map(|(place, own)| (own.items, place)).max()
        };
        let list = of("messages").or_else(|| of("turns"));
        let list = list.map_or(usize::MAX, |(_, place)| place);
        let mut best: HashMap<&str, (u64, bool, usize)> = HashMap::new();
        for (place, section) in self.sections.iter().enumerate() {
            let best = best.entry(&section.name).or_default();
            *best = (section.items, place <= list, place).max(*best);
        }
        let stay = |(place, section): (usize, &Section)| {
            best.get(section.name.as_str()).is_some_and(|(.., best)| *best == place)
        };
        let stays: Vec<bool> = self.sections.iter().enumerate().map(stay).collect();
        for (section, stays) in self.sections.iter_mut().zip(&stays) {
            section.stays = *stays;
            self.damaged |= !stays;
            self.removes |= !stays;
            self.twice |= !stays;
        }
        let stays = |section: usize| stays.get(section).copied().unwrap_or(true);
        self.turns.retain(|turn| stays(turn.section));
        if let Some(last) = self.turns.last_mut().filter(|last| last.lacks.is_empty()) {
            last.lacks = std::mem::take(&mut last.lacks_last);
            self.damaged |= !last.lacks.is_empty();
        }
        self.keys.retain(|key| stays(key.section));
        self.number();
        self.renumber();
        let there: HashSet<u64> = self.keys.iter().map(|key| key.number).collect();
        let turns = 1..=self.turns.len() as u64;
        self.missing = turns.filter(|number| !there.contains(number)).collect();
        let missing = &self.missing;
        self.damaged |= self.turns.is_empty() && self.opened;
        self.damaged |= self.shape.lists == Lists::Behind && !self.has("messages");
        self.damaged |= !missing.is_empty() && self.shape.lists == Lists::Behind;
        if let Some(key) = self.keys.last_mut().filter(|_| self.damaged) {
            key.lost |= !missing.is_empty() || key.calling;
        }
        let talk = self.sections.iter().rposition(|own| own.stays && own.name == "messages");
        self.talk = talk.and_then(|talk| self.talks.remove(&talk)).unwrap_or_default();
        self.talk.close();
        if let Some(list) = self.turns.last().and_then(|turn| turn.list.as_ref()) {
            let mends =
                self.shape.lists == Lists::Within && self.repaired_list(list, true).is_some();
            self.turns.last_mut().into_iter().for_each(|turn| turn.mends |= mends);
        }
    }

    /// Removes a member with the name of the notes that is not notes, so that notes can be added.
    pub fn make_room(&mut self) {
        for section in self.sections.iter_mut().filter(|section| section.not_notes) {
            section.stays = false;
        }
    }

    /// Whether a result is put in between messages, or a message removed, because a model's
    /// interface would refuse the conversation.
    pub fn mends(&self) -> bool {
        self.talk.pairing().changes() || self.turns.iter().any(|turn| turn.mends)
    }

    /// Returns the indentation of messages that are put in.
    pub fn indent(&self) -> usize {
        self.place.unwrap_or(2)
    }

    /// Returns which results are put in between messages and which messages are removed.
    pub fn talk(&self) -> &Pairing<(), Json> {
        self.talk.pairing()
    }

    /// Returns the list of a turn with the results that are put in, if there are any changes.
    pub fn repaired_list(&self, list: &Json, last: bool) -> Option<resume::RepairedList> {
        if self.resumable { resume::repaired_list(list, last) } else { None }
    }

    /// Restricts the repair to the changes for a model's interface.
    pub fn leave(&mut self) {
        self.calm = true;
        self.missing.clear();
        self.turns.iter_mut().for_each(|turn| turn.lacks.clear());
        for key in &mut self.keys {
            (key.lost, key.wrong) = (false, false);
        }
    }

    /// Gives messages without a key the number before the number of the next key.
    fn number(&mut self) {
        let next = self.keys.iter().map(|key| key.number).find(|number| *number > 0);
        let taken: HashSet<u64> = self.keys.iter().map(|key| key.number).collect();
        let before = next.map_or(1, |next| next.saturating_sub(1));
        let free = (before.max(1)..).find(|number| !taken.contains(number));
        for key in self.keys.iter_mut().filter(|key| key.number == 0).take(1) {
            key.number = free.unwrap_or(1);
        }
    }

    /// Renumbers one of two keys with the same number, of which the loader takes the later. If the
    /// number of a turn is free beside one of them, that key gets the number.
    fn renumber(&mut self) {
        let mut taken: HashMap<u64, usize> = HashMap::new();
        let numbers: Vec<u64> = self.keys.iter().map(|key| key.number).collect();
        let all: HashSet<u64> = numbers.iter().copied().collect();
        let end = self.turns.len() as u64 + 1;
        for (place, number) in numbers.iter().enumerate() {
            let Some(first) = taken.insert(*number, place) else { continue };
            let at = |place: Option<usize>| place.and_then(|place| numbers.get(place)).copied();
            let below = at(first.checked_sub(1)).unwrap_or(0);
            let above = at(Some(place + 1)).unwrap_or(end).min(end);
            let free = |mut range: Range<u64>| range.find(|number| !all.contains(number));
            let found = free(number.saturating_add(1)..above).map(|free| (place, free));
            let found =
                found.or_else(|| Some((first, free(below.saturating_add(1)..end.min(*number))?)));
            if let Some((place, free)) = found
                && let Some(key) = self.keys.get_mut(place)
            {
                (key.number, key.wrong) = (free, true);
                (self.damaged, self.removes, self.twice) = (true, true, true);
            }
        }
    }

    /// Returns the numbers of turns that have no messages at all.
    pub fn missing(&self) -> &[u64] {
        &self.missing
    }

    /// Whether a member of the top is there and stays.
    pub fn has(&self, name: &str) -> bool {
        self.sections.iter().any(|section| section.name == name && section.stays)
    }
}

/// Returns the whole messages of a list that is cut inside of its text.
fn recovered(bytes: &[u8]) -> Option<Json> {
    let start = memchr::memmem::find(bytes, b"messages: ")? + b"messages: ".len();
    let rest = bytes.get(start..)?;
    let end = memchr::memrchr(b'}', rest)? + 1;
    let quote = rest.first().filter(|b| matches!(b, b'\'' | b'"'))?;
    let closed = [b"x: ", rest.get(..end)?, &[*quote], b"\n"].concat();
    let scalar = super::check::one(&closed)?.member("x")?.text()?;
    // The list is salvaged as a member of an object.
    let object = salvage(format!("{{\"messages\":{scalar}").as_bytes())?;
    let list = Json::trusted(Bytes::from(object)).member("messages")?;
    let any = list.elements().next().is_some();
    any.then_some(list)
}
