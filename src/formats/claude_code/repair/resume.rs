//! Decisions of `--resumable`, after which every release continues with the whole conversation:
//! results of parallel calls follow each other, calls and results are paired, nothing empty ends
//! the conversation, and its last message is the newest of the file.
//!
//! Source: what releases 2.0.53, 2.1.81 and 2.1.332 send of damaged transcripts.

use super::super::chain::Places;
use super::super::links::Sort;
use super::conversation::{Conversation, Way};
use super::links::Plan;
use super::names::Names;
use super::refused::is_unsigned;
use super::spoken::{Spoken, Unusable, kind_of};
use crate::diagnostic::Code;
use crate::dialect::refusal::{OfServer, of_server};
use crate::json::{Json, text};
use crate::repair::{Added, OUTCOME_UNKNOWN, Pairing, Rules};
use crate::times;
use crate::tree::Bits;
use bytes::Bytes;
use jiff::Timestamp;
use std::collections::HashMap;

/// Decisions about a session, made in two showings of its lines.
#[derive(Debug, Default)]
pub struct Resume {
    conversation: Conversation,
    /// Links by which the newest release goes.
    places: Places,
    /// Lines that report progress.
    progress: Bits,
    /// Results that stand behind what follows them.
    late_results: Bits,
    /// Lines of the conversation, up to its end.
    path: Option<Bits>,
    /// The lines of the conversation in their order, and their messages, if one precedes its parent.
    order: Option<Vec<u32>>,
    messages: HashMap<u32, Spoken>,
    /// Lines of the conversation that the next line of it precedes in the file; all of them, if one
    /// needs the name of a later one.
    overtaken: Bits,
    ahead: Vec<u32>,
    /// The line that the file gives as the end of the conversation.
    leaf: Option<u32>,
    /// The end of the conversation, if a line is added that names it.
    marked_end: Option<u32>,
    calls: Calls,
    /// Newest time of a message but the last of the conversation; that one's place and time.
    newest: Option<Timestamp>,
    end: Option<(u32, Option<Timestamp>)>,
    parents: HashMap<u32, (Parent, Code)>,
}

/// New parent of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parent {
    /// No parent.
    Root,
    /// The line of this ordinal.
    At(u32),
    /// The last result that is added behind the line of this ordinal.
    Added(u32),
}

/// A result that is added behind a line.
pub type AddedResult = Added<(), Vec<u8>>;

impl AddedResult {
    /// Returns the block of the result.
    pub fn block(&self) -> Vec<u8> {
        self.result.clone().unwrap_or_else(|| unknown_result(&self.id))
    }
}

/// Calls and results.
#[derive(Debug, Default)]
struct Calls {
    /// Blocks of results are added behind the line of their place.
    pairing: Pairing<(), Vec<u8>>,
    /// Whether a message came, and whether a result of the answer came.
    begun: bool,
    answered: bool,
    /// The last line of the answer and its results; the answer's identifier.
    after: Option<u32>,
    group: Option<Json>,
    /// Blocks that are removed from lines.
    blocks: HashMap<u32, Vec<usize>>,
    /// Calls of the provider's tools that wait, and blocks of such calls and results alone.
    served: Vec<(String, (u32, usize))>,
    alone: HashMap<u32, Vec<usize>>,
    names: Names,
    /// Lines of the last answer: those without content, and those whose thoughts have no text.
    silent: Vec<u32>,
    hollow: Vec<u32>,
    has_text: bool,
}

impl Resume {
    /// Begins for the lines of a session, or of one sub-agent.
    pub fn new(agent: bool) -> Self {
        let rules = Rules { early: true, ..Rules::default() };
        Self {
            conversation: Conversation::new(agent),
            calls: Calls { pairing: Pairing::new(rules), ..Calls::default() },
            ..Self::default()
        }
    }

    /// Looks at a line beside the chain.
    pub fn beside(&mut self, line: &Bytes) {
        if self.path.is_none() {
            self.conversation.beside(line);
        }
    }

