//! Turns of a rollout, which an event takes back, also behind a compaction.
//!
//! Source: `reconstruct_history_from_rollout` and `drop_last_n_user_turns` of openai/codex, and
//! requests of release 0.169.0.

use super::{items, line};
use crate::ids::hash;
use crate::json::Json;
use crate::record::{Field, Kind, Record};

/// The place before a turn: behind this node of the rollout, or at the beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TurnStart {
    pub node: Option<u64>,
    part: Part,
    /// Number of the last compaction with a new history before it, or 0.
    base: u32,
}

impl TurnStart {
    /// Whether the turn begins behind the node, and not in a list of messages that it holds.
    pub fn is_behind_node(self) -> bool {
        self.part == Part::Whole
    }
}

/// Part of a node that is before the turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Whole,
    /// The first items of the new history of a compaction, by their number.
    Items(usize),
    /// The first messages of the user that a compaction with a summary only keeps, by their number.
    Kept(usize),
}

/// Returns the new history of a compaction.
pub fn new_history(compaction: &Record) -> Option<Json> {
    let payload = compaction.node.json(Field::Extra)?.member("payload")?;
    payload.member("replacement_history").filter(Json::is_list)
}

/// A record that begins, ends or changes turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// The beginning of a turn, and a hash of its identifier.
    Started(Option<u64>),
    /// The end of a turn.
    Ended(Option<u64>),
    /// Items; whether the user says one of them.
    Items(bool),
    /// A compaction with a new history.
    Compacted(u32),
    /// The event that takes back this number of turns.
    Back(usize),
}

/// The records of one turn, from its end.
#[derive(Default)]
struct Turn {
    id: Option<u64>,
    of_user: bool,
    /// Number of its last compaction with a new history.
    compacted: Option<u32>,
}

impl Turn {
    /// Returns its compaction, unless the turn was taken back.
    fn found(&self, back: &mut usize) -> Option<u32> {
        if *back > 0 {
            *back -= usize::from(self.of_user);
            return None;
        }
        self.compacted
    }
}

/// A history and the turns in it.
#[derive(Clone, Debug, Default)]
struct History {
    /// For each turn, the place before it.
    places: Vec<TurnStart>,
    /// Place, in that list, of the summary of a compaction without a new history.
    summary: Option<usize>,
    /// Number of items of the new history in which it begins, if turns in it were taken back.
    items: Option<usize>,
    /// Number of messages that its last compaction keeps, if turns among them were taken back.
    kept: Option<usize>,
}

/// The turns of a rollout, as they come.
#[derive(Clone, Debug, Default)]
pub struct Turns {
    steps: Vec<Step>,
    history: History,
    /// For each compaction with a new history that counts, the history before it, and its number.
    before: Vec<(u32, History)>,
    /// Number of compactions with a new history so far.
    compactions: u32,
    /// Whether any turns were taken back.
    taken_back: bool,
}

impl Turns {
    /// Whether the history has no turn yet.
    pub fn is_empty(&self) -> bool {
        self.history.places.is_empty()
    }

    /// Returns the number of turns in the history.
    pub fn len(&self) -> usize {
        self.history.places.len()
    }

    /// Returns the place to which an event leads that takes back this number of turns, unless it
    /// takes back a compaction before that place, too; the second value is `None` then. `None` if
    /// there are not as many.
    pub fn place_before(&self, turns: usize) -> Option<Option<TurnStart>> {
        let place = |all: &Self| {
            let places = &all.history.places;
            let place = *places.get(places.len().checked_sub(turns)?)?;
            Some(Some(place).filter(|place| place.base == all.last_base()))
        };
        if self.before.is_empty() {
            return place(self);
        }
        let mut all = self.clone();
        all.begin_back(turns);
        place(&all)
    }

    /// Returns the number of the last compaction with a new history that counts, or 0.
    fn last_base(&self) -> u32 {
        self.before.last().map_or(0, |(number, _)| *number)
    }

    /// Returns the number of compactions with a new history so far.
    pub fn compactions(&self) -> u32 {
        self.compactions
    }

    /// Returns the number of the last compaction whose new history counts; 0 if there is none. Codex
    /// looks for it from the end, and passes over turns that were taken back.
    pub fn base(&self) -> u32 {
        if self.taken_back { self.search() } else { self.compactions }
    }

    /// Returns the number of items that count of the last new history, unless all do.
    pub fn items(&self) -> Option<usize> {
        self.history.items
    }

    /// Returns the number of messages of the user that count of those that the last compaction
    /// keeps; its summary does not count then. `None` if all do.
    pub fn kept(&self) -> Option<usize> {
        self.history.kept
    }

    /// Takes the next record of the rollout, the node `here`, in which a turn comes behind the node
    /// `before`; returns the end of the history if turns are taken back.
    pub fn take(
        &mut self,
        record: &Record,
        before: Option<u64>,
        here: Option<u64>,
    ) -> Option<Option<u64>> {
        match record.kind {
            Kind::Event => return self.event(record.node.json(Field::Data)?),
            Kind::Message => self.item(record.node.is(Field::Role, "user"), before),
            Kind::Extension => self.item(false, before),
            Kind::Opaque if line::is_item(record) => {
                self.item(items::is_of_agent(&record.node), before);
            }
            Kind::Compaction => match new_history(record) {
                Some(list) => self.replace(&list, here),
                None => self.sum_up(here),
            },
            _ => {}
        }
        None
    }

