//! Events that the program adds to a session by itself, and the totals in them.

use super::wire;
use crate::format::{Counts, Totals};
use crate::json::Json;
use crate::record::{Field, Kind, Record};

/// Returns what an event is that the program adds by itself.
pub fn addition(record: &Record) -> Option<&'static str> {
    match record.kind {
        // Release 1.0.44 names the model at each start.
        Kind::ModelChange => Some("change of the model"),
        Kind::Notice | Kind::Event => Some("event"),
        _ => None,
    }
}

/// Returns the totals that the program notes when it ends, by model; a resumed session counts on.
pub fn totals(record: &Record) -> Vec<Totals> {
    let ends = record.kind == Kind::Notice && record.node.is(Field::Subtype, wire::SHUTDOWN);
    let metrics = record.node.json(Field::Data).filter(|_| ends);
    let models = metrics.and_then(|data| data.member("modelMetrics")).unwrap_or_default();
    models.pairs().iter().map(|(model, metrics)| of_model(model, metrics)).collect()
}

fn of_model(model: &Json, metrics: &Json) -> Totals {
    let usage = metrics.member("usage").unwrap_or_default();
    let count = |name: &str| usage.member(name).and_then(|count| count.float()).unwrap_or(0.0);
    let (cache_read, cache_write) = (count("cacheReadTokens"), count("cacheWriteTokens"));
    let all = Counts {
        // Tokens of the cache are among those that were sent.
        input: (count("inputTokens") - cache_read - cache_write).max(0.0),
        output: count("outputTokens"),
        cache_read,
        cache_write,
        cost: 0.0,
    };
    Totals { model: model.text(), all: Some(all), ..Totals::default() }
}
