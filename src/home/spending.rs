//! Tokens and cost of many sessions, added up by day, month, model, project, agent or session.

use super::survey::Listed;
use crate::usage::{Spent, Usage};
use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap};

/// Length of the month in a day such as 2026-01-31.
const MONTH: usize = "2026-01".len();

/// Group into which tokens and cost are added up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// The day in the zone of the machine.
    Day,
    /// The month in the zone of the machine.
    Month,
    /// The model.
    Model,
    /// The folder of the project.
    Project,
    /// The agent.
    Agent,
    /// The session.
    Session,
}

/// Prices of a model in US dollars for a million tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Price {
    /// Tokens sent.
    pub input: f64,
    /// Tokens received.
    pub output: f64,
    /// Tokens read from the cache.
    pub cache_read: f64,
    /// Tokens written to the cache.
    pub cache_write: f64,
}

/// Prices by models, or beginnings of their names.
pub type Prices = HashMap<String, Price>;

/// Tokens and cost of a group.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Group {
    /// The names: a day, a month, a model, a folder, an agent or the identifier of a session.
    pub names: Vec<String>,
    /// Number of sessions.
    pub sessions: u64,
    /// Tokens, and the cost that the sessions contain.
    pub usage: Usage,
    /// Cost by the user's prices, of the tokens whose model has a price.
    pub estimate: Option<f64>,
    /// Tokens whose model has no price.
    pub unpriced: f64,
}

/// First and last day of which tokens and cost are added up.
#[derive(Clone, Debug, Default)]
pub struct Days {
    /// First day; any if there is none.
    pub first: Option<String>,
    /// Last day; any if there is none.
    pub last: Option<String>,
}

impl Days {
    /// Whether a day is between the two. An answer without a time is counted always.
    fn contain(&self, day: &str) -> bool {
        day.is_empty()
            || self.first.as_deref().is_none_or(|first| first <= day)
                && self.last.as_deref().is_none_or(|last| day <= last)
    }
}

/// Adds up the tokens and cost of sessions on these days, in groups and groups of these.
pub fn spending(
    sessions: &[Listed],
    by: &[By],
    days: &Days,
    prices: Option<&Prices>,
) -> Vec<Group> {
    let mut groups: BTreeMap<Vec<String>, Group> = BTreeMap::new();
    for session in sessions {
        let summary = &session.summary;
        let mut seen = Vec::new();
        for spent in &summary.spent {
            if !days.contain(&spent.day) {
                continue;
            }
            let name = |by: &By| match by {
                By::Day => spent.day.clone(),
                By::Month => spent.day.chars().take(MONTH).collect(),
                By::Model => spent.model.clone(),
                By::Project => summary.project.clone().unwrap_or_default(),
                By::Agent => summary.agent.clone(),
                By::Session => summary.id.clone(),
            };
            let names: Vec<_> = by.iter().map(name).collect();
            let group = groups.entry(names.clone()).or_default();
            group.usage.join(spent.usage);
            if !seen.contains(&names) {
                group.sessions += 1;
                seen.push(names);
            }
            let Some(prices) = prices else { continue };
            match estimate(spent, prices) {
                Some(cost) => *group.estimate.get_or_insert(0.0) += cost,
                None => group.unpriced += spent.usage.all(),
            }
        }
    }
    let groups = groups.into_iter().map(|(names, group)| Group { names, ..group }).collect();
    ordered(groups, by)
}

/// Sorts groups: days and months by time, others with the most tokens first, and the groups of one
/// group together.
fn ordered(mut groups: Vec<Group>, by: &[By]) -> Vec<Group> {
    let mut sums: HashMap<Vec<String>, f64> = HashMap::new();
    for group in &groups {
        for depth in 1..=group.names.len() {
            *sums.entry(group.names[..depth].to_vec()).or_default() += group.usage.all();
        }
    }
    let sum = |group: &Group, depth: usize| sums.get(&group.names[..=depth]).copied();
    groups.sort_by(|a, b| {
        let levels = by.iter().enumerate().map(|(depth, by)| match by {
            By::Day | By::Month => a.names[depth].cmp(&b.names[depth]),
            _ => {
                let (a_sum, b_sum) = (sum(a, depth), sum(b, depth));
                let most = b_sum.partial_cmp(&a_sum).unwrap_or(Ordering::Equal);
                most.then_with(|| a.names[depth].cmp(&b.names[depth]))
            }
        });
        levels.fold(Ordering::Equal, Ordering::then)
    });
    groups
}

/// Returns the cost of tokens by the price of their model: the one with its name, or the one with
/// the longest beginning of it.
fn estimate(spent: &Spent, prices: &Prices) -> Option<f64> {
    let fitting = prices.iter().filter(|(name, _)| spent.model.starts_with(name.as_str()));
    let (_, price) = fitting.max_by_key(|(name, _)| name.len())?;
    let Usage { input, output, cache_read, cache_write, .. } = spent.usage;
    let sum = input * price.input
        + output * price.output
        + cache_read * price.cache_read
        + cache_write * price.cache_write;
    Some(sum / 1e6)
}
