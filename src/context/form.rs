//! The shapes in which a context is printed: the source format's own, the one in which contexts
//! are compared, and those of two programming interfaces.

use super::joined::{Joined, Whole};
use super::list::List;
use super::plain::{Thoughts, plain};
use super::{anthropic, openai};
use crate::format::{Api, Context, Corrections, Format, Resent};
use crate::mapping::{BlockType, Object, Row, blocks, row};
use crate::position::{Located, Position};
use crate::record::{Field, Kind, Node, Record, block};

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

/// Messages while they are brought into a form.
pub struct Forming {
    shape: Shape,
    sending: Sending,
    /// Messages that are ready to be written.
    ready: Vec<Whole>,
}

enum Shape {
    /// With the stage that takes faults out of the history, if there is one.
    Own(Option<Box<dyn Corrections>>),
    Canonical,
    OpenAi(openai::Messages),
    Anthropic(anthropic::Messages),
}

/// Messages on their way to an interface, or to a comparison.
pub struct Sending {
    way: Way,
    /// The interface; `None` where messages are only compared.
    api: Option<Api>,
    /// Whether thoughts stay that the interface would not get.
    thoughts: bool,
    /// Stage before the way, of messages for an interface.
    corrections: Option<Box<dyn Corrections>>,
}

/// Preparation of messages before they are written.
enum Way {
    /// Consecutive answers are joined; nothing else changes.
    Joined(Box<Joined>),
    /// The agent's own changes for the interface are applied.
    Resent(Box<dyn Resent>),
}

impl Sending {
    /// Begins messages for this interface, behind [`Context::begin`].
    pub fn new(api: Option<Api>, context: &dyn Context, format: &Format) -> Self {
        let resent = api.and_then(|api| context.resent(api));
        let joined = || match api {
            Some(_) => Joined::waiting(format),
            None => Joined::compared(),
        };
        let way = resent.map_or_else(|| Way::Joined(Box::new(joined())), Way::Resent);
        Self { way, api, thoughts: false, corrections: api.and_then(|_| context.corrections()) }
    }

    /// Keeps the thoughts that the interface would not get.
    pub fn with_thoughts(self) -> Self {
        Self { thoughts: true, ..self }
    }

    /// Takes one message, and adds what is sent to `ready`. `seen` gets what is sent of this
    /// message alone.
    pub fn message(
        &mut self,
        context: &mut dyn Context,
        message: &Located<Record>,
        seen: &mut dyn FnMut(&Node),
        ready: &mut Vec<Whole>,
    ) {
        let Located { value: message, at } = message;
        if let Way::Resent(resent) = &mut self.way {
            let mut nodes = Vec::new();
            resent.message(message, &mut nodes);
            nodes.iter().for_each(seen);
            return ready.extend(nodes.into_iter().map(|node| Whole::new(*at, node)));
        }
        let Some(sent) = context.sent(message) else { return };
        seen(&sent);
        let mut whole = Vec::new();
        match &mut self.corrections {
            Some(corrections) => corrections.message(sent, &mut whole),
            None => whole.push(sent),
        }
        whole.into_iter().for_each(|sent| self.join(*at, &sent, ready));
    }

    /// Joins a message with those before it.
    fn join(&mut self, at: Position, sent: &Node, ready: &mut Vec<Whole>) {
        let Way::Joined(joined) = &mut self.way else { return };
        let signed = self.api == Some(Api::Anthropic) && sent.is(Field::Api, anthropic::API);
        let thoughts = match (self.thoughts, signed) {
            (true, _) => Thoughts::All,
            (_, true) => Thoughts::Signed,
            _ => Thoughts::None,
        };
        let Some(mut sent) = plain(sent, thoughts) else { return };
        if self.api == Some(Api::OpenAi) && !sent.is(Field::Role, "assistant") {
            openai::as_text(&mut sent);
        }
        joined.add(at, sent);
        ready.extend(std::iter::from_fn(|| joined.next()));
    }

