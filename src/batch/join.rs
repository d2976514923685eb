//! Joining the sessions of one agent into a single session.

use super::found::{Opened, ReadOptions, backed_up};
use super::inputs::{Job, JobSource, grouped};
use super::merge;
use super::names::plain;
use crate::diagnostic::Log;
use crate::format::{Cx, Options};
use crate::formats::Spec;
use crate::record::{Field, Kind, Node};
use std::sync::Arc;

/// Sessions that become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Joining {
    /// Sessions that name the same agent, one behind the other.
    Agent,
    /// Copies of a session that were continued separately, as branches of one tree.
    Copies,
}

impl Joining {
    /// Returns the value of `--join`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Copies => "copies",
        }
    }
}

/// Replaces sessions that become one by one job.
pub fn join(what: Joining, jobs: Vec<Job>, from: Option<Spec>, options: &Options) -> Vec<Job> {
    match what {
        Joining::Agent => agents(jobs, from, options),
        Joining::Copies => merge::copies(jobs),
    }
}

/// Replaces all sessions of the same agent by one job, in the order of their times. An input
/// without an agent's name, or one that cannot be read, stays as it is.
fn agents(jobs: Vec<Job>, from: Option<Spec>, options: &Options) -> Vec<Job> {
    let named = jobs.into_iter().map(|job| {
        let header = header(&job, from, options);
        let text = |field| header.as_ref().and_then(|node| node.text(field));
        (text(Field::Agent), (text(Field::Created).unwrap_or_default(), job))
    });
    let agents = grouped(named).into_iter().map(|(name, jobs)| Agent { name, jobs });
    agents.filter_map(Agent::job).collect()
}

struct Agent {
    name: Option<String>,
    jobs: Vec<(String, Job)>,
}

impl Agent {
    fn job(mut self) -> Option<Job> {
        let Some(name) = self.name.filter(|_| self.jobs.len() > 1) else {
            return self.jobs.pop().map(|(_, job)| job);
        };
        // Times in this format sort as text. Sessions of the same second are sorted by their paths.
        self.jobs.sort_by(|a, b| (&a.0, a.1.path()).cmp(&(&b.0, b.1.path())));
        let files = self.jobs.iter().filter_map(|(_, job)| job.path()).map(Arc::clone).collect();
        let (_, first) = self.jobs.into_iter().next()?;
        let relative = first.relative.with_file_name(plain(&name));
        Some(Job { source: JobSource::Joined { agent: name, files }, relative, ..first })
    }
}

/// Returns the header record of a session without branches.
fn header(job: &Job, from: Option<Spec>, options: &Options) -> Option<Node> {
    let path = job.path().filter(|_| job.passed_over.is_none())?;
    let reading = ReadOptions::new(from, options);
    let mut opened = Opened::new(&job.source, reading, false).ok()??;
    if !job.named && backed_up(path, reading).is_some() {
        return None;
    }
    let version = opened.found.format.version(opened.found.sniffed.version)?;
    let log = Log::default();
    let cx = Cx { options, log: &log };
    let mut records = opened.found.format.records(&mut opened.input, &cx).ok()?;
    let first = records.next()?.ok()?.value;
    (first.kind == Kind::Session && !version.tree).then_some(first.node)
}