    /// Looks at a line of the chain.
    pub fn look(&mut self, ordinal: u32, line: &Bytes) {
        let Some(path) = &self.path else {
            return self.conversation.look(ordinal, line);
        };
        let active = path.contains(ordinal);
        let message = match Spoken::of(line) {
            Ok(Some(message)) => message,
            Ok(None) => return,
            Err(Unusable) => {
                if active {
                    self.calls.pairing.remove(ordinal, Code::EntryUnusable);
                }
                return;
            }
        };
        let other = message.time.filter(|_| !message.side);
        if self.late_results.contains(ordinal) {
            message.blocks.iter().for_each(|block| self.calls.found_elsewhere(block));
            self.calls.pairing.remove(ordinal, Code::ResultMoved);
        } else if active && self.order.is_some() {
            self.messages.insert(ordinal, message);
            return;
        } else if active {
            return self.speak(ordinal, &message);
        } else if !message.side {
            self.calls.look_elsewhere(&message);
        }
        self.newest = self.newest.max(other);
    }

    /// Looks at the next message of the conversation.
    fn speak(&mut self, ordinal: u32, message: &Spoken) {
        self.calls.look(ordinal, message);
        let mut other = message.time.filter(|_| !message.side);
        if !message.is_other_line {
            let before = self.end.replace((ordinal, message.time));
            other = before.and_then(|(_, time)| time);
        }
        self.newest = self.newest.max(other);
    }

    /// Ends the first showing: finds the conversation. Returns false if there is none.
    pub fn find_path(&mut self, plan: &Plan) -> bool {
        let way = self.conversation.way(plan);
        let Way { places, leaf, path, late_results, order, is_circular } = way;
        let links = std::mem::replace(&mut self.conversation, Conversation::new(false)).lines;
        let of_progress = (0..).zip(links.links()).filter(|(_, link)| link.sort == Sort::Progress);
        for (at, _) in of_progress {
            self.progress.insert(at);
        }
        let on_path: Vec<u32> = (0..plan.len()).filter(|at| path.contains(*at)).collect();
        if on_path.iter().any(|at| places.parent(*at).is_some_and(|parent| parent > *at)) {
            self.ahead = on_path;
        }
        (self.places, self.leaf, self.path) = (places, leaf, Some(path));
        for pair in order.iter().flat_map(|order| order.windows(2)) {
            if let [at, next] = pair
                && next < at
            {
                self.overtaken.insert(*at);
            }
        }
        (self.late_results, self.order) = (late_results, order);
        !is_circular
    }

    /// Returns the lines of the conversation, if one needs the name of a later one.
    pub fn ahead(&self) -> &[u32] {
        &self.ahead
    }

    fn parent_of(&self, at: u32) -> Option<u32> {
        self.places.parent(at)
    }

    /// Ends the second showing: decides what is added and removed, and how lines are linked.
    pub fn close(&mut self, plan: &Plan) {
        for at in self.order.take().unwrap_or_default() {
            self.messages.remove(&at).into_iter().for_each(|message| self.speak(at, &message));
        }
        self.calls.close();
        let Some(path) = &self.path else { return };
        let mut parents = HashMap::new();
        for at in 0..plan.len() {
            let active = path.contains(at) && !self.places.kept.contains(at);
            let own = plan.parent(at);
            let mut parent = own;
            let mut code = Code::Straightened;
            if active {
                parent = self.parent_of(at);
                while let Some(over) = parent.filter(|over| self.progress.contains(*over)) {
                    parent = self.parent_of(over);
                }
            }
            while let Some(over) = parent.filter(|over| self.removed(*over).is_some()) {
                code = Code::ParentLinked;
                parent = self.parent_of(over);
            }
            let added = parent.filter(|at| active && !self.added(*at).is_empty());
            let new = match (added, parent) {
                (Some(at), _) => Parent::Added(at),
                (None, Some(at)) => Parent::At(at),
                (None, None) => Parent::Root,
            };
            if added.is_some() {
                code = Code::ResultSynthesized;
            }
            if added.is_some() || parent != own {
                parents.insert(at, (new, code));
            }
        }
        self.parents = parents;
        self.marked_end = self.find_hidden_end(plan);
        if self.marked_end.is_some() {
            let copies = (0..plan.len()).filter(|at| plan.is_copy(*at) && !plan.is_set_aside(*at));
            copies.for_each(|at| self.calls.pairing.remove(at, Code::DuplicateRemoved));
        }
    }

