//! Facts about a session that a view shows before its items: found in the first walk.

use super::branches::Table;
use super::passage::Passage;
use super::texts::one_line;
use super::{Branch, Branches};
use crate::format::Format;
use crate::formats::ruling;
use crate::json::Json;
use crate::record::{Field, Kind, Node, Record, block};
use crate::session::Session;
use crate::times;
use crate::tree::Bits;
use crate::usage::{Tally, Usage};
use crate::user_words::{self, Title, UserWords};
use jiff::Timestamp;
use serde::Serialize;
use std::collections::{BTreeSet, HashMap};

/// Maximum number of turns of which more than the place is kept.
const TURNS: usize = 10_000;

/// Maximum number of models that are named.
const MODELS: usize = 20;

/// Facts about a session as a whole.
#[derive(Debug, Serialize)]
pub struct Head {
    /// Format of the session; of a stream, that of its source.
    pub format: &'static str,
    /// Identifier.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The session's own name, or else the first question, in one line.
    pub title: String,
    /// Folder of the project.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// Branch of the repository.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repository_branch: Option<String>,
    /// Models that answered.
    pub models: BTreeSet<String>,
    /// First and last time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub times: Option<(String, String)>,
    /// Number of the messages, without those of sub-agents.
    pub messages: u64,
    /// Tokens and cost of the whole session.
    pub usage: Usage,
    /// System prompt, where the session itself contains it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_prompt: Option<String>,
    /// The branches, by number.
    pub branches: Vec<Branch>,
    /// The turns of all branches, in the order of the file.
    pub turns: Vec<Turn>,
    /// Tables by which items find their place.
    #[serde(skip)]
    pub(super) places: Table,
    /// Labels by entry.
    #[serde(skip)]
    pub(super) labels: HashMap<Json, Json>,
}

/// A turn: a question of the user, and everything up to the next one.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Turn {
    /// Ordinal of its question.
    #[serde(skip)]
    pub ordinal: u32,
    /// Number on the way to the end of its branch, from 1.
    pub number: u64,
    /// Its branch.
    pub branch: u32,
    /// The question, in one line.
    pub title: String,
    /// Time of the question.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<String>,
    /// Number of calls of tools.
    pub calls: u64,
    /// Tokens and cost.
    pub usage: Usage,
}

impl Head {
    /// Returns the branches that a user can follow: those of sub-agents are none.
    pub fn own_branches(&self) -> impl Iterator<Item = &Branch> {
        self.branches.iter().filter(|branch| !branch.of_sub_agent)
    }

    /// Whether the session has more than one branch.
    #[must_use]
    pub fn is_branched(&self) -> bool {
        self.own_branches().nth(1).is_some()
    }

    /// Returns the entries that lead to the end of the selected branch, as last ordinals by branch;
    /// `None` if all branches are selected.
    pub(super) fn way(&self, branches: Branches) -> Option<Vec<(u32, u32)>> {
        match branches {
            Branches::All => None,
            Branches::One(number) => Some(self.places.way(number)),
        }
    }
}

/// Collects the facts in the first walk.
#[derive(Debug)]
pub(super) struct Survey<'t, 'r> {
    passage: Passage<'t, 'r>,
    nodes: u32,
    messages: u64,
    models: BTreeSet<String>,
    times: Option<(String, String)>,
    tally: Tally,
    questions: Vec<u32>,
    turns: Vec<Turn>,
    of_sub_agents: Bits,
    user_words: UserWords,
    title: Title,
}

impl<'t, 'r> Survey<'t, 'r> {
    pub fn new(format: &'static Format, passage: Passage<'t, 'r>) -> Self {
        Self {
            passage,
            nodes: 0,
            messages: 0,
            models: BTreeSet::new(),
            times: None,
            tally: Tally::of(format),
            questions: Vec::new(),
            turns: Vec::new(),
            of_sub_agents: Bits::default(),
            user_words: UserWords::of(format),
            title: Title::default(),
        }
    }

    /// Notes the next record.
    pub fn record(&mut self, record: &Record) {
        let node = &record.node;
        node.text(Field::Cwd).into_iter().for_each(|folder| self.passage.learn(&folder));
        let aside = node.json(Field::ParentCall).is_some_and(|call| !call.is_null());
        if record.is_node() {
            if aside {
                self.of_sub_agents.insert(self.nodes);
            }
            self.nodes += 1;
        }
        self.user_words.note(record);
        if record.is_of_user() {
            self.title.note(self.user_words, &self.passage.masked(record));
        }
        if self.user_words.is_question(record) {
            self.turn(record);
        }
        self.tally.record(record);
        if let Some(turn) = self.turns.last_mut().filter(|_| self.questions.len() <= TURNS) {
            turn.usage.join(self.tally.last());
        }
        if record.kind == Kind::Message && !aside {
            self.messages += 1;
            self.calls(node);
        }
        if node.is(Field::Role, "assistant") || record.kind == Kind::Turn {
            let model = node.text(Field::Model).filter(|_| self.models.len() < MODELS);
            self.models.extend(model.filter(|model| !model.is_empty()));
        }
        if let Some(time) = node.text(Field::Time).filter(|_| !aside) {
            let first = self.times.take().map_or_else(|| time.clone(), |(first, _)| first);
            self.times = Some((first, time));
        }
    }

