//! ConnectOnion's session files.
//!
//! The format has three generations of YAML. The mapping of members is documented where they are
//! read: messages in `message.rs`, turns and the top of a file in `file/`, the header of a run in
//! `run/`.

mod additions;
mod context;
mod ending;
mod file;
mod message;
mod repair;
mod run;

use crate::diagnostic::{Code, Diagnostic};
use crate::error::{Cannot, Error, Result};
use crate::format::{
    Agent, Confidence, Cx, Files, Format, Head, Named, Parts, Piece, Reader, Required, Sink,
    Sniffed, Step, Version, Writer, Writing,
};
use crate::framing::Chain;
use crate::json::Json;
use crate::position::{Located, Position};
use crate::record::{Field, Kind, Node, Record};
use crate::times;
use crate::yaml::encoding::{self, Encoding, Found};
use std::io::{self, Read};

const NAME: &str = "connectonion";
/// The subtype of notices that represent comments and blank lines between records.
const REMARK: &str = "comment";
/// The version whose files are runs.
const RUN: u32 = 3;

/// Maximum number of bytes to which aliases may expand. PyYAML writes an alias if an agent holds
/// the same object twice, which is rare and small.
const EXPANSION: u64 = 8 << 20;

/// The format's entry in the table of formats.
pub static FORMAT: Format = Format {
    aliases: &["co"],
    pieces: Some(pieces),
    steps: &[
        Step {
            from: 1,
            to: 2,
            summary: "each message is stored once, outside of the turns; the last answers come from the turns",
        },
        Step {
            from: 2,
            to: 3,
            summary: "a run file contains only the messages; the other data of the turns is lost",
        },
    ],
    files: Files {
        index: Some(run::summary_of),
        in_projects: &[".co/sessions", ".co/evals"],
        native: Some(native),
        ..Files::ONE
    },
    agent: Agent {
        unresumable: "an agent adds its messages to such a file and never reads those that are there",
        context: Some(context::open),
        whole_answers: true,
        additions: Some(additions::addition),
        ..Agent::UNKNOWN
    },
    ..Format::new(Required {
        name: NAME,
        summary: "session files of ConnectOnion (YAML)",
        source: "connectonion, its repository from 5691bd58 on, releases 0.5.0 to 1.9.2",
        versions: &[
            Version {
                number: 1,
                summary: "one file for each process, each turn with all messages so far (before 0.5.0)",
                schema: include_str!("../../../schemas/connectonion/v1.schema.json"),
                tree: false,
                kinds: &[Kind::Session, Kind::Turn, Kind::Message, Kind::Notice, Kind::Opaque],
            },
            Version {
                number: 2,
                summary: "one file for each agent, turns first (0.5.0 to 0.6.0)",
                schema: include_str!("../../../schemas/connectonion/v2.schema.json"),
                tree: false,
                kinds: &[Kind::Session, Kind::Turn, Kind::Message, Kind::Notice, Kind::Opaque],
            },
            Version {
                number: 3,
                summary: "one run file for each conversation, and summaries of runs (from 0.6.1)",
                schema: include_str!("../../../schemas/connectonion/v3.schema.json"),
                tree: false,
                kinds: &[Kind::Session, Kind::Turn, Kind::Message, Kind::Notice, Kind::Opaque],
            },
        ],
        extensions: &[".yaml", ".yml"],
        sniff,
        read,
        write,
        repair: repair::repair,
    })
};

