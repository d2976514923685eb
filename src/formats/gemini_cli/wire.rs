//! Members of headers and records of the log, tokens, and words that the program writes itself.

use crate::json::{Json, member, text};
use crate::mapping::{Object, Row, row, template};
use crate::record::{Field, Kind, Node, Record};
use bytes::Bytes;

/// Members of a header.
pub const HEADER: &[Row] = &[
    row("sessionId", Field::Id),
    row("startTime", Field::Created),
    row("lastUpdated", Field::Updated),
    row("summary", Field::Name),
];

/// Members of the header of a log, which stays as it is: later records say when the session was
/// updated.
pub const LOG_HEADER: &[Row] =
    &[row("sessionId", Field::Id), row("startTime", Field::Created), row("summary", Field::Name)];

/// Template of the header of a session that copyist began. The member `cwd` is its own: the program
/// keeps the folder of a project in a file beside its sessions.
pub const USUAL_HEADER: &str = r#"{"sessionId":0,"projectHash":0,"startTime":0,"lastUpdated":0,"kind":"main","summary":0,"cwd":0}"#;

/// Member of a record's unnamed data with the other versions of its message.
pub const VERSIONS: &str = "$versions";

/// Layout of a message that is in the list of the record before it.
pub const LISTED: &str = "listed";

/// Whether a text is or begins an object with the identifier of a session, and other members that
/// every header has.
pub fn is_header(object: &[u8]) -> bool {
    let is_text = |name| member(object, name).is_some_and(|value| value.starts_with(b"\""));
    let is_of_message = member(object, "type").is_some();
    is_text("sessionId") && !is_of_message && (is_text("projectHash") || is_text("startTime"))
}

/// Whether an object is a message of the program.
pub fn is_message(object: &[u8]) -> bool {
    const TYPES: [&str; 5] = ["user", "gemini", "info", "error", "warning"];
    let is_type = |value| TYPES.iter().any(|name| text::is(value, name));
    let has = |name: &str| member(object, name).is_some_and(|value| value.starts_with(b"\""));
    has("id")
        && member(object, "type").is_some_and(is_type)
        && member(object, "content").is_some()
        && member(object, "uuid").or(member(object, "parentId")).is_none()
}

/// Whether an object is a record of a log that is no header.
pub fn is_of_log(object: &[u8]) -> bool {
    let begins =
        |name, first: u8| member(object, name).is_some_and(|value| value.first() == Some(&first));
    begins("$set", b'{') || begins("$rewindTo", b'"') || (is_message(object))
}

/// Whether copyist began the session.
pub fn is_ours(session: &Node) -> bool {
    session.json(Field::Extra).is_some_and(|extra| extra.member("cwd").is_some())
}

/// Returns the projectHash of a folder.
pub fn hash_of(folder: &str) -> Json {
    use sha2::{Digest, Sha256};
    let digits = Sha256::digest(folder.as_bytes());
    let digits: String = digits.iter().map(|byte| format!("{byte:02x}")).collect();
    Json::string(&digits)
}

/// Reads a header with these members into the record of a session. `project` is the folder in the
/// file beside the sessions, and `context` the message in which the program names its folders.
pub fn read_header(
    header: &Json,
    rows: &'static [Row],
    project: Option<&str>,
    context: Option<&str>,
) -> Record {
    let mut record = Record::new(Kind::Session);
    let node = &mut record.node;
    let kept = template::take(header, rows, node);
    let (mut own, hash) = (header.member("cwd"), header.member("projectHash"));
    own = own.filter(|own| own.text().is_some());
    let named = context.and_then(named_folder).map(|folder| Json::string(&folder));
    let beside = project.map(|folder| Json::string(folder.trim()));
    let mut folders = [own.clone(), beside, named];
    let is_its = |folder: &Json| folder.text().map(|text| hash_of(&text)) == hash;
    let fitting = folders.iter().flatten().find(|folder| is_its(folder)).cloned();
    let folder = fitting.clone().or_else(|| folders.iter_mut().find_map(Option::take));
    let mut extra = crate::mapping::Extra::default();
    for (key, value) in kept.members() {
        let is_place = (text::is(key, "projectHash") && fitting.is_some())
            || (text::is(key, "cwd") && own.is_some() && folder == own);
        extra.add(key, if is_place { template::PLACE } else { value });
    }
    node.put(Field::Cwd, folder.filter(|folder| folder.text().is_some_and(|it| !it.is_empty())));
    extra.put(node);
    record
}