    /// Adds the messages that are held back at the end.
    pub fn finish(&mut self, ready: &mut Vec<Whole>) {
        let mut last = Vec::new();
        self.corrections.iter_mut().for_each(|corrections| corrections.finish(&mut last));
        last.into_iter().for_each(|sent| self.join(Position::default(), &sent, ready));
        match &mut self.way {
            Way::Joined(joined) => {
                joined.finish();
                ready.extend(std::iter::from_fn(|| joined.next()));
            }
            Way::Resent(resent) => {
                let mut nodes = Vec::new();
                resent.finish(&mut nodes);
                let whole = |node| Whole::new(Position::default(), node);
                ready.extend(nodes.into_iter().map(whole));
            }
        }
    }
}

impl Forming {
    /// Begins messages of this form, behind [`Context::begin`].
    pub fn new(form: Form, context: &dyn Context, format: &Format) -> Self {
        let (shape, api) = match form {
            Form::Own => (Shape::Own(context.own_corrections()), None),
            Form::Canonical => (Shape::Canonical, None),
            Form::OpenAi => (Shape::OpenAi(openai::Messages::default()), Some(Api::OpenAi)),
            Form::Anthropic => {
                (Shape::Anthropic(anthropic::Messages::default()), Some(Api::Anthropic))
            }
        };
        Self { shape, sending: Sending::new(api, context, format), ready: Vec::new() }
    }

    /// Writes one message.
    pub fn message(
        &mut self,
        context: &mut dyn Context,
        message: &Located<Record>,
        list: &mut List,
    ) {
        match &mut self.shape {
            Shape::Own(Some(corrections)) => {
                let mut nodes = Vec::new();
                corrections.message(message.value.node.clone(), &mut nodes);
                return write_own(context, nodes, list);
            }
            Shape::Own(None) => return own(context, &message.value, list),
            _ => {}
        }
        self.sending.message(context, message, &mut |_| {}, &mut self.ready);
        self.write(list);
    }

    fn write(&mut self, list: &mut List) {
        for whole in self.ready.drain(..).map(|whole| whole.node) {
            match &mut self.shape {
                Shape::OpenAi(messages) => messages.add(&whole, list),
                Shape::Anthropic(messages) => messages.add(&whole, list),
                Shape::Canonical => write_canonical(&whole, list),
                Shape::Own(_) => {}
            }
        }
    }

    /// Writes the messages that are held back at the end.
    pub fn finish(&mut self, context: &dyn Context, list: &mut List) {
        if let Shape::Own(Some(corrections)) = &mut self.shape {
            let mut nodes = Vec::new();
            corrections.finish(&mut nodes);
            write_own(context, nodes, list);
        }
        self.sending.finish(&mut self.ready);
        self.write(list);
        match &mut self.shape {
            Shape::OpenAi(messages) => messages.show_images(list),
            Shape::Anthropic(messages) => messages.close_answers(list),
            Shape::Canonical | Shape::Own(_) => {}
        }
    }

    /// Returns the members behind the messages.
    pub fn members(&self, context: &dyn Context) -> Vec<(&'static str, Vec<u8>)> {
        match &self.shape {
            Shape::Own(_) => context.settings(),
            Shape::Anthropic(messages) => {
                let system = messages.system();
                system.map(|text| ("system", text.as_bytes().to_vec())).into_iter().collect()
            }
            _ => Vec::new(),
        }
    }
}

/// Writes messages that a stage of the context made, in the shape of the source's software.
fn write_own(context: &dyn Context, nodes: Vec<Node>, list: &mut List) {
    for node in nodes {
        own(context, &Record { kind: Kind::Message, node }, list);
    }
}

/// Writes a message in the shape of the source's software.
fn own(context: &dyn Context, message: &Record, list: &mut List) {
    // Some software drops a message only when it sends the others.
    list.item_of(|out| context.own(message, out));
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
