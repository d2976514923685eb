//! Identity of a session that has no identifier of a format's own kind, and its beginning.

use super::{Field, Node};
use crate::ids::{is_uuid, uuid_of};
use crate::times;
use jiff::Timestamp;

/// Returns bytes that distinguish a session from others; `question` is its first question. Data
/// that change when a session continues count only where there is neither an identifier nor a time
/// of creation.
#[must_use]
pub fn identity(session: &Node, question: Option<&str>) -> Vec<u8> {
    let lasting = [Field::Id, Field::Name, Field::Agent, Field::Cwd, Field::Created];
    let last = [Field::Updated, Field::Totals];
    let is_lasting = [Field::Id, Field::Created].iter().any(|f| session.json(*f).is_some());
    let last = if is_lasting { &[][..] } else { &last[..] };
    let mut identity = Vec::new();
    for field in lasting.iter().chain(last) {
        let value = session.json(*field).map(|json| json.normal()).unwrap_or_default();
        identity.extend_from_slice(&value);
        identity.push(b' ');
    }
    identity.extend_from_slice(question.unwrap_or_default().as_bytes());
    identity
}

/// Returns the identifier of a session if it is a UUID, or else one that follows from the session.
#[must_use]
pub fn session_uuid(session: &Node, question: Option<&str>) -> String {
    let own = session.text(Field::Id).filter(|id| is_uuid(id));
    own.unwrap_or_else(|| uuid_of(&identity(session, question)))
}

/// Returns the time at which a session began, or else the one at which it was changed.
#[must_use]
pub fn began(session: &Node) -> Option<Timestamp> {
    let stated = [Field::Created, Field::Updated].map(|field| session.json(field));
    stated.into_iter().flatten().find_map(times::read)
}
