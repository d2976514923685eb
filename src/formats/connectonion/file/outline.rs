//! Outline of a file that another program or the user laid out again, with all keys in quotes or in
//! braces. The outline has the members in the layout of the real software, so that the same marks
//! identify the file.

use crate::yaml::Text;
use crate::yaml::read::{Events, Limits, What};

/// Returns the outline of the file that begins with `head`; `None` if nothing in it is a turn or a
/// message.
pub fn outline(head: &str) -> Option<String> {
    // Most YAML files are of other programs, and have none of these words.
    if !["turns", "messages"].iter().any(|word| has_word(head, word)) {
        return None;
    }
    let mut outline = Outline::default();
    let mut events = Events::new(head.as_bytes(), Limits::default());
    // The beginning of a file ends anywhere, mostly with an error.
    while let Ok(Some(event)) = events.next() {
        if event.what == What::DocumentEnd {
            break;
        }
        outline.take(event.what);
    }
    outline.is_session.then_some(outline.lines)
}

/// Whether a text contains a word that can be a key.
fn has_word(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(at, _)| {
        let (before, rest) = text.split_at(at);
        let behind = rest.get(word.len()..).unwrap_or_default().trim_start_matches(['"', '\'']);
        let stands_alone = !before.ends_with(|c: char| c.is_alphanumeric() || c == '_');
        stands_alone && behind.trim_start_matches(' ').starts_with(':')
    })
}

#[derive(Debug, Default)]
struct Outline {
    lines: String,
    /// The open collections.
    open: Vec<Level>,
    /// The member of the top that is being read.
    member: String,
    /// Whether a turn has a question, or a message a role.
    is_session: bool,
}

#[derive(Debug)]
enum Level {
    Sequence,
    /// Whether a key comes next.
    Mapping(bool),
}

impl Outline {
    fn take(&mut self, what: What) {
        match what {
            What::Comment { .. } | What::DocumentStart => return,
            What::MappingEnd | What::SequenceEnd => {
                self.open.pop();
                return;
            }
            _ => {}
        }
        let is_key = match self.open.last_mut() {
            Some(Level::Mapping(key)) => std::mem::replace(key, !*key),
            _ => false,
        };
        match what {
            What::MappingStart(..) => self.mapping(),
            What::SequenceStart(..) => self.open.push(Level::Sequence),
            What::Scalar(text, ..) if is_key => self.key(&text),
            What::Scalar(text, ..) => self.value(&text),
            _ => {}
        }
    }

    fn mapping(&mut self) {
        if self.member == "turns" && matches!(self.open.as_slice(), [_, Level::Sequence]) {
            self.lines.push_str("-\n");
        }
        self.open.push(Level::Mapping(true));
    }

    fn key(&mut self, key: &Text<'_>) {
        let key = key.as_str().unwrap_or_default();
        let line = match (self.open.as_slice(), self.member.as_str()) {
            ([_], _) => {
                key.clone_into(&mut self.member);
                format!("{key}:\n")
            }
            ([_, Level::Sequence, _], "turns") => {
                self.is_session |= key == "input";
                format!("  {key}: 0\n")
            }
            ([_, Level::Sequence, _] | [_, _, Level::Sequence, _], "messages") => {
                self.is_session |= key == "role";
                return;
            }
            ([_, Level::Mapping(_)], "messages") => format!("  {key}:\n"),
            _ => return,
        };
        self.lines.push_str(&line);
    }

    /// Looks for the messages of a run, which are a text in the layout of the real software.
    fn value(&mut self, value: &Text<'_>) {
        let lists = self.open.len() == 1 && self.member == "messages";
        self.is_session |= lists && value.as_str().is_some_and(is_list);
    }
}

/// Whether a text begins as a list of messages does.
fn is_list(text: &str) -> bool {
    let begin = text.trim_start().strip_prefix('[').unwrap_or_default().trim_start();
    begin.strip_prefix('{').is_some_and(|message| message.trim_start().starts_with("\"role\""))
}