    /// Returns the end of the conversation if releases would not find it in a chain without branches:
    /// another branch follows lines that are sent together with the leaf.
    fn find_hidden_end(&self, plan: &Plan) -> Option<u32> {
        let (path, leaf) = (self.path.as_ref()?, self.leaf?);
        let mut end = self.places.end(leaf);
        let on_branch = |at: &u32| !path.contains(*at) && !plan.is_copy(*at);
        let parent = |at| plan.parent(at).filter(|parent| path.contains(*parent));
        let together = |at| self.places.end(at) == end;
        if end == leaf || !(0..plan.len()).filter(on_branch).filter_map(parent).any(together) {
            return None;
        }
        while self.removed(end).is_some() {
            end = self.parent_of(end)?;
        }
        Some(end)
    }

    /// Returns the end of the conversation, if a line is added that names it.
    pub fn marked_end(&self) -> Option<u32> {
        self.marked_end
    }

    /// Returns the new parent of a line, and the reason for it.
    pub fn new_parent(&self, ordinal: u32) -> Option<(Parent, Code)> {
        self.parents.get(&ordinal).copied()
    }

    /// Returns the ordinals of all new parents.
    pub fn new_parents(&self) -> impl Iterator<Item = u32> + '_ {
        let at = |parent: &(Parent, Code)| match parent.0 {
            Parent::At(at) => Some(at),
            _ => None,
        };
        self.parents.values().filter_map(at)
    }

    /// Whether anything is changed.
    pub fn changes(&self) -> bool {
        let calls = &self.calls;
        !self.parents.is_empty()
            || calls.pairing.changes()
            || !calls.blocks.is_empty()
            || !calls.alone.is_empty()
            || !calls.names.is_empty()
            || self.late().is_some()
            || self.marked_end.is_some()
    }

    /// Whether lines or blocks are set aside.
    pub fn removes(&self) -> bool {
        self.calls.pairing.removes()
    }

    /// Returns why a line is removed, if it is.
    pub fn removed(&self, ordinal: u32) -> Option<Code> {
        self.calls.pairing.removed(ordinal)
    }

    /// Returns the places of the blocks that are removed from a line.
    pub fn removed_blocks(&self, ordinal: u32) -> &[usize] {
        self.calls.blocks.get(&ordinal).map(Vec::as_slice).unwrap_or_default()
    }

    /// Returns the places of the calls and results in a line that are not in pairs, and that texts
    /// replace: those of a provider's tools, and results that come first of all.
    pub fn alone(&self, ordinal: u32) -> &[usize] {
        self.calls.alone.get(&ordinal).map(Vec::as_slice).unwrap_or_default()
    }

    /// Returns the new identifiers of calls in a line, by the places of their blocks.
    pub fn renamed(&self, ordinal: u32) -> &[(usize, Json)] {
        self.calls.names.of(ordinal)
    }

    /// Whether the next line of the conversation precedes this one in the file.
    pub fn is_overtaken(&self, ordinal: u32) -> bool {
        self.overtaken.contains(ordinal)
    }

    /// Returns the results that are added, with the lines behind which they are.
    pub fn all_added(&self) -> impl Iterator<Item = (u32, &AddedResult)> {
        self.calls.pairing.all_added()
    }

    /// Returns the results that are added behind a line.
    pub fn added(&self, ordinal: u32) -> &[AddedResult] {
        self.calls.pairing.added(ordinal)
    }

    /// Whether a line is sent.
    pub fn is_sent(&self, ordinal: u32) -> bool {
        self.path.as_ref().is_some_and(|path| path.contains(ordinal))
    }

    /// Returns the last message of the conversation and the time that it needs, if an older release
    /// takes another line for the end: the one with the newest time.
    pub fn late(&self) -> Option<(u32, Timestamp)> {
        let (end, time) = self.end?;
        let is_newest = time.is_some_and(|time| self.newest.is_none_or(|newest| newest < time));
        let stays = !is_newest && self.removed(end).is_none();
        stays.then(|| (end, times::after(self.newest.unwrap_or(Timestamp::UNIX_EPOCH))))
    }
}

/// Returns the call that a block of this type names.
fn call_of(block: &Json, kind: &str, name: &str) -> Option<Json> {
    let call = if kind_of(block) == kind { block.member(name) } else { None };
    call.filter(Json::is_string)
}

impl Calls {
    fn look(&mut self, ordinal: u32, message: &Spoken) {
        if message.assistant {
            self.answer(ordinal, message)
        } else {
            self.user(ordinal, message)
        }
        self.begun = true;
    }