/// Returns the path of a session below `.co`: `sessions/<name>`, with the time in version 1, or
/// `evals/<slug of the question>/run_<n>`. The name is the agent's. In version 2 it is the
/// session's identifier if it has one. A session without an agent has the name that its file would
/// have in another format.
fn native(named: &Named<'_>) -> String {
    let text = |field| named.session.text(field).unwrap_or_default();
    let agent = text(Field::Agent);
    let name = match text(Field::Id) {
        _ if named.version == 1 => agent,
        id if !id.is_empty() => id,
        _ if agent == NAMELESS => named.stem.to_owned(),
        _ => agent,
    };
    let name = plain(&name, 200, |c| c.is_ascii_alphanumeric());
    match named.version {
        RUN if of_runs(named.session).is_some() => summary(named),
        RUN => format!("/evals/{}/run_{}", slug(named.question.unwrap_or_default()), run(named)),
        1 => {
            let time = times::read(&Json::string(&text(Field::Created))).map(times::in_seconds);
            let time = time.unwrap_or_default().replace(':', "-").replace(' ', "_");
            format!("/sessions/{name}_{time}")
        }
        _ => format!("/sessions/{name}"),
    }
}

/// Makes one piece of a path, of the characters that `is_letter` accepts, `-` and `_`.
fn plain(name: &str, longest: usize, is_letter: fn(char) -> bool) -> String {
    let fits = |c: char| if is_letter(c) || matches!(c, '-' | '_') { c } else { '_' };
    let name: String = name.chars().map(fits).take(longest).collect();
    if name.is_empty() { "default".to_owned() } else { name }
}

/// Returns the path of a summary or an evaluation: beside the folder of its runs, which has the
/// same name.
fn summary(named: &Named<'_>) -> String {
    let name = named.session.text(Field::Name).unwrap_or_else(|| named.stem.to_owned());
    // A slug has 50 characters of up to four bytes each.
    format!("/evals/{}", plain(&name, 60, char::is_alphanumeric))
}

/// Returns the number of a run: the number in its file name if that is the real software's, or the
/// first free number.
fn run(named: &Named<'_>) -> u64 {
    let own = named.stem.strip_prefix("run_").and_then(|number| number.parse::<u64>().ok());
    own.filter(|own| *own > 0).unwrap_or(1).saturating_add(named.nth - 1)
}

/// Makes a folder name of a question, as the real software does from release 1.5.12 on. No run
/// contains the release that wrote it. Earlier releases took only ASCII for letters, and any number
/// of `_` for one.
///
/// Marks that Python's `\w` excludes from a word of an Indic script are letters here.
fn slug(wanted: &str) -> String {
    let mut slug = String::new();
    let mut before = true;
    for c in wanted.to_lowercase().chars() {
        let within = c == '_' || c.is_alphanumeric();
        match within {
            true => slug.push(c),
            false if before => slug.push('_'),
            false => {}
        }
        before = within;
    }
    let slug = slug.trim_matches('_');
    let cut = match slug.char_indices().nth(LONGEST_SLUG) {
        Some((at, _)) => slug.get(..at).unwrap_or_default(),
        None => return if slug.is_empty() { "default".to_owned() } else { slug.to_owned() },
    };
    cut.rsplit_once('_').map_or(cut, |(words, _)| words).to_owned()
}

/// Maximum number of characters of a slug.
const LONGEST_SLUG: usize = 50;

/// Returns the shape of the summary or evaluation from which a session was read.
fn of_runs(session: &Node) -> Option<&'static file::Shape> {
    let shapes: [&'static file::Shape; 2] = [&file::INDEX, &file::AUTHORED];
    let layout = session.json(Field::Layout);
    let mut shapes = shapes.into_iter().filter(|shape| session.is(Field::Source, &shape.source()));
    shapes.find(|shape| layout.map(Json::as_bytes) == shape.layout.map(str::as_bytes))
}

/// The kind of a file of this format.
#[derive(Clone, Copy, Debug)]
enum Made {
    /// A run of version 3.
    Run,
    /// A file of turns.
    File(&'static file::Shape),
}

impl Made {
    fn version(self) -> u32 {
        match self {
            Self::Run => RUN,
            Self::File(shape) => shape.version,
        }
    }