    fn calls(&mut self, message: &Node) {
        let calls = message.blocks_of(block::TOOL_CALL).count();
        if let Some(turn) = self.turns.last_mut().filter(|_| self.questions.len() <= TURNS) {
            turn.calls += calls as u64;
        }
    }

    fn turn(&mut self, record: &Record) {
        // A preview joins the lines of a token that a break cuts; names of users that a later record
        // contains are masked in it afterwards.
        let masked = self.passage.masked(record);
        let words = self.user_words.question(&masked).unwrap_or_default();
        let title = user_words::title(&masked.node, &words);
        let ordinal = self.nodes.saturating_sub(1);
        self.questions.push(ordinal);
        if self.turns.len() < TURNS {
            let time = record.node.text(Field::Time);
            self.turns.push(Turn { ordinal, title, time, ..Turn::default() });
        }
    }

    /// Returns the facts about the session that was walked.
    pub fn finish(
        mut self,
        session: Session<'_>,
        cx: &crate::format::Cx<'_>,
    ) -> crate::error::Result<Head> {
        let passage = self.passage;
        let path = session.history();
        let header = passage.masked(session.header()).into_owned().node;
        let text = |field| header.text(field);
        let named = session.name().and_then(Json::text).map(|name| passage.text(name));
        let named = named.map(|name| user_words::line(&name)).filter(|name| !name.is_empty());
        let format = ruling(session.format(), &session.header().node).name;
        let (tree, labels, records) = session.into_tree_labels_records(cx)?;
        drop(records);
        let mut places = Table::new(&tree.into_branches(), &path, &self.of_sub_agents);
        places.count_turns(&self.questions);
        let mut numbers: Vec<u64> = places.list.iter().map(|own| own.turns_before).collect();
        let title = |text: String| passage.text(text);
        for turn in &mut self.turns {
            turn.title = title(std::mem::take(&mut turn.title));
            turn.branch = places.of(turn.ordinal);
            if let Some(number) = numbers.get_mut(turn.branch as usize) {
                *number += 1;
                turn.number = *number;
            }
            let branch = places.list.get_mut(turn.branch as usize);
            if let Some(branch) = branch.filter(|branch| branch.title.is_empty()) {
                branch.title.clone_from(&turn.title);
            }
        }
        Ok(Head {
            format,
            id: header.text(Field::Id),
            title: named.or(self.title.finish().map(title)).unwrap_or_else(|| "Session".to_owned()),
            project: text(Field::Cwd),
            repository_branch: text(Field::Branch),
            models: self.models,
            times: self.times,
            messages: self.messages,
            usage: self.tally.finish(),
            system_prompt: text(Field::SystemPrompt).filter(|text| !text.is_empty()),
            branches: places.list.clone(),
            turns: self.turns,
            places,
            labels,
        })
    }
}

/// Returns a time to the minute, in the zone of the machine, if it can be read; otherwise as it is
/// written.
pub(super) fn minute(time: &str) -> String {
    read(time).map_or_else(|| one_line(time, 40), times::local_minute)
}

/// Returns the first and the last time of a session, with the zone.
pub(super) fn span((first, last): &(String, String), between: &str) -> String {
    let zone = read(last).map_or_else(String::new, |last| format!(" {}", times::local_zone(last)));
    let (first, last) = (minute(first), minute(last));
    if first == last { first + &zone } else { format!("{first}{between}{last}{zone}") }
}

fn read(time: &str) -> Option<Timestamp> {
    let json = Json::string(time);
    times::read(&json).or_else(|| times::of_number(&json.parsed()?))
}

/// Returns a number of tokens or characters in at most five characters.
pub(super) fn short(number: f64) -> String {
    match number {
        n if n < 1000.0 => format!("{n:.0}"),
        n if n < 9_950.0 => format!("{:.1}k", n / 1e3),
        n if n < 999_500.0 => format!("{:.0}k", n / 1e3),
        n if n < 9_950_000.0 => format!("{:.1}M", n / 1e6),
        n => format!("{:.0}M", n / 1e6),
    }
}

/// Describes tokens and cost; empty if both are unknown.
pub(super) fn spent(usage: &Usage) -> String {
    let tokens = Some(usage.all()).filter(|all| *all > 0.0);
    let tokens = tokens.map(|all| format!("{} tokens", short(all)));
    let cost = Some(usage.cost).filter(|cost| *cost > 0.0).map(dollars);
    [tokens, cost].into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// Formats a cost.
pub(super) fn dollars(cost: f64) -> String {
    match cost {
        cost if cost < 0.000_05 => "under $0.0001".to_owned(),
        cost if cost < 0.1 => format!("${cost:.4}"),
        cost => format!("${cost:.2}"),
    }
}
