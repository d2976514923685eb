//! Input of a run: the form in the run's first line, and the form as a message of the user.

use super::message;
use crate::json::{Json, text};
use crate::record::{Field, Kind, Record};

/// Converts an input to the message that it becomes, with the spelling of that message. `None` for
/// an input that becomes no message, such as the empty text of a run that only compacts.
pub fn message_of(input: &Json) -> Option<(Record, Vec<u8>)> {
    // Programs that sort members, and later releases, spell the input in another way.
    let kind = only(input, "type")?.text()?;
    let given = only(input, &kind)?;
    let opens: &[u8] = match kind.as_str() {
        "text" => b"\"",
        "parts" => b"[",
        _ => return None,
    };
    let fits = given.as_bytes().starts_with(opens) && given.normal().len() > 2;
    let content = message::content(&given).ok().flatten().filter(|_| fits)?;
    let record = Record::new(Kind::Message)
        .with(Field::Role, Json::constant("\"user\""))
        .with(Field::Content, content);
    let mut spelling = Vec::new();
    message::write(&record, true, &mut spelling);
    Some((record, spelling))
}

/// Returns the member of this name if the object contains it exactly once.
fn only(input: &Json, name: &str) -> Option<Json> {
    let mut members = input.members().filter(|(key, _)| text::is(key, name));
    let (_, value) = members.next()?;
    members.next().is_none().then(|| Json::trusted(input.bytes().slice_ref(value)))
}

/// Input of a run that a message represents, as the run's first line spells it.
pub fn of_message(message: &Json) -> Option<Vec<u8>> {
    let content = message.member("content")?;
    let list = content.is_list();
    let before: &[u8] =
        if list { b"{\"type\":\"parts\",\"parts\":" } else { b"{\"type\":\"text\",\"text\":" };
    Some([before, content.as_bytes(), b"}"].concat())
}