    /// Returns the kind of a file of this version whose content does not show its kind.
    fn of(version: Option<u32>) -> Self {
        match version {
            Some(RUN) => Self::Run,
            Some(version) if version == file::DATED.version => Self::File(&file::DATED),
            _ => Self::File(&file::KEYED),
        }
    }
}

fn sniff(head: &Head<'_>) -> Option<Sniffed> {
    if head.is_json_lines() {
        return None;
    }
    let text = head.text();
    let called = Head::is_called(head.name, FORMAT.extensions);
    let (confidence, made) =
        made(&text, head.whole).filter(|_| called || !run::is_headless(&text, head.whole))?;
    let clean = begins_as_one(&text, called);
    let confidence = if clean { confidence } else { Confidence::Buried };
    Some(Sniffed { confidence, version: made.version() })
}

/// Whether the beginning of a file is a member of a session, or the rest of one; `called` is
/// whether the file name is that of a YAML file. A manual that shows a session begins otherwise.
fn begins_as_one(head: &str, called: bool) -> bool {
    let blank = |c: char| c == '\0' || c == '\n' || c == '\r';
    let mut lines = head.trim_start_matches(blank).lines();
    let meant = |line: &&str| !line.trim().is_empty();
    // A heading of Markdown looks like a comment, and the metadata at its top like a document.
    let aside = |line: &&str| called && (line.starts_with(['#', '%']) || line.starts_with("---"));
    let Some(line) = lines.find(|line| meant(line) && !aside(line)) else { return called };
    let key = line.split_once(':').map_or(line, |(key, _)| key).trim();
    if !called {
        return file::is_known(key) || run::is_known(key);
    }
    !key.trim_start_matches(['{', ' ']).contains(' ') || line.starts_with([' ', '-', '\t'])
}

/// Returns the kind of the file that begins with `head`, and how certain that is.
fn made(head: &str, whole: bool) -> Option<(Confidence, Made)> {
    match file::shape(head) {
        // An evaluation may begin as a run does.
        Some(shape) if shape.version == RUN => Some((Confidence::Certain, Made::File(shape))),
        _ if run::is_run(head, whole) => Some((Confidence::Certain, Made::Run)),
        Some(shape) => Some((Confidence::Certain, Made::File(shape))),
        None if run::is_edited(head) || run::is_unnamed(head) || run::is_headless(head, whole) => {
            Some((Confidence::Strong, Made::Run))
        }
        None => {
            let damaged = file::shape_of_turns(head).map(Made::File);
            Some((Confidence::Strong, damaged.or_else(|| relaid(head))?))
        }
    }
}

/// Returns the kind of a file whose keys are in quotes or that is in braces.
fn relaid(head: &str) -> Option<Made> {
    let outline = file::outline(head)?;
    let run = || run::is_edited(&outline).then_some(Made::Run);
    file::shape(&outline).map(Made::File).or_else(run)
}

/// Returns the name of the agent, or the name of the session if it is from another format and has
/// no agent.
fn agent(session: &Node) -> Json {
    let name = session.json(Field::Agent).or(session.json(Field::Name)).cloned();
    name.unwrap_or_else(|| Json::string(NAMELESS))
}

/// Name of the agent for a session without one.
const NAMELESS: &str = "session";

/// Returns a time as the real software writes it, without a zone; a time that names no zone stays
/// as it is.
fn time(time: &Json) -> Json {
    let zoned = time.text().and_then(|text| text.parse().ok());
    zoned.map_or_else(|| time.clone(), |zoned| Json::string(&times::in_seconds(zoned)))
}

/// Returns the session of another format with times as this format writes them.
fn timed(session: &Node) -> Node {
    let mut session = session.clone();
    for field in [Field::Created, Field::Updated] {
        session.put(field, session.json(field).map(time));
    }
    session
}

/// Returns the kind and the encoding of the main part, recognized by its beginning.
fn beginning(parts: &mut dyn Parts, cx: &Cx<'_>) -> Result<(Made, Found)> {
    parts.keep()?;
    let mut bytes = Vec::new();
    parts.main()?.take(Head::SIZE as u64).read_to_end(&mut bytes).cannot("read")?;
    let text = encoding::head(&bytes, cx.options.encoding);
    let made = made(&text, bytes.len() < Head::SIZE).map(|(_, made)| made);
    let encoding = Found::declared(&bytes, cx.options.encoding);
    Ok((made.unwrap_or_else(|| Made::of(cx.options.version)), encoding))
}

fn read<'a>(parts: &'a mut dyn Parts, cx: &'a Cx<'a>) -> Result<Reader<'a>> {
    match beginning(parts, cx)? {
        (Made::Run, encoding) => run::open(parts, encoding, cx),
        (Made::File(shape), _) => file::open(parts, shape, cx),
    }
}

