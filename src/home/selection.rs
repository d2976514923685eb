//! Selection and order of listed sessions.

use super::mention::Mention;
use super::summary::State;
use super::survey::Listed;
use crate::format::Format;
use crate::json::Json;
use crate::times;
use jiff::{SignedDuration, Timestamp};
use rayon::iter::{IndexedParallelIterator, IntoParallelIterator, ParallelIterator};
use std::cmp::Ordering;
use std::path::{Path, PathBuf};

/// Order of sessions, each with the highest value first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sort {
    /// By the last activity.
    #[default]
    Time,
    /// By the size of the files.
    Size,
    /// By the number of messages.
    Messages,
    /// By the number of tokens.
    Tokens,
    /// By the cost.
    Cost,
}

/// Conditions that sessions must meet, and their order.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// The format of the agent.
    pub format: Option<&'static Format>,
    /// Paths of the project's folder, or of one above it; any project if there are none.
    pub projects: Vec<PathBuf>,
    /// The earliest time of the last activity.
    pub since: Option<Timestamp>,
    /// The state of the file.
    pub state: Option<State>,
    /// A text in the messages.
    pub mention: Option<Mention>,
    /// The order.
    pub sort: Sort,
    /// The maximum number of sessions.
    pub most: Option<usize>,
}

/// Number of sessions that are searched for a text before it is known whether more are needed.
const SEARCHED: usize = 64;

impl Selection {
    /// Returns the sessions that meet the conditions, in order.
    pub fn of(&self, mut sessions: Vec<Listed>) -> Vec<Listed> {
        sessions.retain(|session| self.takes(session));
        sessions.sort_by(|a, b| self.order(a, b).then_with(|| a.path.cmp(&b.path)));
        let most = self.most.unwrap_or(usize::MAX);
        let Some(mention) = &self.mention else {
            sessions.truncate(most);
            return sessions;
        };
        let mut found = Vec::new();
        let mut rest = sessions.into_iter();
        while found.len() < most {
            let size = if self.most.is_some() { SEARCHED } else { usize::MAX };
            let next: Vec<_> = rest.by_ref().take(size).collect();
            if next.is_empty() {
                break;
            }
            let searched = next.into_par_iter().with_max_len(1).filter_map(|mut session| {
                session.hit = Some(mention.line_in(&session)?);
                Some(session)
            });
            found.extend(searched.collect::<Vec<_>>());
        }
        found.truncate(most);
        found
    }

    fn takes(&self, session: &Listed) -> bool {
        let summary = &session.summary;
        let project = || summary.project.as_deref().map(Path::new);
        self.format.is_none_or(|format| summary.agent == format.name)
            && self.state.is_none_or(|state| summary.state == state)
            && self.since.is_none_or(|since| session.updated.is_some_and(|at| at >= since))
            && (self.projects.is_empty()
                || project().is_some_and(|own| self.projects.iter().any(|of| own.starts_with(of))))
    }

    fn order(&self, a: &Listed, b: &Listed) -> Ordering {
        match self.sort {
            Sort::Time => b.updated.cmp(&a.updated),
            Sort::Size => b.size.cmp(&a.size),
            Sort::Messages => b.summary.messages.cmp(&a.summary.messages),
            Sort::Tokens => b.summary.tokens.cmp(&a.summary.tokens),
            Sort::Cost => {
                let cost = |session: &Listed| session.summary.cost.unwrap_or(0.0);
                cost(b).total_cmp(&cost(a))
            }
        }
    }
}

/// Returns the time that the user names: an age such as `7d`, or a date.
///
/// ```
/// use copyist::home::since;
/// let now = "2026-01-08T12:00:00Z".parse().unwrap();
/// assert_eq!(since("7d", now).unwrap().to_string(), "2026-01-01T12:00:00Z");
/// assert_eq!(since("90m", now).unwrap().to_string(), "2026-01-08T10:30:00Z");
/// assert_eq!(since("2026-01-02", now).unwrap().to_string(), "2026-01-02T00:00:00Z");
/// assert!(since("soon", now).is_err());
/// ```
pub fn since(text: &str, now: Timestamp) -> Result<Timestamp, String> {
    let wrong = || {
        format!(
            "`{text}` is neither an age such as 90m, 12h, 7d or 2w, nor a date such as 2026-01-31"
        )
    };
    let unit = |minutes: i64| {
        let count: i64 = text.get(..text.len() - 1)?.parse().ok().filter(|count| *count >= 0)?;
        let age = SignedDuration::from_secs(count.checked_mul(minutes)?.checked_mul(60)?);
        now.checked_sub(age).ok()
    };
    let age = match text.bytes().last() {
        Some(b'm') => unit(1),
        Some(b'h') => unit(60),
        Some(b'd') => unit(24 * 60),
        Some(b'w') => unit(7 * 24 * 60),
        _ => times::read(&Json::string(&format!("{text}T00:00:00Z")))
            .or_else(|| times::read(&Json::string(text))),
    };
    age.ok_or_else(wrong)
}
