//! Fields of a record for which a message has no place.

use super::{is_call, is_media, is_part, is_refused};
use crate::diagnostic::Log;
use crate::record::{Field, Node, Record, block};

/// Counts the fields of a record that are missing from the message that [`write()`](super::write()) made of it.
pub fn losses(record: &Record, own: bool, log: &Log) {
    let kind = record.kind.name();
    let count = |path: &str| log.lost(&format!("{kind}.{path}"));
    let made = record.node.is_true(Field::IdMade);
    let is_made = |field| made && field == Field::Id;
    log.count_lost(kind, &record.node, |field| holds(field, own) || is_made(field));
    unwritable(&record.node, "content", own, &count);
}

/// Whether [`write()`](super::write()) writes this field of a message's record.
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
    for block in node.content() {
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
