//! Context that an agent would send to a model if it continued the session.

mod ahead;
mod anthropic;
mod counted;
mod form;
mod joined;
mod list;
mod omitted;
mod openai;
mod plain;
mod prompt;
mod refused;
mod route;
mod size;
mod turn;

pub use crate::diagnostic::{Code, Log};
use crate::error::{Cannot, Error, Result};
use crate::format::{Api, Context, Cx, Format, Options, Parts, Reader, Target};
use crate::formats::ruling;
use crate::ids::hash;
use crate::json::{Json, text};
use crate::lines::Lines;
use crate::members::Scan;
use crate::position::Located;
use crate::position::Position;
use crate::record::{Field, Kind, Node, Record};
use crate::session::Session;
pub use ahead::Opened;
use counted::Counted;
pub use form::Form;
use form::{Forming, Sending};
use joined::{Joined, Whole};
use list::List;
pub use plain::{Thoughts, as_message, is_plain, plain};
pub use refused::check;
use route::{Route, Walk};
pub use size::{Size, size, size_of};
use std::io::Write;
use std::ops::ControlFlow;

/// Options of one request for a context.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// The node at which the context ends; the session's own leaf if none is given.
    pub leaf: Option<String>,
    /// Whether header, leaf, branch and labels are wanted around the messages.
    pub details: bool,
    /// The shape of the messages.
    pub form: Form,
    /// The turn at which the context ends: it contains everything before the turn, and its
    /// question. Turns are counted as `inspect` counts them: a summary of earlier turns is not a
    /// turn.
    pub turn: Option<u64>,
    /// One request of a run whose messages are wanted instead: the run's identifier, and the
    /// request's number.
    pub call: Option<(String, u64)>,
    /// Whether messages that the source does not hold, and its reader restored, are left out.
    pub no_restore: bool,
}

/// Writes the context of a session as one JSON object. Returns the number of entries.
///
/// The records are read three times: for the shape of the session, for the data that decide which
/// messages count, and for the messages. So nothing of a large session must be kept.
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
    if let Some((run, number)) = &request.call {
        return prompt::run(format, parts, (run, *number), request.form, cx, out);
    }
    let Opened { mut session, context } = Opened::of(format, parts, cx, &mut |_| {})?;
    let ruling = ruling(format, &session.header().node);
    let log = Log::default();
    let quiet = Cx { options: cx.options, log: &log };
    let mut route = Route::of(&session, request.leaf.as_deref())?;
    let mut given_leaf = request.leaf.as_deref().map(Json::string);
    let whole = given_leaf.is_none() && request.turn.is_none() && !request.details;
    if let Some(turn) = request.turn {
        (route, given_leaf) = turn::up_to(&mut session, route, turn, &quiet)?;
    }
    let mut branch = Vec::new();
    let (context, route) = match context.filter(|_| whole) {
        Some(context) => (context, route),
        None => look(&mut session, route, &quiet, &mut |id| {
            if request.details {
                branch.push(id);
            }
        })?,
    };
    let mut to = Output { out, list: List::default() };
    to.list.text(b"{");
    if request.details {
        let header = newest_header(&mut session)?;
        details(&session, given_leaf, &header, &branch, to.list.buffer());
    }
    to.list.text(b"\"messages\":[");
    let entries = session.entries();
    let mut messages = Messages::open(session, context, route, |all| all.into_records(&quiet))?;
    let mut forming = Forming::new(request.form, messages.context.as_ref(), ruling);
    while let Some(message) = messages.next() {
        let message = message?;
        if request.no_restore && message.value.is_restored() {
            continue;
        }
        cx.report_outside_images(&message);
        forming.message(messages.context.as_mut(), &message, &mut to.list);
        to.flush_if(CHUNK)?;
    }
    forming.finish(messages.context.as_ref(), &mut to.list);
    to.list.text(b"]");
    for (key, value) in forming.members(messages.context.as_ref()) {
        member(key, &value, to.list.buffer());
    }
    to.list.text(if request.details { b"}}\n" } else { b"}\n" });
    to.flush_if(0)?;
    Ok(entries)
}

/// Returns how many messages [`run`] prints of a session in the form of its software, and a hash of
/// the compaction among them.
///
/// # Errors
/// The errors of [`run`].
pub fn count(
    format: &'static Format,
    parts: &mut dyn Parts,
    cx: &Cx<'_>,
) -> Result<(u64, Option<u64>)> {
    let log = Log::default();
    let quiet = Cx { options: cx.options, log: &log };
    let mut messages = Opened::of(format, parts, cx, &mut |_| {})?.messages(&quiet)?;
    let (mut counted, mut compaction) = (Counted::of(messages.context.as_ref()), None);
    while let Some(message) = messages.next() {
        let message = message?.value;
        if message.kind == Kind::Compaction {
            compaction = message.node.json(Field::Summary).map(|text| hash(text.as_bytes()));
        }
        counted.message(messages.context.as_ref(), &message);
    }
    Ok((counted.finish(), compaction))
}

