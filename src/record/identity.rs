//! Identity of a session that has no identifier of a format's own kind.

use super::{Field, Node};

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
