//! Merging copies of a session that were continued separately into one tree.

use super::found::Found;
use super::identity::identity;
use super::inputs::{Job, JobSource, grouped};
use std::time::SystemTime;

/// Replaces all copies of one session by one job, in the order in which they were written last. An
/// input that has no other copy, or whose entries have no identifiers, stays as it is.
pub fn copies(jobs: Vec<Job>) -> Vec<Job> {
    // A tree at whose last entry its software continues.
    let tree = |found: &Found| {
        let version = found.format.version(found.sniffed.version);
        found.format.agent.ends_at_last && version.is_some_and(|version| version.tree)
    };
    let groups = grouped(jobs.into_iter().map(|job| (identity(&job, tree), job)));
    groups.into_iter().filter_map(|(_, copies)| merge(copies)).collect()
}

fn merge(mut group: Vec<Job>) -> Option<Job> {
    if group.len() < 2 {
        return group.pop();
    }
    let written = |job: &Job| {
        let meta = job.path().and_then(|path| std::fs::metadata(path).ok());
        meta.and_then(|meta| meta.modified().ok()).unwrap_or(SystemTime::UNIX_EPOCH)
    };
    group.sort_by_key(|job| (written(job), job.path().cloned()));
    let files = group.iter().filter_map(Job::path).cloned().collect();
    // Sync programs put words behind the name of a copy.
    let name = group.iter().map(|job| job.relative.clone());
    let relative = name.min_by_key(|name| name.as_os_str().len())?;
    let named = group.iter().any(|job| job.named);
    Some(Job { source: JobSource::Copies(files), relative, named, passed_over: None })
}