    /// Takes an item; with one that `begins` a turn, the turn comes behind the node `before`.
    fn item(&mut self, begins: bool, before: Option<u64>) {
        self.items_of(begins);
        if begins {
            let base = self.last_base();
            self.history.places.push(TurnStart { node: before, part: Part::Whole, base });
        }
    }

    fn items_of(&mut self, of_user: bool) {
        match self.steps.last_mut() {
            Some(Step::Items(any)) => *any |= of_user,
            _ => self.steps.push(Step::Items(of_user)),
        }
    }

    fn sum_up(&mut self, here: Option<u64>) {
        let base = self.last_base();
        let history = &mut self.history;
        // The summary before it is one of the messages that it leaves out.
        let count = history.places.len() - usize::from(history.summary.is_some());
        let place = |kept| TurnStart { node: here, part: Part::Kept(kept), base };
        history.places = (0..=count).map(place).collect();
        (history.summary, history.kept) = (Some(count), None);
    }

    fn replace(&mut self, list: &Json, here: Option<u64>) {
        self.compactions += 1;
        self.steps.push(Step::Compacted(self.compactions));
        if self.taken_back && self.search() != self.compactions {
            return self.give_up();
        }
        let (mut new, mut talk) = (History::default(), 0);
        for (number, item) in line::items(list).enumerate() {
            if item.kind == Kind::Message && item.node.is(Field::Role, "user") {
                let before = if new.places.is_empty() { number } else { talk };
                let part = Part::Items(before);
                new.places.push(TurnStart { node: here, part, base: self.compactions });
            }
            if item.kind != Kind::Extension {
                talk = number + 1;
            }
        }
        self.before.push((self.compactions, std::mem::replace(&mut self.history, new)));
    }

    /// Returns to the history before the new ones that no longer count.
    fn give_up(&mut self) {
        if self.before.is_empty() {
            return;
        }
        let base = self.search();
        while let Some((_, mut before)) = self.before.pop_if(|(number, _)| *number > base) {
            let behind = std::mem::take(&mut self.history).places.into_iter();
            before.places.extend(behind.filter(|place| !matches!(place.part, Part::Items(_))));
            self.history = before;
        }
    }

    fn event(&mut self, data: &Json) -> Option<Option<u64>> {
        let id = || Some(hash(data.member("turn_id")?.text()?.as_bytes()));
        match data.member("type")?.text()?.as_str() {
            "task_started" | "turn_started" => {
                // What is before the turn of the first compaction is never looked at.
                if self.compactions == 0 {
                    self.steps.clear();
                }
                self.steps.push(Step::Started(id()));
            }
            "task_complete" | "turn_complete" => self.steps.push(Step::Ended(id())),
            "turn_aborted" => {
                let id = id();
                if id.is_some() {
                    self.steps.push(Step::Ended(id));
                }
            }
            "user_message" => self.items_of(true),
            "thread_rolled_back" => {
                let turns = data.member("num_turns").and_then(|turns| turns.float());
                return self.roll_back(turns.unwrap_or(0.0) as usize);
            }
            _ => {}
        }
        None
    }

    /// Notes an event that takes turns back, with which compactions may no longer count.
    fn begin_back(&mut self, turns: usize) {
        self.steps.push(Step::Back(turns));
        self.taken_back = true;
        self.give_up();
    }

    fn roll_back(&mut self, turns: usize) -> Option<Option<u64>> {
        self.begin_back(turns);
        let history = &mut self.history;
        let left = history.places.len().saturating_sub(turns);
        let place = history.places.get(left).copied()?;
        history.places.truncate(left);
        history.summary = history.summary.filter(|summary| *summary < left);
        match place.part {
            Part::Whole => {}
            Part::Items(items) => history.items = Some(items),
            Part::Kept(kept) => history.kept = Some(kept),
        }
        Some(place.node)
    }

    /// Returns the number of the last compaction in a turn that was not taken back, or 0.
    fn search(&self) -> u32 {
        let (mut back, mut open) = (0_usize, None::<Turn>);
        for step in self.steps.iter().rev() {
            match *step {
                Step::Back(turns) => back = back.saturating_add(turns),
                Step::Started(id) => {
                    let fits = |turn: &mut Turn| turn.id.is_none() || id.is_none() || turn.id == id;
                    let found = open.take_if(fits).and_then(|turn| turn.found(&mut back));
                    if let Some(found) = found {
                        return found;
                    }
                }
                Step::Ended(id) => {
                    let turn = open.get_or_insert_default();
                    turn.id = turn.id.or(id);
                }
                Step::Items(of_user) => open.get_or_insert_default().of_user |= of_user,
                Step::Compacted(number) => {
                    let turn = open.get_or_insert_default();
                    turn.compacted = turn.compacted.or(Some(number));
                }
            }
        }
        open.and_then(|turn| turn.found(&mut back)).unwrap_or(0)
    }
}
