//! Identifiers that a transcript needs and its source does not have.

use crate::ids::{self, hash};
use crate::record::{Field, Node, identity};

/// Returns the identifier of a session as Claude Code has it: its own if it is a UUID, else one
/// that follows from it.
#[must_use]
pub fn session_id(session: &Node, question: Option<&str>) -> String {
    let own = session.text(Field::Id).filter(|id| is_uuid(id));
    own.unwrap_or_else(|| uuid_of(&identity(session, question)))
}

/// Whether a text is a UUID in lower case.
#[must_use]
pub fn is_uuid(text: &str) -> bool {
    ids::is_uuid(text) && !text.bytes().any(|byte| byte.is_ascii_uppercase())
}

/// Returns a UUID that follows from these bytes.
pub fn uuid_of(bytes: &[u8]) -> String {
    let (a, b) = (hash(bytes), hash(&[bytes, b"2"].concat()));
    // Version 8 of RFC 9562: the bits are the maker's own.
    ids::uuid(a & 0xffff_ffff_ffff_0fff | 0x8000, b & 0x3fff_ffff_ffff_ffff | 1 << 63)
}