/// Returns the messages that a model would get, each with the place that it comes from, in the form
/// in which the contexts of different formats are compared. Defects of the session are reported in
/// the log of `cx`; `quiet` is for the walks after the first.
///
/// # Errors
/// The errors of [`run`].
pub fn sent<'a>(
    format: &'static Format,
    parts: &'a mut dyn Parts,
    cx: &Cx<'_>,
    quiet: &'a Cx<'a>,
) -> Result<impl Iterator<Item = Result<Located<Record>>> + use<'a>> {
    Ok(compared(Opened::of(format, parts, cx, &mut |_| {})?.messages(quiet)?))
}

/// Returns the messages that a model would get if the entries behind the last one that has an
/// identifier did not exist. An agent that continues at an entry without an identifier knows no
/// entry before it.
///
/// # Errors
/// The errors of [`run`].
pub fn sent_to_last_named<'a>(
    format: &'static Format,
    parts: &'a mut dyn Parts,
    cx: &Cx<'_>,
    quiet: &'a Cx<'a>,
) -> Result<impl Iterator<Item = Result<Located<Record>>> + use<'a>> {
    let mut session = Session::open(format, parts, cx)?;
    let route = Route::to_last_named(&session)?;
    let (context, route) = look(&mut session, route, quiet, &mut |_| {})?;
    Ok(compared(Messages::open(session, context, route, |all| all.into_records(quiet))?))
}

/// Returns the session's identifier, and its messages up to a leaf as the agent's software sends
/// them, in blocks, with all thoughts of the model.
///
/// # Errors
/// The errors of [`run`].
pub fn conversation<'a>(
    format: &'static Format,
    parts: &'a mut dyn Parts,
    leaf: Option<&str>,
    cx: &Cx<'_>,
    quiet: &'a Cx<'a>,
) -> Result<(Option<String>, impl Iterator<Item = Result<Node>> + use<'a>)> {
    let mut opened = Opened::of(format, parts, cx, &mut |_| {})?;
    let header = &opened.session.header().node;
    let (id, ruling) = (header.text(Field::Id), ruling(format, header));
    let (context, route) = opened.ruled(leaf, quiet)?;
    let mut messages =
        Messages::open(opened.session, context, route, |all| all.into_records(quiet))?;
    let api = Some(Api::Anthropic);
    let mut sending = Sending::new(api, messages.context.as_ref(), ruling).with_thoughts();
    let (mut ready, mut ended) = (Vec::<Whole>::new().into_iter(), false);
    let sent = std::iter::from_fn(move || {
        loop {
            if let Some(whole) = ready.next() {
                return Some(Ok(whole.node));
            }
            let mut more = Vec::new();
            match messages.next() {
                Some(Err(error)) => return Some(Err(error)),
                None if std::mem::replace(&mut ended, true) => return None,
                None => sending.finish(&mut more),
                Some(Ok(message)) => {
                    let context = messages.context.as_mut();
                    sending.message(context, &message, &mut |_| {}, &mut more);
                }
            }
            ready = more.into_iter();
        }
    });
    Ok((id, sent))
}

/// Returns messages in the form in which contexts are compared.
fn compared<'a>(
    mut messages: Messages<'a>,
) -> impl Iterator<Item = Result<Located<Record>>> + use<'a> {
    let mut joined = Joined::compared();
    let mut ended = false;
    std::iter::from_fn(move || {
        loop {
            if let Some(whole) = joined.next() {
                let at = whole.place(0);
                let value = Record { kind: Kind::Message, node: whole.node };
                return Some(Ok(Located { value, at }));
            }
            match messages.next() {
                Some(Err(error)) => return Some(Err(error)),
                None if std::mem::replace(&mut ended, true) => return None,
                None => joined.finish(),
                Some(Ok(Located { value, at })) => {
                    let sent = messages.context.sent(&value);
                    let sent = sent.and_then(|sent| plain(&sent, Thoughts::None));
                    sent.into_iter().for_each(|sent| joined.add(at, sent));
                }
            }
        }
    })
}

/// Size, in bytes, of the pieces in which output is passed on.
const CHUNK: usize = 256 << 10;

struct Output<'o> {
    out: &'o mut dyn Write,
    list: List,
}

impl Output<'_> {
    /// Passes the buffered output on, if it has reached this size.
    fn flush_if(&mut self, size: usize) -> Result<()> {
        let buffer = self.list.buffer();
        if buffer.len() >= size {
            self.out.write_all(buffer).cannot("write")?;
            buffer.clear();
        }
        Ok(())
    }
}

/// Shows the route to the format's rules for the first time, and its identifiers to `seen`.
fn look(
    session: &mut Session<'_>,
    route: Route,
    quiet: &Cx<'_>,
    seen: &mut dyn FnMut(Json),
) -> Result<(Box<dyn Context>, Route)> {
    let Some(open) = ruling(session.format(), &session.header().node).agent.context else {
        let message = format!("{} does not define what is sent to a model", session.format().name);
        return Err(Error::request(Code::NoContext, message));
    };
    let mut context = open(session.header());
    let mut walk = Walk::over(session.records(quiet)?, route);
    while let Some(item) = walk.next_past(&mut |record| context.pass(record)) {
        let (position, located) = item?;
        if let Some(id) = located.value.node.json(Field::Id).filter(|_| !walk.route.lost_leaf) {
            seen(id.clone());
        }
        context.look(position, &located)?;
    }
    Ok((context, walk.route))
}

