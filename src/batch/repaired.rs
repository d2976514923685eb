//! A repair that tells how much of the session is sent to a model.

use crate::context;
use crate::diagnostic::Log;
use crate::error::Result;
use crate::format::{Cx, Format, OnError, Options, Parts, Repaired, Sink, Wish};
use crate::repair;

/// Repairs a session, whose messages before and after are those that `context` would print.
///
/// # Errors
/// As [`repair::run`].
pub fn repaired(
    format: &'static Format,
    on: (&mut dyn Parts, &mut dyn Sink),
    wish: &Wish,
    cx: &Cx<'_>,
) -> Result<Repaired> {
    let options = Options { on_error: OnError::Keep, ..cx.options.unspelled() };
    let counting = |parts: &mut dyn Parts| {
        let log = Log::default();
        context::count(format, parts, &Cx { options: &options, log: &log }).unwrap_or_default()
    };
    repair::run_counting(format, on, wish, Some(&counting), cx)
}