    fn answer(&mut self, ordinal: u32, message: &Spoken) {
        if !message.blocks.is_empty() && message.blocks.iter().all(is_unsigned) {
            self.pairing.remove(ordinal, Code::ThoughtRemoved);
            return;
        }
        if message.group.is_none() || message.group != self.group {
            // Release 2.1.332 takes no result from behind another answer.
            if self.answered || !self.pairing.is_settled() {
                self.settle();
            }
            self.forget_end();
            self.group = message.group.clone();
        }
        for (at, block) in message.blocks.iter().enumerate() {
            self.serve(block, (ordinal, at));
            let Some(call) = call_of(block, "tool_use", "id") else { continue };
            let call = self.names.call(call, (ordinal, at), &self.pairing);
            self.pairing.call(call.as_bytes(), ());
        }
        self.has_text |= message.has_text;
        if !message.has_text {
            self.silent.push(ordinal);
        }
        if message.is_hollow() {
            self.hollow.push(ordinal);
        }
        self.after = Some(ordinal);
    }

    /// Pairs calls and results of the provider's tools, which stand in one answer.
    fn serve(&mut self, block: &Json, place: (u32, usize)) {
        match of_server(block) {
            Some(OfServer::Call(id)) => self.served.push((id, place)),
            Some(OfServer::Result(id)) => {
                match self.served.iter().position(|(call, _)| *call == id) {
                    Some(call) => drop(self.served.remove(call)),
                    None => self.leave_alone(place),
                }
            }
            None => {}
        }
    }

    fn leave_alone(&mut self, (ordinal, at): (u32, usize)) {
        self.alone.entry(ordinal).or_default().push(at);
    }

    fn user(&mut self, ordinal: u32, message: &Spoken) {
        let result = |(at, block): (usize, &Json)| {
            let call = call_of(block, "tool_result", "tool_use_id")?;
            Some(self.names.result(call, (ordinal, at), &self.pairing))
        };
        let results: Vec<_> = message.blocks.iter().enumerate().map(result).collect();
        let orphans: Vec<usize> = results
            .iter()
            .enumerate()
            .filter_map(|(at, call)| Some((at, call.as_ref()?)))
            .filter(|(_, call)| self.pairing.take(call.as_bytes()).is_none())
            .map(|(at, _)| at)
            .collect();
        for block in orphans.iter().filter_map(|at| message.blocks.get(*at)) {
            self.found_elsewhere(block);
        }
        let answers = results.iter().flatten().count();
        match orphans.len() {
            0 => {}
            // The first message must be the user's.
            all if all == results.len() && !self.begun => {
                orphans.iter().for_each(|at| self.leave_alone((ordinal, *at)));
            }
            all if all == results.len() => {
                self.pairing.remove(ordinal, Code::OrphanResult);
                return;
            }
            _ => drop(self.blocks.insert(ordinal, orphans)),
        }
        if answers > 0 {
            self.after = Some(ordinal);
            self.answered = true;
        } else {
            self.settle();
            let served = std::mem::take(&mut self.served);
            served.into_iter().for_each(|(_, place)| self.leave_alone(place));
        }
        self.forget_end();
        if answers == 0 {
            self.group = None;
        }
    }

    /// Looks at a message off the conversation.
    fn look_elsewhere(&mut self, message: &Spoken) {
        if !message.assistant {
            message.blocks.iter().for_each(|block| self.found_elsewhere(block));
        }
    }

    /// Uses a result that is not sent, or comes too late, as the result of its call.
    fn found_elsewhere(&mut self, block: &Json) {
        let Some(call) = call_of(block, "tool_result", "tool_use_id") else { return };
        self.pairing.found(call.as_bytes(), block.as_bytes().to_vec());
    }

    /// Adds results for the calls that still wait.
    fn settle(&mut self) {
        self.answered = false;
        if let Some(after) = self.after {
            self.pairing.settle(after);
        }
    }

    fn forget_end(&mut self) {
        self.silent.clear();
        self.hollow.clear();
        self.has_text = false;
    }

    fn close(&mut self) {
        self.settle();
        let silent = if self.has_text { &self.hollow } else { &self.silent };
        silent.iter().for_each(|at| self.pairing.remove(*at, Code::EmptyTail));
    }
}

fn unknown_result(call: &[u8]) -> Vec<u8> {
    let mut out = b"{\"type\":\"tool_result\",\"content\":".to_vec();
    text::quote(OUTCOME_UNKNOWN, &mut out);
    out.extend_from_slice(b",\"is_error\":true,\"tool_use_id\":");
    out.extend_from_slice(call);
    out.push(b'}');
    out
}
