//! Search for a session by name.

use super::cache::Cache;
use super::places::SessionPlace;
use super::survey::{Listed, survey, survey_projects};
use crate::batch::stem;
use crate::store::plain_name;

/// The name of the session with the last activity.
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

/// Whether a text can be the name of a session: `latest`, an identifier, or the beginning of one.
pub fn could_name(text: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    text == LATEST || (text.len() >= PREFIX && text.chars().all(fits))
}

/// Finds the session that a name means. Most agents put the identifier into the file's name, so
/// the other files are read only if no name contains the text.
pub fn find(name: &str, places: &[SessionPlace], cache: &mut Cache) -> Search {
    if !could_name(name) {
        return Search::Nothing;
    }
    if name == LATEST {
        let newest =
            survey_projects(places, None, cache).0.into_iter().max_by_key(|one| one.updated);
        return newest.map_or(Search::Nothing, |one| Search::One(Box::new(one)));
    }
    let called = |job: &crate::batch::Job| {
        let mut files = job.files();
        job.relative.to_string_lossy().contains(name)
            || files.any(|file| file.to_string_lossy().contains(name))
    };
    match among(name, survey(places, &called, cache).0) {
        Search::Nothing => among(name, survey_projects(places, None, cache).0),
        found => found,
    }
}

/// Returns the sessions with this name; a whole identifier precedes beginnings.
fn among(name: &str, mut sessions: Vec<Listed>) -> Search {
    let file = |one: &Listed| {
        let file = one.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        stem(plain_name(&file)).to_owned()
    };
    sessions.retain(|one| one.summary.id.starts_with(name) || file(one).starts_with(name));
    let is_whole = |one: &Listed| one.summary.id == name || file(one) == name;
    if sessions.iter().any(is_whole) {
        sessions.retain(is_whole);
    }
    sessions.sort_by_key(|one| std::cmp::Reverse(one.updated));
    match sessions.len() {
        0 => Search::Nothing,
        1 => sessions.pop().map_or(Search::Nothing, |one| Search::One(Box::new(one))),
        _ => Search::Several(sessions),
    }
}