impl<'s> Opened<'s> {
    /// Returns the messages of the session's newest context.
    ///
    /// # Errors
    /// The errors of [`run`].
    fn messages<'a>(mut self, quiet: &'a Cx<'a>) -> Result<Messages<'a>>
    where
        's: 'a,
    {
        let (context, route) = self.ruled(None, quiet)?;
        Messages::open(self.session, context, route, |all| all.into_records(quiet))
    }

    /// Returns the rules, which have seen the route to a leaf or else the session's own, and the route.
    fn ruled(&mut self, leaf: Option<&str>, quiet: &Cx<'_>) -> Result<(Box<dyn Context>, Route)> {
        let route = Route::of(&self.session, leaf)?;
        match self.context.take().filter(|_| leaf.is_none()) {
            Some(context) => Ok((context, route)),
            None => look(&mut self.session, route, quiet, &mut |_| {}),
        }
    }
}

/// Shows the route to the rules for the second time, and returns its messages.
struct Messages<'a> {
    context: Box<dyn Context>,
    walk: Walk<'a>,
    /// Records before the messages of the route.
    before: std::vec::IntoIter<Record>,
}

impl<'a> Messages<'a> {
    fn open<'s>(
        session: Session<'s>,
        mut context: Box<dyn Context>,
        route: Route,
        records: impl FnOnce(Session<'s>) -> Result<Reader<'a>>,
    ) -> Result<Self> {
        let place = |id: &Json| route.path.position(session.tree().ordinal(id)?);
        let before = context.begin(&place).into_iter();
        Ok(Self { context, walk: Walk::over(records(session)?, route), before })
    }
}

impl Iterator for Messages<'_> {
    type Item = Result<Located<Record>>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(value) = self.before.next() {
            return Some(Ok(Located { value, at: Position::default() }));
        }
        loop {
            match self.walk.next()? {
                Err(error) => return Some(Err(error)),
                Ok((position, located)) => {
                    if let Some(value) = self.context.message(position, &located.value) {
                        return Some(Ok(Located { value, at: located.at }));
                    }
                }
            }
        }
    }
}

/// Writes a member that is not the first of its object.
fn member(key: &str, value: &[u8], out: &mut Vec<u8>) {
    out.push(b',');
    text::quote(key, out);
    out.push(b':');
    out.extend_from_slice(value);
}

/// Returns the session's header in the form of its newest version.
fn newest_header(session: &mut Session<'_>) -> Result<Vec<u8>> {
    let format = session.format();
    let newest = format.versions.last().map_or(Target::Same, |v| Target::Version(v.number));
    // What is only shown has no way back that anything were to be noted for.
    let options = Options { force_version: true, origin: false, ..session.options().clone() };
    let log = Log::default();
    let cx = Cx { options: &options, log: &log };
    let Some(kind) = format.plane else { return first_piece(session, &cx) };
    let mut lines = Lines::new(session.parts().main()?, options.max_line);
    lines.skip_bom()?;
    while let Some(line) = lines.next()? {
        let mut out = Vec::new();
        if let Ok(mut plane) = (kind.open)(&line, newest, &cx) {
            let mut scan = Scan::default();
            let scan = (kind.check)(&line, &mut scan)?.then_some(&scan);
            plane.line(&line, scan, &mut out)?;
            return Ok(out.trim_ascii().to_vec());
        }
    }
    Ok(b"null".to_vec())
}

/// Returns the first piece that the schema describes: the header.
fn first_piece(session: &mut Session<'_>, cx: &Cx<'_>) -> Result<Vec<u8>> {
    let mut header = b"null".to_vec();
    if let Some(pieces) = session.format().pieces {
        pieces(session.parts(), cx, &mut |_, piece| {
            header = piece.to_vec();
            ControlFlow::Break(())
        })?;
    }
    Ok(header)
}

/// Writes the members before the messages, up to the opening of `context`.
fn details(
    session: &Session<'_>,
    given_leaf: Option<Json>,
    header: &[u8],
    branch: &[Json],
    out: &mut Vec<u8>,
) {
    out.extend_from_slice(b"\"header\":");
    out.extend_from_slice(header);
    let none = (session.entries() == 0).then_some(Json::constant("null"));
    let leaf = given_leaf.or(session.leaf().cloned()).or(none);
    if let Some(leaf) = leaf {
        member("leafId", leaf.as_bytes(), out);
    }
    if let Some(name) = session.name() {
        member("sessionName", name.as_bytes(), out);
    }
    member("entries", session.entries().to_string().as_bytes(), out);
    member("branch", Json::list(branch).as_bytes(), out);
    let pair =
        |(target, label): (&Json, &Json)| [target.as_bytes(), b":", label.as_bytes()].concat();
    let mut labels: Vec<Vec<u8>> = session.labels().map(pair).collect();
    labels.sort();
    member("labels", &[b"{", labels.join(&b","[..]).as_slice(), b"}"].concat(), out);
    member("context", b"{", out);
}
