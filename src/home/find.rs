//! Search for a session by name.

use super::cache::Cache;
use super::onward::is_made_from;
use super::places::SessionPlace;
use super::survey::{Listed, survey, survey_projects};
use crate::batch::{Job, stem};
use crate::format::Format;
use crate::formats::Spec;
use crate::store::{origin_of, plain_name};
use std::cmp::Reverse;

/// The name of the session with the last message.
const LATEST: &str = "latest";

/// Minimum number of characters of an identifier's beginning.
const PREFIX: usize = 6;

/// The result of a search.
#[derive(Debug)]
pub enum Search {
    /// No session has the name.
    Nothing,
    /// One session has it.
    One(Box<Listed>),
    /// Several sessions have it, the newest first.
    Several(Vec<Listed>),
}

/// Name of a session: `latest`, an identifier, or the beginning of one; `AGENT:` before it names
/// the agent.
#[derive(Clone, Copy, Debug)]
pub struct SessionName<'n> {
    /// The agent's format, if the name has one.
    pub agent: Option<&'static Format>,
    text: &'n str,
}

impl<'n> SessionName<'n> {
    /// Returns the name that a text may be; `None` for a text that cannot name a session.
    ///
    /// ```
    /// use copyist::home::SessionName;
    /// assert!(SessionName::of("latest").is_some());
    /// assert!(SessionName::of("019b8fa2-6a6d").is_some());
    /// assert_eq!(SessionName::of("codex:019b8f").unwrap().agent.unwrap().name, "codex");
    /// assert!(SessionName::of("019b8").is_none(), "too short");
    /// assert!(SessionName::of("a/b.jsonl").is_none());
    /// ```
    pub fn of(text: &'n str) -> Option<Self> {
        let agent_of = |name: &str| Spec::parse(name).ok().map(|spec| spec.format);
        let (agent, text) = match text.split_once(':') {
            Some((agent, rest)) => (Some(agent_of(agent)?), rest),
            None => (None, text),
        };
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        let is_name = text == LATEST || (text.len() >= PREFIX && text.chars().all(fits));
        is_name.then_some(Self { agent, text })
    }
}

/// Finds the session that a name means. A session and the copies with which other agents continue
/// it have one identifier; of such a family the newest is meant. `target` is the agent that is to
/// continue the session: its own are meant only where no other session has the name.
///
/// Most agents put the identifier into the file's name, so the other files are read only if no name
/// contains the text.
pub fn find(
    name: SessionName<'_>,
    places: &[SessionPlace],
    target: Option<&'static Format>,
    cache: &mut Cache,
) -> Search {
    let is_agents = |one: &Listed| name.agent.is_none_or(|own| one.summary.agent == own.name);
    if name.text == LATEST {
        let mut all = survey_projects(places, None, cache).0;
        all.retain(is_agents);
        let newest = all.iter().max_by_key(|one| one.spoken()).cloned();
        let Some(newest) = newest else { return Search::Nothing };
        return meant(family_of(&newest, all), target);
    }
    // Some agents put the beginning of an identifier into the names of files.
    let first = name.text.split_once('-').map(|(first, _)| first);
    let is_short = |first: &&str| first.len() == 8 && first.bytes().all(|b| b.is_ascii_hexdigit());
    let text = first.filter(is_short).unwrap_or(name.text);
    let called = |job: &Job| {
        let mut files = job.files();
        job.relative.to_string_lossy().contains(text)
            || files.any(|file| file.to_string_lossy().contains(text))
    };
    let chosen = |mut all: Vec<Listed>| {
        all.retain(is_agents);
        meant(called_by(name.text, all), target)
    };
    match chosen(survey(places, &called, cache).0) {
        Search::Nothing => chosen(survey_projects(places, None, cache).0),
        found => found,
    }
}

/// Returns the sessions with this name; a whole identifier precedes beginnings.
fn called_by(name: &str, mut sessions: Vec<Listed>) -> Vec<Listed> {
    let file = |one: &Listed| {
        let file = one.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        stem(plain_name(&file)).to_owned()
    };
    sessions.retain(|one| one.summary.id.starts_with(name) || file(one).starts_with(name));
    let is_whole = |one: &Listed| one.summary.id == name || file(one) == name;
    if sessions.iter().any(is_whole) {
        sessions.retain(is_whole);
    }
    sessions
}

/// Whether two sessions are one conversation: a session, and a copy with which an agent continues it.
/// A copy of a session with branches or a compaction may begin elsewhere.
fn is_family(one: &Listed, other: &Listed) -> bool {
    let is_from =
        |copy: &Listed, of: &Listed| is_made_from(&copy.path, (&of.path, &of.summary.agent));
    one.summary.id == other.summary.id
        && (one.summary.beginning == other.summary.beginning
            || is_from(one, other)
            || is_from(other, one))
}

/// Returns the family of a session.
pub fn family_of(session: &Listed, mut all: Vec<Listed>) -> Vec<Listed> {
    all.retain(|one| is_family(one, session));
    all
}

/// Returns the session that is meant by the name of all of these: of each family the one with the
/// last message, and of several such the original. `target` is as in [`find`].
pub fn meant(mut sessions: Vec<Listed>, target: Option<&'static Format>) -> Search {
    let is_target = |one: &Listed| target.is_some_and(|own| one.summary.agent == own.name);
    let is_copy = |one: &Listed| origin_of(&one.path).is_file();
    // Beside a session that it resumes, an agent may begin a file of the same identifier.
    let told: Vec<String> = sessions
        .iter()
        .filter(|one| one.summary.messages > 0)
        .map(|one| one.summary.id.clone())
        .collect();
    sessions.retain(|one| one.summary.messages > 0 || !told.contains(&one.summary.id));
    sessions.sort_by_cached_key(|one| {
        (is_target(one), Reverse(one.spoken()), is_copy(one), one.path.clone())
    });
    let mut heads: Vec<Listed> = Vec::new();
    for one in sessions {
        let is_other = |head: &Listed| {
            let is_equal = head.spoken() == one.spoken() && is_copy(head) == is_copy(&one);
            !is_family(head, &one) || (is_equal && head.summary.agent == one.summary.agent)
        };
        if heads.iter().all(is_other) {
            heads.push(one);
        }
    }
    match heads.len() {
        0 => Search::Nothing,
        1 => heads.pop().map_or(Search::Nothing, |one| Search::One(Box::new(one))),
        _ => Search::Several(heads),
    }
}
