//! Content of a context that the interface of a model refuses, whichever message follows.
//!
//! Faults that the session's own software mends before it sends are not reported.

use super::form::Sending;
use super::route::Route;
use super::{Messages, look};
use crate::diagnostic::{Code, Diagnostic, Log};
use crate::dialect::refusal::{image_fault, is_tool_name};
use crate::error::Result;
use crate::format::{Api, Cx, Format, Mends};
use crate::formats::ruling;
use crate::json::{Json, Unit, refused_units};
use crate::position::Position;
use crate::record::{Field, Node, Value, block};
use crate::session::Session;

/// Reports what a model's interface would refuse if the session continued.
///
/// # Errors
/// The errors of [`run`](super::run).
pub fn check(mut session: Session<'_>, cx: &Cx<'_>) -> Result<()> {
    let log = Log::default();
    let quiet = Cx { options: cx.options, log: &log };
    let mends = match ruling(session.format(), &session.header().node) {
        Format { context: Some(_), mends, .. } => *mends,
        _ => return Ok(()),
    };
    if mends == Mends::Everything {
        return Ok(());
    }
    let route = Route::of(&session, None)?;
    let (context, route) = look(&mut session, route, &quiet, &mut |_| {})?;
    let mut messages = Messages::open(session, context, route, &quiet)?;
    let mut sending = Sending::new(Some(Api::Anthropic), messages.context.as_ref());
    let mut checking = Checking { cx, mends, open: Vec::new() };
    let (mut ready, mut at) = (Vec::new(), Position::default());
    while let Some(message) = messages.next() {
        let message = message?;
        at = message.at;
        sending.message(messages.context.as_mut(), &message.value, &mut ready);
        ready.drain(..).for_each(|sent| checking.message(&sent, at));
    }
    sending.finish(&mut ready);
    ready.drain(..).for_each(|sent| checking.message(&sent, at));
    checking.close();
    Ok(())
}

/// Observer of the messages that are sent.
struct Checking<'a> {
    cx: &'a Cx<'a>,
    mends: Mends,
    /// Calls of the last answer that have no result yet.
    open: Vec<(Option<Json>, Position)>,
}

impl Checking<'_> {
    fn message(&mut self, sent: &Node, at: Position) {
        if sent.is(Field::Role, "system") {
            return;
        }
        let blocks = sent.nodes(Field::Content).unwrap_or_default();
        let results = blocks.iter().filter(|block| block.is(Field::Type, block::TOOL_RESULT));
        let mut answers = false;
        for result in results {
            answers = true;
            self.result(result, at);
        }
        if !answers {
            self.close();
        }
        match sent.get(Field::Content) {
            Some(Value::Json(said)) => self.units(said, at),
            _ => blocks.iter().for_each(|block| self.block(block, at)),
        }
    }

    fn result(&mut self, result: &Node, at: Position) {
        let id = result.json(Field::Call);
        match self.open.iter().position(|(open, _)| open.as_ref() == id) {
            Some(place) => drop(self.open.remove(place)),
            None if self.mends == Mends::Calls => {}
            None => self.refuse("a result has no call before it", at),
        }
    }

    /// Ends the turn: calls that still wait are refused.
    fn close(&mut self) {
        let open = std::mem::take(&mut self.open);
        for (_, at) in open.into_iter().filter(|_| self.mends != Mends::Calls) {
            self.refuse("a call has no result after it", at);
        }
    }

    fn block(&mut self, block: &Node, at: Position) {
        let is = |name| block.is(Field::Type, name);
        for field in [Field::Text, Field::Thinking, Field::Arguments] {
            block.json(field).into_iter().for_each(|text| self.units(text, at));
        }
        if is(block::TOOL_CALL) {
            self.open.push((block.json(Field::Id).cloned(), at));
            let name = block.text(Field::Name).unwrap_or_default();
            if !is_tool_name(&name) {
                self.refuse(&format!("`{name}` cannot be the name of a tool"), at);
            }
        } else if is(block::IMAGE) {
            let fault = block.text(Field::Data).and_then(|data| image_fault(&data));
            fault.into_iter().for_each(|fault| self.refuse(fault, at));
        } else if is(block::TOOL_RESULT) {
            match block.get(Field::Content) {
                Some(Value::Json(said)) => self.units(said, at),
                Some(Value::Nodes(inner)) => inner.iter().for_each(|part| self.block(part, at)),
                _ => {}
            }
        }
    }

    fn units(&self, json: &Json, at: Position) {
        let mut units = refused_units(json.as_bytes()).map(|(_, unit)| unit);
        if let Some(unit) = units.next() {
            let what = match unit {
                Unit::Nul => "a text has U+0000",
                Unit::Half => "a text has half of a surrogate pair",
            };
            self.refuse(what, at);
        }
    }

    fn refuse(&self, what: &str, at: Position) {
        let message = format!("{}: {what}", Code::Refused.title());
        self.cx.report(Diagnostic::new(Code::Refused, message).at(at));
    }
}
