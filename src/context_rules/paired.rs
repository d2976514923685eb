//! Calls and their results in pairs, as an interface demands them.

use crate::format::Corrections;
use crate::json::Json;
use crate::record::{Field, Node, block};
use std::collections::HashMap;

/// Puts the results of an answer's calls right behind it, in the order of the calls, and before
/// messages of other roles that came between them. A result that came before its call counts; one
/// that comes after the next answer does not. A call without a result gets a text in its place, which
/// may be another one at the end of the session, and a result without a call is left out.
#[derive(Debug)]
pub struct Paired {
    /// The texts in place of a result: before another message, and at the end.
    unanswered: [&'static str; 2],
    /// The last answer with calls.
    answer: Option<Node>,
    /// The identifiers of its calls, and the results.
    calls: Vec<(Json, Option<Node>)>,
    /// Messages that came while calls had no result.
    behind: Vec<Node>,
    /// Results without a call so far.
    early: HashMap<Json, Node>,
}

impl Paired {
    /// Begins a history.
    #[must_use]
    pub fn new(unanswered: [&'static str; 2]) -> Self {
        Self {
            unanswered,
            answer: None,
            calls: Vec::new(),
            behind: Vec::new(),
            early: HashMap::new(),
        }
    }

    fn settle(&mut self, is_end: bool, out: &mut Vec<Node>) {
        let text = self.unanswered[usize::from(is_end)];
        out.extend(self.answer.take());
        for (call, result) in self.calls.drain(..) {
            let result = result.or_else(|| self.early.remove(&call));
            out.push(result.unwrap_or_else(|| made(call, text)));
        }
        out.append(&mut self.behind);
    }
}

impl Corrections for Paired {
    fn message(&mut self, message: Node, out: &mut Vec<Node>) {
        let blocks = message.content();
        let ids = |kind: &'static str, field: Field| {
            let blocks = blocks.iter().filter(move |block| block.is(Field::Type, kind));
            blocks.filter_map(move |block| block.json(field).cloned())
        };
        if let Some(call) = ids(block::TOOL_RESULT, Field::Call).next() {
            let open = self.calls.iter_mut().find(|(id, result)| *id == call && result.is_none());
            match open {
                Some((_, result)) => *result = Some(message),
                None => drop(self.early.insert(call, message)),
            }
            return;
        }
        let calls: Vec<Json> = ids(block::TOOL_CALL, Field::Id).collect();
        let waits = self.calls.iter().any(|(_, result)| result.is_none());
        if waits && !message.is(Field::Role, "assistant") {
            return self.behind.push(message);
        }
        self.settle(false, out);
        if calls.is_empty() {
            out.push(message);
        } else {
            self.calls = calls.into_iter().map(|call| (call, None)).collect();
            self.answer = Some(message);
        }
    }

    fn finish(&mut self, out: &mut Vec<Node>) {
        self.settle(self.behind.is_empty(), out);
    }
}

/// Returns a message with this text as the result of a call.
fn made(call: Json, text: &str) -> Node {
    let result = block::of(block::TOOL_RESULT)
        .with(Field::Call, call)
        .with(Field::Content, Json::string(text));
    Node::default().with(Field::Role, Json::constant("\"tool\"")).with(Field::Content, vec![result])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(blocks: &[(&str, Field, &'static str)]) -> Node {
        let block = |(kind, field, id): &(&str, Field, &'static str)| {
            let mut block = Node::default();
            block.set(Field::Type, block::type_of(kind));
            block.set(*field, Json::constant(id));
            block
        };
        Node::default().with(Field::Content, blocks.iter().map(block).collect::<Vec<_>>())
    }

    #[test]
    fn results_follow_their_calls_in_the_order_of_the_calls() {
        let call = |id| (block::TOOL_CALL, Field::Id, id);
        let result = |id| message(&[(block::TOOL_RESULT, Field::Call, id)]);
        let said = |role| {
            let mut said = message(&[(block::TEXT, Field::Text, "\"\"")]);
            said.set(Field::Role, Json::constant(role));
            said
        };
        let given = [
            result("\"early\""),
            message(&[call("\"a\""), call("\"early\""), call("\"late\"")]),
            said("\"user\""),
            result("\"a\""),
            result("\"a\""),
            said("\"assistant\""),
            result("\"late\""),
        ];
        let (mut paired, mut out) = (Paired::new(["none", "end"]), Vec::new());
        given.into_iter().for_each(|message| paired.message(message, &mut out));
        paired.finish(&mut out);
        let shown = |message: &Node| {
            let block = &message.nodes(Field::Content).expect("blocks")[0];
            let id = block.text(Field::Call).or(block.text(Field::Id)).unwrap_or_default();
            format!("{id}{}", block.text(Field::Content).unwrap_or_default())
        };
        let sent: Vec<String> = out.iter().map(shown).collect();
        assert_eq!(sent, ["a", "a", "early", "latenone", "", ""]);
    }
}
