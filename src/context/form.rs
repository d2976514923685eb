//! The shapes in which a context is printed: the source format's own, the one in which contexts
//! are compared, and those of two programming interfaces.

use super::joined::Joined;
use super::plain::plain;
use super::{anthropic, openai};
use crate::format::Context;
use crate::mapping::{BlockType, Object, Row, blocks, row};
use crate::position::Position;
use crate::record::{Field, Node, Record, block};

/// The shape of a context's messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// The messages that the source format's own software builds.
    #[default]
    Own,
    /// Role and blocks of what is sent, without what formats spell differently: identifiers of
    /// messages, usage, times, thinking.
    Canonical,
    /// OpenAI's Chat Completions.
    OpenAi,
    /// Anthropic's Messages.
    Anthropic,
}

/// A JSON array while it is written.
#[derive(Debug, Default)]
pub struct List {
    out: Vec<u8>,
    begun: bool,
}

impl List {
    /// Writes text that is not an item.
    pub fn text(&mut self, text: &[u8]) {
        self.out.extend_from_slice(text);
    }

    /// Returns the buffer with the output that was written and not yet taken out.
    pub fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.out
    }

    /// Returns the buffer into which the next item is written.
    pub fn item(&mut self) -> &mut Vec<u8> {
        if std::mem::replace(&mut self.begun, true) {
            self.out.push(b',');
        }
        &mut self.out
    }
}

/// Messages while they are brought into a form.
#[derive(Debug)]
pub enum Forming {
    /// The source format's own.
    Own,
    /// The canonical one.
    Canonical(Joined),
    /// Chat Completions.
    OpenAi(Joined, openai::Messages),
    /// Messages.
    Anthropic(Joined, anthropic::Messages),
}

impl Forming {
    /// Begins messages of this form.
    pub fn new(form: Form) -> Self {
        match form {
            Form::Own => Self::Own,
            Form::Canonical => Self::Canonical(Joined::default()),
            Form::OpenAi => Self::OpenAi(Joined::waiting(), openai::Messages::default()),
            Form::Anthropic => Self::Anthropic(Joined::waiting(), anthropic::Messages::default()),
        }
    }

    /// Writes one message.
    pub fn message(&mut self, context: &mut dyn Context, message: &Record, list: &mut List) {
        if let Self::Own = self {
            context.own(message, list.item());
            return;
        }
        let Some(sent) = context.sent(message) else { return };
        let thinking = matches!(self, Self::Anthropic(..)) && sent.is(Field::Api, anthropic::API);
        let Some(sent) = plain(&sent, thinking) else { return };
        match self {
            Self::OpenAi(joined, _) | Self::Anthropic(joined, _) | Self::Canonical(joined) => {
                let whole = joined.add(Position::default(), sent);
                whole.into_iter().for_each(|(_, whole)| self.write(&whole, list));
            }
            Self::Own => {}
        }
    }

    fn write(&mut self, whole: &Node, list: &mut List) {
        match self {
            Self::OpenAi(_, messages) => messages.add(whole, list),
            Self::Anthropic(_, messages) => messages.add(whole, list),
            Self::Canonical(_) => write_canonical(whole, list),
            Self::Own => {}
        }
    }

    /// Writes the messages that are held back at the end.
    pub fn finish(&mut self, list: &mut List) {
        let last = match self {
            Self::OpenAi(joined, _) | Self::Anthropic(joined, _) | Self::Canonical(joined) => {
                joined.finish()
            }
            Self::Own => None,
        };
        last.into_iter().for_each(|(_, last)| self.write(&last, list));
        match self {
            Self::OpenAi(_, messages) => messages.show_images(list),
            Self::Anthropic(_, messages) => messages.close_answers(list),
            Self::Canonical(_) | Self::Own => {}
        }
    }

    /// Returns the members that stand behind the messages.
    pub fn members(&self, context: &dyn Context) -> Vec<(&'static str, Vec<u8>)> {
        match self {
            Self::Own => context.settings(),
            Self::Anthropic(_, messages) => {
                let system = messages.system();
                system.map(|text| ("system", text.as_bytes().to_vec())).into_iter().collect()
            }
            _ => Vec::new(),
        }
    }
}

fn write_canonical(message: &Node, list: &mut List) {
    let mut object = Object::open(list.item());
    object.rows(MESSAGE, message);
    object.close();
}

/// The canonical form of a message.
const MESSAGE: &[Row] = &[row("role", Field::Role), blocks("content", Field::Content, BLOCKS)];
const BLOCKS: &[BlockType] = &[
    TEXT,
    IMAGE,
    DOCUMENT,
    BlockType {
        wire: block::TOOL_CALL,
        name: block::TOOL_CALL,
        rows: &[row("id", Field::Id), row("name", Field::Name), row("arguments", Field::Arguments)],
    },
    BlockType {
        wire: block::TOOL_RESULT,
        name: block::TOOL_RESULT,
        rows: &[
            row("call", Field::Call),
            blocks("content", Field::Content, &[TEXT, IMAGE, DOCUMENT]),
        ],
    },
];
const TEXT: BlockType =
    BlockType { wire: block::TEXT, name: block::TEXT, rows: &[row("text", Field::Text)] };
const IMAGE: BlockType = BlockType { wire: block::IMAGE, name: block::IMAGE, rows: DATA };
const DOCUMENT: BlockType = BlockType { wire: block::DOCUMENT, name: block::DOCUMENT, rows: DATA };
const DATA: &[Row] = &[row("media_type", Field::MediaType), row("data", Field::Data)];
