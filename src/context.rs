//! What an agent would send to a model if it took the session up again.

use crate::diagnostic::{Code, Log};
use crate::error::{Error, Result};
use crate::format::{Cx, Format, Options, Parts, Target};
use crate::json::{Json, text};
use crate::lines::Lines;
use crate::position::Located;
use crate::record::{Field, Kind, Record};
use crate::tree::{Path, Shape, Tree};
use std::collections::HashMap;
use std::io::Write;

/// What is asked for.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// The node to stand at; the session's own leaf if none is given.
    pub leaf: Option<String>,
    /// Whether header, leaf, branch and labels are wanted around the messages.
    pub details: bool,
}

/// What one walk over the session tells.
struct Outline {
    tree: Tree,
    /// Entries of the file, those without an identifier included.
    entries: u64,
    /// Identifier of the last entry. Where it has none, the context is that entry alone.
    leaf: Option<Json>,
    name: Option<Json>,
    /// Labels by what they mark.
    labels: HashMap<Json, Json>,
}

/// Writes the context of a session as one JSON object.
///
/// The session is read three times, so that nothing of it need be kept: for its shape, for what
/// decides which messages count, and for the messages.
///
/// # Errors
/// If the format has no rules for it, the leaf is not there, entries are their own ancestors, or
/// reading or writing fails.
pub fn run(
    format: &Format,
    parts: &mut dyn Parts,
    request: &Request,
    cx: &Cx<'_>,
    out: &mut dyn Write,
) -> Result<u64> {
    let Some(open) = format.context else {
        let message = format!("{} says nothing of what is sent to a model", format.name);
        return Err(Error::request(Code::NoContext, message));
    };
    parts.keep()?;
    let outline = outline(format, parts, cx)?;
    let path = path(&outline, request)?;
    // The first walk has said what there is to say.
    let log = Log::default();
    let quiet = Cx { options: cx.options, log: &log };
    let mut walk = Walk { format, parts, cx: &quiet, path, last: outline.lost_leaf() };
    let mut context = open();
    let mut branch = Vec::new();
    walk.each(&mut |position, located| {
        if request.details {
            branch.extend(located.value.node.json(Field::Id).cloned());
        }
        context.look(position, located)
    })?;
    let mut to = Output { out, buffer: vec![b'{'] };
    if request.details {
        let header = newest_header(format, walk.parts, &quiet)?;
        details(&outline, request, &header, &branch, &mut to.buffer);
    }
    to.buffer.extend_from_slice(b"\"messages\":[");
    let mut first = true;
    let place = |id: &Json| walk.path.position(outline.tree.ordinal(id)?);
    for message in context.begin(&place) {
        to.message(&message, &mut first)?;
    }
    walk.each(&mut |position, located| match context.message(position, &located.value) {
        Some(message) => to.message(&message, &mut first),
        None => Ok(()),
    })?;
    to.buffer.push(b']');
    for (key, value) in context.settings() {
        member(key, &value, &mut to.buffer);
    }
    to.buffer.extend_from_slice(if request.details { b"}}\n" } else { b"}\n" });
    to.flush()?;
    Ok(outline.entries)
}

/// Writes a member that is not the first of its object.
fn member(key: &str, value: &[u8], out: &mut Vec<u8>) {
    out.push(b',');
    text::quote(key, out);
    out.push(b':');
    out.extend_from_slice(value);
}

struct Output<'o> {
    out: &'o mut dyn Write,
    buffer: Vec<u8>,
}

impl Output<'_> {
    fn message(&mut self, message: &[u8], first: &mut bool) -> Result<()> {
        if !std::mem::take(first) {
            self.buffer.push(b',');
        }
        self.buffer.extend_from_slice(message);
        if self.buffer.len() < 256 << 10 { Ok(()) } else { self.flush() }
    }

    fn flush(&mut self) -> Result<()> {
        self.out.write_all(&self.buffer).map_err(|error| Error::io("cannot write", error))?;
        self.buffer.clear();
        Ok(())
    }
}

impl Outline {
    /// Whether the last entry cannot be found by its identifier.
    fn lost_leaf(&self) -> bool {
        let empty = |id: &Json| id.as_bytes() == b"\"\"";
        self.leaf.as_ref().is_none_or(empty) && self.entries > 0
    }
}

