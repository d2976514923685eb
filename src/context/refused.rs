//! Content of a context that the interface of a model refuses, whichever message follows.
//!
//! Faults that the newest release of the session's own software mends before it sends are not
//! reported. `dialect::refusal` lists what is refused of a single message.

use super::Messages;
use super::ahead::Opened;
use super::counted::Counted;
use super::form::Sending;
use super::joined::Whole;
use super::omitted::Omitted;
use crate::diagnostic::{Code, Diagnostic, Log};
use crate::dialect::refusal::{OfServer, faults, is_larger, of_server};
use crate::error::Result;
use crate::format::{Api, Cx, Interface, Mends};
use crate::formats::ruling;
use crate::ids::hash;
use crate::json::Json;
use crate::position::Position;
use crate::record::{Field, Node, block};
use crate::session::Visitor;
use std::collections::{HashMap, HashSet, VecDeque};

/// Reports what a model's interface would refuse if the session continued. Returns the number of
/// messages in the context, if they were looked at. A visitor gets all records in the same walk.
///
/// # Errors
/// The errors of [`run`](super::run).
pub fn check(
    mut opened: Opened<'_>,
    visitor: Option<&mut dyn Visitor>,
    cx: &Cx<'_>,
) -> Result<Option<u64>> {
    let log = Log::default();
    let quiet = Cx { options: cx.options, log: &log };
    let format = ruling(opened.session.format(), &opened.session.header().node);
    let looks = format.agent.context.is_some() && format.agent.mends != Mends::Everything;
    let (context, route) = match looks.then(|| opened.ruled(None, &quiet)).transpose() {
        Ok(Some(ruled)) => ruled,
        other => {
            if let Some(visitor) = visitor {
                visitor.again(opened.session, &quiet)?.try_for_each(|item| item.map(drop))?;
            }
            return other.map(|_| None);
        }
    };
    let mut messages = Messages::open(opened.session, context, route, |all| match visitor {
        Some(visitor) => visitor.again(all, &quiet),
        None => all.into_records(&quiet),
    })?;
    let interface = messages.context.interface().unwrap_or(format.agent.interface);
    let api = if interface == Interface::AnthropicMessages { Api::Anthropic } else { Api::OpenAi };
    let mut sending = Sending::new(Some(api), messages.context.as_ref(), format);
    let mut checking = Checking::new(cx, format.agent.mends, interface);
    let omits = messages.context.corrections().is_some_and(|it| it.omits());
    checking.question = messages.context.begins_with_question();
    let (mut ready, mut counted) = (Vec::new(), Counted::of(messages.context.as_ref()));
    while let Some(message) = messages.next() {
        let message = message?;
        let at = message.at;
        counted.message(messages.context.as_ref(), &message.value);
        if omits {
            checking.omitted.look(&message.value.node, at, cx);
        }
        let seen = &mut |sent: &Node| checking.message(sent, at);
        sending.message(messages.context.as_mut(), &message, seen, &mut ready);
        ready.drain(..).for_each(|whole| checking.pairs(&whole));
    }
    sending.finish(&mut ready);
    ready.drain(..).for_each(|whole| checking.pairs(&whole));
    checking.finish();
    Ok(Some(counted.finish()))
}

/// Images in a request from which on they must be smaller, and their larger side in pixels then.
///
/// Source: Anthropic, Vision.
const MANY_IMAGES: (usize, u32) = (20, 2000);

/// Largest request in bytes.
///
/// Source: Anthropic, API overview, request size limits.
const LARGEST: usize = 32 << 20;

/// Observer of the messages that are sent.
struct Checking<'a> {
    cx: &'a Cx<'a>,
    mends: Mends,
    interface: Interface,
    /// Whether the first message must be the user's.
    question: bool,
    /// Places of the calls of the last answer; `None` for those with a result.
    calls: Vec<Option<Position>>,
    /// The calls that have no result yet, by their identifiers, in their order.
    open: HashMap<Option<Json>, VecDeque<usize>>,
    /// Hashes of the identifiers of all calls that are sent.
    names: HashSet<u64>,
    omitted: Omitted,
    images: usize,
    /// Images that are too large where there are many.
    large: Vec<Position>,
    /// Bytes of all texts and images.
    size: usize,
    /// Calls of the provider's tools that have no result yet, and the places of all blocks of such
    /// tools.
    served: Vec<String>,
    places: HashMap<OfServer, Position>,
}

impl<'a> Checking<'a> {
    fn new(cx: &'a Cx<'a>, mends: Mends, interface: Interface) -> Self {
        Self {
            cx,
            mends,
            interface,
            question: false,
            calls: Vec::new(),
            open: HashMap::new(),
            names: HashSet::new(),
            omitted: Omitted::default(),
            images: 0,
            large: Vec::new(),
            size: 0,
            served: Vec::new(),
            places: HashMap::new(),
        }
    }

    /// Checks the content of a message.
    fn message(&mut self, sent: &Node, at: Position) {
        if sent.is(Field::Role, "system") {
            return;
        }
        let images = self.mends.images();
        faults(sent, self.interface, &mut |fault, of_image| {
            if !(images && of_image) {
                refuse(self.cx, &fault, at);
            }
        });
        if self.interface == Interface::AnthropicMessages {
            self.size += sent.json(Field::Content).map_or(0, |text| text.as_bytes().len());
            let blocks = sent.content().iter();
            for block in blocks {
                let inner = block.content();
                std::iter::once(block).chain(inner).for_each(|block| self.block(block, at));
            }
        }
    }

