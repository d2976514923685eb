//! A poorer session never takes the place of a richer one: `--force` replaces a file of the same
//! session only if the output has all of its messages.

use crate::alignment;
use crate::diagnostic::{Code, Log, plural};
use crate::error::{Error, Result};
use crate::format::{Cx, Format, Options};
use crate::ids::hash;
use crate::record::{Field, Kind, Node, block};
use crate::store::{Input, Output, Replaced};
use std::collections::HashSet;
use std::path::Path;

/// Checks that no file of the session is replaced that has messages which the output lacks.
pub fn check(output: &Output, format: &Format) -> Result<()> {
    for Replaced { path, mut old, mut new } in output.replaced()? {
        // What cannot be read as a session is none.
        let Some(before) = Messages::of(&mut old, format) else { continue };
        let Some(after) = Messages::of(&mut new, format) else { continue };
        let lacking = before.lacking_in(&after);
        if lacking != (0, 0) && before.is_session_of(&after) {
            return Err(richer(&path, lacking));
        }
    }
    Ok(())
}

fn richer(path: &Path, (messages, counts): (u64, u64)) -> Error {
    let parts = [(messages, "message"), (counts, "token count")];
    let parts = parts.iter().filter(|(lacking, _)| *lacking > 0);
    let parts: Vec<_> = parts.map(|(lacking, what)| plural(*lacking, what)).collect();
    let message = format!(
        "{} is the same session and has {} that the output lacks; name another output, or remove \
         the file",
        path.display(),
        parts.join(" and ")
    );
    Error::request(Code::Poorer, message)
}

/// Identifier of a session, its messages by hashes of their words, and the number of answers with
/// token counts.
struct Messages {
    id: Option<String>,
    words: Vec<u64>,
    counted: u64,
}

impl Messages {
    fn of(file: &mut Input, format: &Format) -> Option<Self> {
        let options = Options::default();
        let log = Log::default();
        let cx = Cx { options: &options, log: &log };
        let mut all = Self { id: None, words: Vec::new(), counted: 0 };
        for located in format.records(file, &cx).ok()?.map_while(Result::ok) {
            let node = &located.value.node;
            match located.value.kind {
                Kind::Session if all.id.is_none() => all.id = node.text(Field::Id),
                Kind::Message => all.note(node),
                _ => {}
            }
        }
        Some(all)
    }

    fn note(&mut self, message: &Node) {
        let words = block::message_text(message).and_then(|text| text.text()).unwrap_or_default();
        let role = message.text(Field::Role).unwrap_or_default();
        // Versions of a format keep the system's words in different places.
        if !words.trim().is_empty() && role != "system" {
            self.words.push(hash(format!("{role}\0{words}").as_bytes()));
        }
        let counts = [Field::InputTokens, Field::OutputTokens];
        let count = |field| message.node(Field::Usage)?.json(field)?.float();
        self.counted += u64::from(counts.into_iter().filter_map(count).any(|count| count > 0.0));
    }

    /// Numbers of messages and of token counts that another session does not have. A message in the
    /// place of another one is an edit of it.
    fn lacking_in(&self, other: &Self) -> (u64, u64) {
        let hunks = alignment::hunks(&self.words, &other.words);
        let missing = hunks.iter().map(|hunk| hunk.a.len().saturating_sub(hunk.b.len()) as u64);
        (missing.sum(), self.counted.saturating_sub(other.counted))
    }

    /// Whether both are one session: by the identifier, or by a message if one has none.
    fn is_session_of(&self, other: &Self) -> bool {
        match (&self.id, &other.id) {
            (Some(own), Some(id)) => own == id,
            _ => {
                let words: HashSet<_> = self.words.iter().collect();
                other.words.iter().any(|word| words.contains(word))
            }
        }
    }
}