/// Returns the first folder that a message of the program names.
fn named_folder(context: &str) -> Option<String> {
    let (_, list) = context.split_once("**Workspace Directories:**\n  - ")?;
    list.lines().next().map(str::to_owned)
}

/// Writes the header of a session. `put` writes a list of messages in it.
pub fn write_header(
    session: &Node,
    out: &mut Vec<u8>,
    put: &mut dyn FnMut(&str, &mut Object<'_>) -> bool,
) {
    let kept = session.json(Field::Extra).cloned().unwrap_or(Json::constant("{}"));
    let folder = session.text(Field::Cwd).unwrap_or_default();
    let mut object = Object::open(out);
    template::write(HEADER, session, &kept, &mut object, &mut |key, value, object| {
        match (key, value) {
            ("projectHash", template::PLACE) => object.member(key, hash_of(&folder).as_bytes()),
            ("cwd", template::PLACE) => match session.json(Field::Cwd) {
                Some(folder) => object.member(key, folder.as_bytes()),
                None => return true,
            },
            _ => return put(key, object),
        }
        true
    });
    object.close();
}

/// Returns the tokens of a message as usage: their input includes what comes from the cache, and
/// their output excludes thoughts.
pub fn usage_of(tokens: &Json) -> Node {
    let count = |name: &str| tokens.member(name).and_then(|count| count.float());
    let mut usage = Node::default();
    let mut set = |field, value: Option<f64>| usage.put(field, value.map(Json::from_f64));
    let less = |all: f64, part: Option<f64>| (all - part.unwrap_or(0.0)).max(0.0);
    set(Field::InputTokens, count("input").map(|input| less(input, count("cached"))));
    set(Field::OutputTokens, count("output").map(|own| own + count("thoughts").unwrap_or(0.0)));
    set(Field::CacheRead, count("cached"));
    set(Field::Reasoning, count("thoughts"));
    set(Field::Total, count("total"));
    usage
}

/// Writes usage as tokens; those that were read stay as they are, unless they were edited.
pub fn write_tokens(usage: &Node, own: &[u8], out: &mut Vec<u8>) {
    let own = Json::trusted(Bytes::copy_from_slice(own));
    if own.is_object() && usage_of(&own).is_same(usage, &[]) {
        return out.extend_from_slice(own.as_bytes());
    }
    let count = |field| usage.json(field).and_then(Json::float).unwrap_or(0.0);
    let cached = count(Field::CacheRead);
    let input = count(Field::InputTokens) + cached + count(Field::CacheWrite);
    let output = (count(Field::OutputTokens) - count(Field::Reasoning)).max(0.0);
    let total = usage.json(Field::Total).and_then(Json::float);
    let mut object = Object::open(out);
    for (name, value) in [
        ("input", input),
        ("output", output),
        ("cached", cached),
        ("thoughts", count(Field::Reasoning)),
        ("tool", 0.0),
        ("total", total.unwrap_or(input + output + count(Field::Reasoning))),
    ] {
        object.member(name, Json::from_f64(value).as_bytes());
    }
    object.close();
}

/// Whether the program leaves out a message of the user with this text when it resumes a session.
pub fn is_ignored(text: &str) -> bool {
    let text = text.trim_matches(is_space);
    text.is_empty() || text.starts_with(['/', '?']) || inserted(text).is_some()
}

/// Returns the name of the element that the program writes in the name of the user, if a text is
/// one.
pub fn inserted(text: &str) -> Option<&'static str> {
    let text = text.trim_start_matches(is_space);
    let mut names = ["session_context", "hook_context"].into_iter();
    names.find(|name| {
        text.strip_prefix('<').is_some_and(|rest| rest.starts_with(&format!("{name}>")))
    })
}

/// Whether JavaScript's `trim` removes a character.
fn is_space(c: char) -> bool {
    c == '\u{feff}' || (c.is_whitespace() && c != '\u{85}')
}
