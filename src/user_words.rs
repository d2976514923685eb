//! The words of the user, among messages of role `user`.
//!
//! Agents send their own words in messages of this role, too: outputs of commands, interruptions,
//! summaries, instructions, skills. Each format [describes](crate::format::Inserted) those of its
//! software. The texts of all formats count in a session of any, because a conversion keeps them.

use crate::diagnostic::one_line;
use crate::format::{Format, Inserted, Typed};
use crate::formats::{self, FORMATS};
use crate::json::Json;
use crate::record::{Field, Kind, Node, Record, Value, block};

/// Finds the questions of the user in a session.
///
/// ```
/// use copyist::user_words::UserWords;
/// use copyist::{formats::pi, json::Json, record::{Field, Kind, Record}};
/// let mut message = Record::new(Kind::Message);
/// message.node.set(Field::Role, Json::string("user"));
/// let user_words = UserWords::of(&pi::FORMAT);
/// let mut words = |text: &str| {
///     message.node.set(Field::Content, Json::string(text));
///     user_words.question(&message)
/// };
/// assert_eq!(words("Why?").as_deref(), Some("Why?"));
/// assert_eq!(words("<system-reminder>Tea</system-reminder>\nWhy?").as_deref(), Some("Why?"));
/// assert_eq!(words("<environment_context>\n</environment_context>"), None);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct UserWords {
    format: &'static Format,
}

impl UserWords {
    /// Begins a session of a format.
    #[must_use]
    pub fn of(format: &'static Format) -> Self {
        Self { format }
    }

    /// Notes a record. A stream has the rules of its source.
    pub fn note(&mut self, record: &Record) {
        if record.kind == Kind::Session {
            self.format = formats::ruling(self.format, &record.node);
        }
    }

    /// Whether the record is a question of the user in the conversation itself, with which a turn
    /// begins. Words that are not sent are none.
    #[must_use]
    pub fn is_question(&self, record: &Record) -> bool {
        record.is_of_user() && !record.is_aside() && !self.is_of_program(record)
    }

    /// Returns the question, without what a program added; empty for a question without
    /// words, such as an image alone. `None` if the record is no question of the user.
    #[must_use]
    pub fn question(&self, record: &Record) -> Option<String> {
        self.is_question(record).then(|| {
            let words = texts(&record.node).filter_map(|text| match typed(&text) {
                Some(Typed::Question(question)) => Some(question),
                Some(Typed::Command(_)) => None,
                None => Some(own(&text).to_owned()).filter(|text| !text.is_empty()),
            });
            words.collect::<Vec<_>>().join("\n")
        })
    }

    /// Returns the command that the user gave to the program, where the message is of one.
    #[must_use]
    pub fn command(&self, record: &Record) -> Option<String> {
        let is_command = |text: String| match typed(&text) {
            Some(Typed::Command(command)) => Some(command),
            _ => None,
        };
        record.is_of_user().then(|| texts(&record.node).find_map(is_command)).flatten()
    }

    /// Whether the record is a message of role `user` that a program wrote.
    #[must_use]
    pub fn is_of_program(&self, record: &Record) -> bool {
        if !record.is_of_user() {
            return false;
        }
        if self.format.agent.inserted.is_marked.is_some_and(|is_marked| is_marked(&record.node)) {
            return true;
        }
        let is_text = |block: &Node| block.is(Field::Type, block::TEXT);
        let blocks = record.node.content();
        let mut texts = texts(&record.node).filter(|text| !text.trim().is_empty()).peekable();
        blocks.iter().all(is_text) && texts.peek().is_some() && texts.all(|text| is_inserted(&text))
    }

    /// Returns the entry behind which an entry without a parent continues the conversation.
    #[must_use]
    pub fn continued(&self, record: &Record) -> Option<Json> {
        self.format.agent.inserted.continued.and_then(|continued| continued(record))
    }
}

/// Maximum number of characters of a question in one line.
const LONGEST: usize = 200;

