//! Messages that one request showed to a model.

use super::form::{Form, Forming};
use super::list::List;
use crate::diagnostic::{Code, Diagnostic, Log};
use crate::error::{Cannot, Error, Result};
use crate::format::{Cx, Format, Parts};
use crate::formats::ruling;
use crate::position::{Located, Position};
use crate::record::{Kind, Record};
use std::io::Write;

/// Writes the messages of the request with this number in the run with this identifier. Returns the
/// number of messages.
///
/// # Errors
/// If the session keeps no such request, or reading or writing fails.
pub fn run(
    format: &'static Format,
    parts: &mut dyn Parts,
    (run, number): (&str, u64),
    form: Form,
    cx: &Cx<'_>,
    out: &mut dyn Write,
) -> Result<u64> {
    parts.keep()?;
    let log = Log::default();
    let quiet = Cx { options: cx.options, log: &log };
    let first = format.records(parts, &quiet)?.next().transpose()?.map(|first| first.value);
    let header = first.unwrap_or_else(|| Record::new(Kind::Session));
    let rules = ruling(format, &header.node);
    let (Some(prompt), Some(context)) = (rules.agent.prompt, rules.agent.context) else {
        let message = format!("{} keeps no requests of runs", rules.name);
        return Err(Error::request(Code::NoContext, message));
    };
    let (mut prompt, mut context) = (prompt(run, number as f64), context(&header));
    let mut found = false;
    for item in format.records(parts, cx)? {
        found = prompt.look(&item?.value).is_break();
        if found {
            break;
        }
    }
    if !found {
        let message = format!("run {run} has no request {number}");
        return Err(Error::request(Code::NoContext, message));
    }
    for item in format.records(parts, &quiet)? {
        if prompt.keep(&item?.value)?.is_break() {
            break;
        }
    }
    let (messages, missing) = prompt.messages()?;
    if missing > 0 {
        let message = format!("{missing} messages of the request are not in the session");
        cx.report(Diagnostic::new(Code::MissingTarget, message));
    }
    let (mut forming, mut list) = (Forming::new(form, context.as_ref(), rules), List::default());
    list.text(b"{\"messages\":[");
    let count = messages.len() as u64;
    for value in messages {
        let message = Located { value, at: Position::default() };
        forming.message(context.as_mut(), &message, &mut list);
    }
    forming.finish(context.as_ref(), &mut list);
    list.text(b"]");
    for (key, value) in forming.members(context.as_ref()) {
        super::member(key, &value, list.buffer());
    }
    list.text(b"}\n");
    out.write_all(list.buffer()).cannot("write")?;
    Ok(count)
}
