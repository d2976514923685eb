//! ConnectOnion's messages, which are those of OpenAI's Chat Completions.

use crate::diagnostic::{Code, Diagnostic, FieldOutcome, Log};
use crate::dialect::chat_completions::{is_call, is_media, is_part, is_refused};
pub use crate::dialect::chat_completions::{read, write};
use crate::format::Cx;
use crate::position::Position;
use crate::record::{Field, Kind, Node, Record, block};

/// Members whose scalars are text even if they are written without quotes. Other scalars have the
/// type that YAML gives them.
pub const TEXTS: &[&str] = &[
    "role",
    "content",
    "content/type",
    "content/text",
    "content/image_url/url",
    "name",
    "id",
    "tool_call_id",
    "tool_calls/id",
    "tool_calls/type",
    "tool_calls/function/name",
    "tool_calls/function/arguments",
];

/// Reports a record that is not a message of a known shape.
pub fn report_opaque(record: &Record, at: Position, cx: &Cx<'_>) {
    if record.kind == Kind::Opaque {
        cx.report(Diagnostic::new(Code::OddMessage, Code::OddMessage.title()).at(at));
    }
}

/// Counts a record that represents no message.
pub fn lost(record: &Record, log: &Log) {
    log.count(FieldOutcome::Dropped, &record.description());
}

/// Counts the fields of a record that are missing from the message that [`write()`] made of it.
pub fn losses(record: &Record, own: bool, log: &Log) {
    let kind = record.kind.name();
    let count = |path: &str| log.count(FieldOutcome::Dropped, &format!("{kind}.{path}"));
    let made = record.node.is_true(Field::IdMade);
    let is_made = |field| made && field == Field::Id;
    for field in record.node.fields().filter(|field| !holds(*field, own) && !is_made(*field)) {
        count(field.name());
    }
    unwritable(&record.node, "content", own, &count);
}

/// Whether [`write()`] writes this field of a message's record.
fn holds(field: Field, own: bool) -> bool {
    const HELD: &[Field] = &[
        Field::Parent,
        Field::IdMade,
        Field::Role,
        Field::Content,
        Field::Layout,
        Field::Turn,
        Field::Type,
        Field::Data,
        Field::Text,
        Field::Base64,
    ];
    HELD.contains(&field) || (own && matches!(field, Field::Id | Field::Extra))
}

fn has_detail(image: &Node) -> bool {
    image.json(Field::Extra).is_some_and(block::is_detail)
}

/// Fields of an image or document block that are written; the first one only if the part is from
/// this format or an image detail.
const MEDIA: &[Field] = &[Field::Extra, Field::Data, Field::MediaType, Field::Name];

/// Counts the parts of a message's content that cannot be written.
fn unwritable(node: &Node, path: &str, own: bool, count: &dyn Fn(&str)) {
    for block in node.nodes(Field::Content).unwrap_or_default() {
        // Mostly nothing is counted, so paths are made only when needed.
        let path = || format!("{path}.*.{}", block::kind_of(block));
        let held: &[Field] = match () {
            () if is_call(block) => &[Field::Id, Field::Name, Field::Arguments, Field::Extra],
            () if block.is(Field::Type, block::TOOL_RESULT) => {
                if block.nodes(Field::Content).is_some() {
                    unwritable(block, &format!("{}.content", path()), own, count);
                }
                &[Field::Call, Field::Content]
            }
            () if block.is(Field::Type, block::TEXT) => &[Field::Text, Field::Extra],
            () if is_media(block) && (own || has_detail(block)) => MEDIA,
            () if is_media(block) => MEDIA.get(1..).unwrap_or_default(),
            () if is_part(block) && (own || !is_refused(block)) => &[Field::Data],
            () => {
                count(&path());
                continue;
            }
        };
        for field in block.fields().filter(|field| *field != Field::Type && !held.contains(field)) {
            count(&format!("{}.{}", path(), field.name()));
        }
    }
}