fn pieces(parts: &mut dyn Parts, cx: &Cx<'_>, show: Piece<'_>) -> Result<()> {
    match beginning(parts, cx)? {
        (Made::Run, encoding) => run::pieces(parts, encoding, cx, show),
        (Made::File(shape), _) => file::pieces(parts, shape, cx, show),
    }
}

/// Returns the encoding from which a session of this format was read, for a writer of the same
/// format.
fn encoding_of(file: &Node) -> Result<&'static Encoding> {
    let Some(name) = file.text(Field::Encoding) else { return Ok(encoding::UTF_8) };
    encoding::named(&name).ok_or_else(|| {
        let message = format!("no encoding has the name `{name}` of `session.file.encoding`");
        Error::request(Code::BadRecord, message)
    })
}

/// Converts an error of an output that encodes text.
fn cannot_write(error: io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::InvalidData => Error::request(Code::NotInEncoding, error.to_string()),
        _ => Error::io("cannot write", error),
    }
}

fn write<'a>(sink: &'a mut dyn Sink, version: &'static Version, cx: &'a Cx<'a>) -> Writing<'a> {
    match version.number {
        RUN => Ok(Box::new(Newest { sink: Some(sink), version, cx, writer: None })),
        number if number == file::DATED.version => file::open_dated_writer(sink, version, cx),
        _ => file::open_writer(sink, &file::KEYED, cx),
    }
}

/// Writes a session of version 3: as a summary or evaluation if it was read from one, else as a
/// run.
struct Newest<'a> {
    /// The destination, until the first record chooses the writer.
    sink: Option<&'a mut dyn Sink>,
    version: &'static Version,
    cx: &'a Cx<'a>,
    writer: Option<Box<dyn Writer + 'a>>,
}

impl Writer for Newest<'_> {
    fn record(&mut self, record: &Located<Record>) -> Result<()> {
        if let Some(sink) = self.sink.take() {
            self.writer = Some(match of_runs(&record.value.node) {
                Some(shape) => file::open_writer(sink, shape, self.cx)?,
                None => run::open_writer(sink, self.version, self.cx)?,
            });
        }
        self.writer.as_mut().map_or(Ok(()), |writer| writer.record(record))
    }

    fn finish(self: Box<Self>) -> Result<()> {
        let empty = || Error::unfit(Diagnostic::new(Code::Empty, "no session record"));
        self.writer.ok_or_else(empty)?.finish()
    }
}

/// Makes the error for a document behind the first one, which is not read: the real loader refuses
/// a file of several documents.
fn second_document(at: Position) -> Error {
    Error::damaged(Diagnostic::new(Code::YamlSyntax, "a second document begins").at(at))
}

/// Begins the one branch of a session's messages; the field `time` distinguishes the session from
/// others of the same agent.
fn chain_of(session: &Node, time: Field, cx: &Cx<'_>) -> Chain {
    let of = |field| session.text(field).unwrap_or_default();
    Chain::of(format!("{} {}", of(Field::Agent), of(time)).as_bytes(), cx)
}
