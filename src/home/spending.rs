//! Tokens and cost of many sessions, added up by day, model, project, agent or session.

use super::survey::Listed;
use crate::usage::{Spent, Usage};
use std::collections::{BTreeMap, HashMap};

/// Group into which tokens and cost are added up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// The day in UTC.
    Day,
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
    /// The name: a day, a model, a folder, an agent or the identifier of a session.
    pub name: String,
    /// Number of sessions.
    pub sessions: u64,
    /// Tokens, and the cost that the sessions contain.
    pub usage: Usage,
    /// Cost by the user's prices, of the tokens whose model has a price.
    pub estimate: Option<f64>,
    /// Tokens whose model has no price.
    pub unpriced: f64,
}

/// Adds up the tokens and cost of sessions. Days before `since` are left out.
pub fn spending(
    sessions: &[Listed],
    by: By,
    since: Option<&str>,
    prices: Option<&Prices>,
) -> Vec<Group> {
    let mut groups: BTreeMap<String, Group> = BTreeMap::new();
    for session in sessions {
        let summary = &session.summary;
        let mut seen = Vec::new();
        for spent in &summary.spent {
            if since.is_some_and(|since| !spent.day.is_empty() && spent.day.as_str() < since) {
                continue;
            }
            let name = match by {
                By::Day => spent.day.clone(),
                By::Model => spent.model.clone(),
                By::Project => summary.project.clone().unwrap_or_default(),
                By::Agent => summary.agent.clone(),
                By::Session => summary.id.clone(),
            };
            let group = groups.entry(name.clone()).or_default();
            group.usage.join(spent.usage);
            if !seen.contains(&name) {
                group.sessions += 1;
                seen.push(name);
            }
            let Some(prices) = prices else { continue };
            match estimate(spent, prices) {
                Some(cost) => *group.estimate.get_or_insert(0.0) += cost,
                None => group.unpriced += spent.usage.all(),
            }
        }
    }
    let mut groups: Vec<_> =
        groups.into_iter().map(|(name, group)| Group { name, ..group }).collect();
    if by != By::Day {
        groups.sort_by(|a, b| b.usage.all().total_cmp(&a.usage.all()));
    }
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
