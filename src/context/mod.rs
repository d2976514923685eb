//! What an agent would send to a model if it took the session up again.

mod anthropic;
mod form;
mod openai;
mod plain;

pub use form::Form;

use crate::diagnostic::{Code, Log};
use crate::error::{Error, Result};
use crate::format::{Context, Cx, Format, Options, Parts, Target};
use crate::json::{Json, text};
use crate::lines::Lines;
use crate::position::Located;
use crate::record::{Field, Node, Record};
use crate::session::{Session, is_entry};
use crate::tree::Path;
use form::{Forming, List};
use plain::plain;
use std::io::Write;
use std::ops::ControlFlow;

/// What is asked for.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// The node to stand at; the session's own leaf if none is given.
    pub leaf: Option<String>,
    /// Whether header, leaf, branch and labels are wanted around the messages.
    pub details: bool,
    /// The shape of the messages.
    pub form: Form,
}

/// Writes the context of a session as one JSON object. Gives the number of entries.
///
/// The session is read three times, so that nothing of it need be kept: for its shape, for what
/// decides which messages count, and for the messages.
///
/// # Errors
/// If the format has no rules for it, the leaf is not there, entries are their own ancestors, or
/// reading or writing fails.
pub fn run(
    format: &'static Format,
    parts: &mut dyn Parts,
    request: &Request,
    cx: &Cx<'_>,
    out: &mut dyn Write,
) -> Result<u64> {
    let mut session = Session::open(format, parts, cx)?;
    let mut branch = Vec::new();
    let route = Route::of(&session, request.leaf.as_deref())?;
    let mut context = look(&mut session, &route, &mut |id| {
        if request.details {
            branch.push(id);
        }
    })?;
    let mut to = Output { out, list: List::default() };
    to.list.text(b"{");
    if request.details {
        let header = newest_header(&mut session)?;
        let branch = if route.lost_leaf { &[] } else { branch.as_slice() };
        details(&session, request, &header, branch, to.list.buffer());
    }
    to.list.text(b"\"messages\":[");
    let mut forming = Forming::new(request.form);
    messages(&mut session, &route, context.as_mut(), &mut |context, message| {
        forming.message(context, &message, &mut to.list);
        to.flush_if(CHUNK)
    })?;
    forming.finish(&mut to.list);
    to.list.text(b"]");
    for (key, value) in forming.members(context.as_ref()) {
        member(key, &value, to.list.buffer());
    }
    to.list.text(if request.details { b"}}\n" } else { b"}\n" });
    to.flush_if(0)?;
    Ok(session.entries())
}

/// Shows the messages that a model would get, in the form in which the contexts of different
/// formats are compared.
///
/// # Errors
/// As [`run`].
pub fn each(
    session: &mut Session<'_>,
    leaf: Option<&str>,
    show: &mut dyn FnMut(Node) -> Result<()>,
) -> Result<()> {
    let route = Route::of(session, leaf)?;
    let mut context = look(session, &route, &mut |_| {})?;
    messages(session, &route, context.as_mut(), &mut |context, message| {
        let sent = context.sent(&message);
        sent.and_then(|sent| plain(&sent, false)).map_or(Ok(()), &mut *show)
    })
}

/// Output is handed on in pieces of this size.
const CHUNK: usize = 256 << 10;

struct Output<'o> {
    out: &'o mut dyn Write,
    list: List,
}

impl Output<'_> {
    /// Hands on what there is, if it is that much.
    fn flush_if(&mut self, size: usize) -> Result<()> {
        let buffer = self.list.buffer();
        if buffer.len() >= size {
            self.out.write_all(buffer).map_err(|error| Error::io("cannot write", error))?;
            buffer.clear();
        }
        Ok(())
    }
}

/// The entries that a context is built from.
struct Route {
    path: Path,
    /// Whether the last entry cannot be found by its identifier, and is the context alone.
    lost_leaf: bool,
}

impl Route {
    fn of(session: &Session<'_>, leaf: Option<&str>) -> Result<Self> {
        let path = session.path(leaf.map(Json::string).as_ref())?;
        let empty = |id: &Json| id.as_bytes() == b"\"\"";
        let lost_leaf = session.leaf().is_none_or(empty) && session.entries() > 0;
        Ok(Self { path, lost_leaf })
    }

