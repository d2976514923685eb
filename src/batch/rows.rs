//! Sessions in a file that has several, one behind the other.

use super::found::{Found, ReadOptions};
use super::inputs::{Between, Job, JobSource, stem};
use crate::error::Result;
use crate::formats::FORMATS;
use crate::ids::is_uuid;
use crate::store::{Input, Row, plain_name};
use rayon::prelude::*;
use std::path::Path;
use std::sync::Arc;

/// Replaces each file of several sessions by a job for each of them. Others stay as they are, and so
/// does a file that cannot be read: that is reported when it is its turn.
#[must_use]
pub fn apart(jobs: Vec<Job>, reading: ReadOptions) -> Vec<Job> {
    let divided = |job: Job| match sessions(&job, reading) {
        Ok(sessions) if sessions.len() > 1 => {
            sessions.into_iter().map(|between| job_of(between, &job)).collect()
        }
        _ => vec![job],
    };
    // Mostly these are many sessions and no such file.
    jobs.into_par_iter().with_min_len(64).flat_map_iter(divided).collect()
}

fn job_of(between: Between, file: &Job) -> Job {
    let name = file.relative.file_name().unwrap_or_default().to_string_lossy();
    let (name, stem) = (plain_name(&name), stem(plain_name(&name)));
    let ending = name.get(stem.len()..).unwrap_or_default();
    let relative = file.relative.with_file_name(format!("{stem}-{}{ending}", between.number));
    Job { source: JobSource::Between(between), relative, ..file.clone() }
}

/// Returns the sessions of a file, if it is of a format whose files may have several.
fn sessions(job: &Job, reading: ReadOptions) -> Result<Vec<Between>> {
    // A pipe can be read only once.
    let is_there = |path: &&Arc<Path>| job.passed_over.is_none() && path.is_file();
    let may_have = |path: &&Arc<Path>| match reading.from {
        Some(from) => from.format.files.rows.is_some(),
        None => may_have(path),
    };
    let Some(path) = job.path().filter(may_have).filter(is_there) else {
        return Ok(Vec::new());
    };
    let mut input = Input::file(Arc::clone(path))?;
    let Some(found) = Found::of(&mut input, Some(path), reading, job.named)? else {
        return Ok(Vec::new());
    };
    let Some(rows) = found.format.files.rows else { return Ok(Vec::new()) };
    let spans = rows(&mut input)?;
    let text = if spans.len() > 1 { Row::unpacked(path)? } else { None };
    let between = |(number, span)| {
        let row = Row { path: Arc::clone(path), span, text: text.clone() };
        Between { format: found.format, version: found.sniffed.version, row, number }
    };
    Ok(spans.into_iter().map(between).collect())
}

/// Whether a file's name allows several sessions: it has the ending of a format whose files have
/// them, and is not the identifier of one, so that a folder of sessions is not opened twice.
fn may_have(path: &Path) -> bool {
    let Some(name) = path.file_name().and_then(|name| name.to_str()).map(plain_name) else {
        return false;
    };
    let of_rows = FORMATS.iter().filter(|format| format.files.rows.is_some());
    let mut endings = of_rows.flat_map(|format| format.extensions);
    let ending = endings.find(|ending| name.ends_with(**ending));
    let stem = ending.and_then(|ending| name.strip_suffix(ending));
    let is_one = |stem: &str| {
        let begin = stem.len().checked_sub(36);
        begin.and_then(|begin| stem.get(begin..)).is_some_and(is_uuid)
    };
    stem.is_some_and(|stem| !is_one(stem))
}
