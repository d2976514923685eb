//! Size of what a model gets from a session, and the largest size that the session records.

use super::opened;
use crate::batch::{Job, Opened};
use crate::context;
use crate::diagnostic::Log;
use crate::error::Result;
use crate::format::Cx;
use crate::formats;
use crate::home::summary;
use crate::json::Json;
use crate::record::Field;
use crate::usage::Usage;
use std::collections::HashMap;

/// Estimates the number of tokens of what a model gets from a session: one for four bytes of text.
pub fn tokens_of(job: &Job) -> Result<u64> {
    let Opened { found, mut input, .. } = opened(job)?;
    let (options, log) = (summary::options(), Log::default());
    let cx = Cx { options: &options, log: &log };
    Ok(context::size(found.format, &mut input, &cx)?.bytes / 4)
}

/// Returns the last model of a session and the largest number of tokens that the session records for
/// it: its window where the software notes that, a context before a compaction, or what a request
/// sent. `None` if the session records none.
pub fn largest_of(job: &Job) -> Result<Option<(String, u64)>> {
    let Opened { found, mut input, .. } = opened(job)?;
    let (options, log) = (summary::options(), Log::default());
    let cx = Cx { options: &options, log: &log };
    let (mut model, mut largest) = (String::new(), HashMap::<String, u64>::new());
    for record in formats::records(found.format, &mut input, &cx)?.filter_map(Result::ok) {
        let record = record.value;
        if record.is_aside() {
            continue;
        }
        let node = &record.node;
        model = node.text(Field::Model).filter(|name| !name.is_empty()).unwrap_or(model);
        let window = found.format.agent.window.and_then(|window| window(&record));
        let before = node.json(Field::TokensBefore).and_then(Json::float);
        let sent = node.node(Field::Usage).map(Usage::of);
        let sent = sent.map(|usage| usage.input + usage.cache_read + usage.cache_write);
        let known = [before, sent].into_iter().flatten().map(|tokens| tokens as u64).chain(window);
        if let Some(most) = known.max().filter(|most| *most > 0) {
            let own = largest.entry(model.clone()).or_default();
            *own = most.max(*own);
        }
    }
    Ok(largest.remove(&model).filter(|_| !model.is_empty()).map(|most| (model, most)))
}