    /// Shows each record with its position on the path, in the path's order.
    fn walk(
        &self,
        session: &mut Session<'_>,
        show: &mut dyn FnMut(u32, &Located<Record>) -> Result<()>,
    ) -> Result<()> {
        // Where parents stand behind their children, the path has another order than the file.
        let mut sorted = (!self.path.is_in_file_order()).then(Vec::new);
        let mut ordinal = 0;
        let mut last = None;
        session.walk(&mut |located| {
            if self.lost_leaf && is_entry(&located.value) {
                last = Some(located);
            } else if located.value.is_node() {
                let position = self.path.position(ordinal);
                ordinal += 1;
                match (position, &mut sorted) {
                    (None, _) => {}
                    (Some(position), None) => show(position, &located)?,
                    (Some(position), Some(waiting)) => waiting.push((position, located)),
                }
            }
            Ok(ControlFlow::Continue(()))
        })?;
        let mut waiting = sorted.unwrap_or_default();
        waiting.sort_by_key(|(position, _)| *position);
        waiting.extend(last.map(|located| (0, located)));
        waiting.iter().try_for_each(|(position, located)| show(*position, located))
    }
}

/// Shows the route to the format's rules for the first time, and its identifiers to `seen`.
fn look(
    session: &mut Session<'_>,
    route: &Route,
    seen: &mut dyn FnMut(Json),
) -> Result<Box<dyn Context>> {
    let Some(open) = session.format().context else {
        let message = format!("{} says nothing of what is sent to a model", session.format().name);
        return Err(Error::request(Code::NoContext, message));
    };
    let mut context = open();
    route.walk(session, &mut |position, located| {
        if let Some(id) = located.value.node.json(Field::Id) {
            seen(id.clone());
        }
        context.look(position, located)
    })?;
    Ok(context)
}

/// Shows the route for the second time, and hands on what it says.
fn messages(
    session: &mut Session<'_>,
    route: &Route,
    context: &mut dyn Context,
    show: &mut dyn FnMut(&mut dyn Context, Record) -> Result<()>,
) -> Result<()> {
    let place = |id: &Json| route.path.position(session.tree().ordinal(id)?);
    for message in context.begin(&place) {
        show(context, message)?;
    }
    route.walk(session, &mut |position, located| match context.message(position, &located.value) {
        Some(message) => show(context, message),
        None => Ok(()),
    })
}

/// Writes a member that is not the first of its object.
fn member(key: &str, value: &[u8], out: &mut Vec<u8>) {
    out.push(b',');
    text::quote(key, out);
    out.push(b':');
    out.extend_from_slice(value);
}

/// The session's header as its newest version has it.
fn newest_header(session: &mut Session<'_>) -> Result<Vec<u8>> {
    let format = session.format();
    let newest = format.versions.last().map_or(Target::Same, |v| Target::Version(v.number));
    let options = Options { force_version: true, ..session.options().clone() };
    let log = Log::default();
    let cx = Cx { options: &options, log: &log };
    let mut lines = Lines::new(session.parts().main()?, options.max_line);
    lines.skip_bom()?;
    while let Some(line) = lines.next()? {
        let mut out = Vec::new();
        if let Ok(mut plane) = (format.plane)(&line, newest, &cx) {
            plane.line(&line, &mut out)?;
            return Ok(out.trim_ascii().to_vec());
        }
    }
    Ok(b"null".to_vec())
}

/// Writes what stands around the messages, up to the opening of `context`.
fn details(
    session: &Session<'_>,
    request: &Request,
    header: &[u8],
    branch: &[Json],
    out: &mut Vec<u8>,
) {
    out.extend_from_slice(b"\"header\":");
    out.extend_from_slice(header);
    let none = (session.entries() == 0).then_some(Json::constant("null"));
    let leaf = request.leaf.as_deref().map(Json::string).or(session.leaf().cloned()).or(none);
    if let Some(leaf) = leaf {
        member("leafId", leaf.as_bytes(), out);
    }
    if let Some(name) = session.name() {
        member("sessionName", name.as_bytes(), out);
    }
    member("entries", session.entries().to_string().as_bytes(), out);
    let branch: Vec<&[u8]> = branch.iter().map(Json::as_bytes).collect();
    member("branch", &[b"[", branch.join(&b","[..]).as_slice(), b"]"].concat(), out);
    let pair =
        |(target, label): (&Json, &Json)| [target.as_bytes(), b":", label.as_bytes()].concat();
    let mut labels: Vec<Vec<u8>> = session.labels().map(pair).collect();
    labels.sort();
    member("labels", &[b"{", labels.join(&b","[..]).as_slice(), b"}"].concat(), out);
    member("context", b"{", out);
}