    fn block(&mut self, block: &Node, at: Position) {
        let data = block.json(Field::Data).filter(|_| block.is(Field::Type, block::OPAQUE));
        if let Some(part) = data.and_then(of_server) {
            self.places.insert(part, at);
        }
        const LARGE: [Field; 6] = [
            Field::Text,
            Field::Thinking,
            Field::Signature,
            Field::Arguments,
            Field::Content,
            Field::Data,
        ];
        let sizes = LARGE.iter().filter_map(|field| block.json(*field));
        self.size += sizes.map(|json| json.as_bytes().len()).sum::<usize>();
        if block.is(Field::Type, block::IMAGE) {
            self.images += 1;
            if is_larger(block, MANY_IMAGES.1) {
                self.large.push(at);
            }
        }
    }

    /// Checks that calls and results are in pairs, and identifiers of calls occur once.
    fn pairs(&mut self, whole: &Whole) {
        let sent = &whole.node;
        if sent.is(Field::Role, "system") {
            return;
        }
        // Source: Anthropic, Messages: "first message must use the \"user\" role".
        if std::mem::take(&mut self.question) && sent.is(Field::Role, "assistant") {
            refuse(self.cx, "the first message is not the user's", whole.place(0));
        }
        let blocks = sent.content();
        let is = |block: &&Node, kind| block.is(Field::Type, kind);
        if !blocks.iter().any(|block| is(&block, block::TOOL_RESULT)) {
            self.close();
            if !sent.is(Field::Role, "assistant") {
                let served = std::mem::take(&mut self.served);
                let fault = "a call of a provider's tool has no result in its answer";
                for call in served {
                    let at = self.places.get(&OfServer::Call(call)).copied();
                    refuse(self.cx, fault, at.unwrap_or_default());
                }
            }
        }
        for (number, block) in blocks.iter().enumerate() {
            let at = whole.place(number);
            if block.is(Field::Type, block::OPAQUE) {
                self.of_server(block);
            }
            if is(&block, block::TOOL_RESULT) {
                self.result(block, at);
            } else if is(&block, block::TOOL_CALL) {
                self.call(block, at);
            }
        }
    }

    /// Checks that a call of a provider's tool and its result are in one answer.
    fn of_server(&mut self, block: &Node) {
        if self.interface != Interface::AnthropicMessages {
            return;
        }
        match block.json(Field::Data).and_then(of_server) {
            Some(OfServer::Call(id)) => self.served.push(id),
            Some(OfServer::Result(id)) => match self.served.iter().position(|call| *call == id) {
                Some(place) => drop(self.served.remove(place)),
                None => {
                    let at = self.places.get(&OfServer::Result(id)).copied();
                    let fault = "a result of a provider's tool has no call in its answer";
                    refuse(self.cx, fault, at.unwrap_or_default());
                }
            },
            None => {}
        }
    }

    fn call(&mut self, call: &Node, at: Position) {
        let id = call.json(Field::Id).cloned();
        let name = id.as_ref().map(|id| hash(&id.normal()));
        let is_new = name.is_none_or(|name| self.names.insert(name));
        if !is_new && self.interface == Interface::AnthropicMessages && !self.mends.pairs() {
            refuse(self.cx, "the identifier of a call occurs twice", at);
        }
        self.open.entry(id).or_default().push_back(self.calls.len());
        self.calls.push(Some(at));
    }

    fn result(&mut self, result: &Node, at: Position) {
        let id = result.json(Field::Call).cloned();
        match self.open.get_mut(&id).and_then(VecDeque::pop_front) {
            Some(place) => self.calls.get_mut(place).into_iter().for_each(|call| *call = None),
            None if self.mends.pairs() => {}
            None => refuse(self.cx, "a result has no call before it", at),
        }
    }

    /// Ends the turn: calls that still wait are refused.
    fn close(&mut self) {
        self.open.clear();
        let open = std::mem::take(&mut self.calls).into_iter().flatten();
        for at in open.filter(|_| !self.mends.pairs()) {
            refuse(self.cx, "a call has no result after it", at);
        }
    }

    fn finish(&mut self) {
        self.close();
        self.omitted.finish(self.cx);
        if self.size > LARGEST {
            let (size, most) = (self.size >> 20, LARGEST >> 20);
            let fault = format!("the session has {size} MB, and a request at most {most} MB");
            refuse(self.cx, &fault, Position::default());
        }
        if self.images > MANY_IMAGES.0 {
            let (many, pixels) = MANY_IMAGES;
            let fault =
                format!("the image is larger than {pixels} pixels, among more than {many} images");
            self.large.iter().for_each(|at| refuse(self.cx, &fault, *at));
        }
    }
}

fn refuse(cx: &Cx<'_>, what: &str, at: Position) {
    let message = format!("{}: {what}", Code::Refused.title());
    cx.report(Diagnostic::new(Code::Refused, message).at(at));
}