fn outline(format: &Format, parts: &mut dyn Parts, cx: &Cx<'_>) -> Result<Outline> {
    let mut shape = Shape::default();
    let (mut entries, mut leaf, mut name) = (0, None, None);
    let mut labels = HashMap::new();
    for item in (format.read)(parts, cx)? {
        let located = item?;
        let node = &located.value.node;
        if !is_entry(&located.value) {
            continue;
        }
        entries += 1;
        shape.record(&located);
        leaf = node.json(Field::Id).cloned();
        match located.value.kind {
            Kind::SessionInfo => {
                name = node.json(Field::Name).cloned().filter(|name| name.as_bytes() != b"\"\"");
            }
            Kind::Label => {
                let label = node.json(Field::Label).filter(|l| l.as_bytes() != b"\"\"");
                match (node.json(Field::Target).cloned(), label.cloned()) {
                    (Some(target), Some(label)) => drop(labels.insert(target, label)),
                    (Some(target), None) => drop(labels.remove(&target)),
                    (None, _) => {}
                }
            }
            _ => {}
        }
    }
    let tree = shape.finish();
    for found in tree.findings().filter(|found| found.code != Code::Cycle) {
        cx.report(found);
    }
    labels.retain(|target, _| tree.ordinal(target).is_some());
    Ok(Outline { tree, entries, leaf, name, labels })
}

/// Whether a record is an entry of the file, not a header, a blank line or a damaged one.
fn is_entry(record: &Record) -> bool {
    let node = &record.node;
    let line = node.json(Field::Text).is_some() || node.json(Field::RawBytes).is_some();
    match record.kind {
        Kind::Session | Kind::Notice => false,
        Kind::Opaque => !line,
        _ => true,
    }
}

/// The way from the root to the leaf.
fn path(outline: &Outline, request: &Request) -> Result<Path> {
    let wanted = request.leaf.as_deref().map(Json::string);
    let Some(path) = outline.tree.path(wanted.as_ref().or(outline.leaf.as_ref())) else {
        return match &request.leaf {
            Some(leaf) => {
                let message = format!("no entry has the identifier {leaf:?}");
                Err(Error::request(Code::NoContext, message))
            }
            None => Ok(Path::default()),
        };
    };
    match path.cycle() {
        Some(found) => Err(Error::unfit(found)),
        None => Ok(path),
    }
}

/// Walks over the records on the path.
struct Walk<'w, 'p> {
    format: &'w Format,
    parts: &'p mut dyn Parts,
    cx: &'w Cx<'w>,
    path: Path,
    /// Whether the last entry alone is meant.
    last: bool,
}

impl Walk<'_, '_> {
    /// Shows each record with its position on the path.
    fn each(&mut self, show: &mut dyn FnMut(u32, &Located<Record>) -> Result<()>) -> Result<()> {
        // Where parents stand behind their children, the path has another order than the file.
        let mut sorted = (!self.path.is_in_file_order()).then(Vec::new);
        let mut ordinal = 0;
        let mut last = None;
        for item in (self.format.read)(self.parts, self.cx)? {
            let located = item?;
            if self.last && is_entry(&located.value) {
                last = Some(located);
                continue;
            }
            if !located.value.is_node() {
                continue;
            }
            ordinal += 1;
            if let Some(position) = self.path.position(ordinal - 1) {
                match &mut sorted {
                    None => show(position, &located)?,
                    Some(waiting) => waiting.push((position, located)),
                }
            }
        }
        let mut waiting = sorted.unwrap_or_default();
        waiting.sort_by_key(|(position, _)| *position);
        waiting.extend(last.map(|located| (0, located)));
        waiting.iter().try_for_each(|(position, located)| show(*position, located))
    }
}

/// The session's header as its newest version has it.
fn newest_header(format: &Format, parts: &mut dyn Parts, cx: &Cx<'_>) -> Result<Vec<u8>> {
    let mut lines = Lines::new(parts.main()?, cx.options.max_line);
    lines.skip_bom()?;
    let newest = format.versions.last().map_or(Target::Same, |v| Target::Version(v.number));
    let options = Options { force_version: true, ..cx.options.clone() };
    let cx = Cx { options: &options, log: cx.log };
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
    outline: &Outline,
    request: &Request,
    header: &[u8],
    branch: &[Json],
    out: &mut Vec<u8>,
) {
    out.extend_from_slice(b"\"header\":");
    out.extend_from_slice(header);
    let none = (outline.entries == 0).then_some(Json::constant("null"));
    let leaf = request.leaf.as_deref().map(Json::string).or(outline.leaf.clone()).or(none);
    if let Some(leaf) = leaf {
        member("leafId", leaf.as_bytes(), out);
    }
    if let Some(name) = &outline.name {
        member("sessionName", name.as_bytes(), out);
    }
    member("entries", outline.entries.to_string().as_bytes(), out);
    let branch = if outline.lost_leaf() { &[] } else { branch };
    let branch: Vec<&[u8]> = branch.iter().map(Json::as_bytes).collect();
    member("branch", &[b"[", branch.join(&b","[..]).as_slice(), b"]"].concat(), out);
    let pair =
        |(target, label): (&Json, &Json)| [target.as_bytes(), b":", label.as_bytes()].concat();
    let mut labels: Vec<Vec<u8>> = outline.labels.iter().map(pair).collect();
    labels.sort();
    member("labels", &[b"{", labels.join(&b","[..]).as_slice(), b"}"].concat(), out);
    member("context", b"{", out);
}