/// Returns the beginning of a text in one line.
#[must_use]
pub fn line(text: &str) -> String {
    one_line(text, LONGEST)
}

/// Returns the beginning of a question in one line; of one without words the kinds of its blocks.
#[must_use]
pub fn title(question: &Node, words: &str) -> String {
    let blocks = || question.content().iter();
    let kind = |block: &Node| format!("[{}]", block.text(Field::Type).unwrap_or_default());
    let kinds = || blocks().map(kind).collect::<Vec<_>>().join(" ");
    Some(line(words)).filter(|line| !line.is_empty()).unwrap_or_else(kinds)
}

/// The title of a session that has no name: its first question, or else the first command that the
/// user gave to the program.
#[derive(Clone, Debug, Default)]
pub struct Title {
    question: Option<String>,
    command: Option<String>,
}

impl Title {
    /// Notes the next record.
    pub fn note(&mut self, user_words: UserWords, record: &Record) {
        if self.question.is_some() || !record.is_of_user() {
            return;
        }
        let question = user_words.question(record).map(|words| title(&record.node, &words));
        self.question = question.filter(|question| !question.is_empty());
        if self.command.is_none() {
            self.command = user_words.command(record).map(|command| line(&command));
        }
    }

    /// Returns the title.
    #[must_use]
    pub fn finish(self) -> Option<String> {
        self.question.or(self.command)
    }
}

/// Returns the texts of a message.
fn texts(message: &Node) -> impl Iterator<Item = String> + '_ {
    let whole = match message.get(Field::Content) {
        Some(Value::Json(text)) => text.text(),
        _ => None,
    };
    let blocks = message.content().iter();
    let blocks = blocks.filter(|block| block.is(Field::Type, block::TEXT));
    whole.into_iter().chain(blocks.filter_map(|block| block.text(Field::Text)))
}

/// The texts of the programs of all formats.
fn inserted() -> impl Iterator<Item = &'static Inserted> {
    FORMATS.iter().map(|format| &format.agent.inserted)
}

fn typed(text: &str) -> Option<Typed> {
    inserted().filter_map(|inserted| inserted.typed).find_map(|typed| typed(text))
}

fn is_inserted(text: &str) -> bool {
    match typed(text) {
        Some(Typed::Question(_)) => false,
        Some(Typed::Command(_)) => true,
        None => own(text).is_empty(),
    }
}

/// Returns a text without the words of programs at its beginning and its end.
fn own(text: &str) -> &str {
    let mut text = text.trim();
    while let Some(rest) = behind_first(text).or_else(|| before_last(text)) {
        text = rest.trim();
    }
    text
}

/// Returns the rest of a text that begins with words of a program.
fn behind_first(text: &str) -> Option<&str> {
    let passages = || inserted().flat_map(|inserted| inserted.passages);
    let passage = passages().find_map(|(begin, end)| {
        let rest = text.strip_prefix(begin)?;
        if end.is_empty() { Some("") } else { rest.split_once(end).map(|(_, rest)| rest) }
    });
    passage.or_else(|| {
        let name = inserted()
            .flat_map(|inserted| inserted.elements)
            .find(|name| is_tag(text.strip_prefix('<'), name))?;
        text.split_once(&format!("</{name}>")).map(|(_, rest)| rest)
    })
}

/// Returns the text before an element of a program at its end.
fn before_last(text: &str) -> Option<&str> {
    let open = text.strip_suffix('>')?;
    let (before, name) = open.rsplit_once("</")?;
    inserted().flat_map(|inserted| inserted.elements).find(|own| **own == name)?;
    let begin = before.rmatch_indices('<').map(|(at, _)| at);
    let begin = begin.into_iter().find(|at| is_tag(before.get(at + 1..), name))?;
    before.get(..begin)
}

/// Whether a text is the rest of a tag with this name.
fn is_tag(text: Option<&str>, name: &str) -> bool {
    let rest = text.and_then(|text| text.strip_prefix(name));
    rest.is_some_and(|rest| rest.starts_with(|c: char| c == '>' || c.is_whitespace()))
}
