//! Rows of ShareGPT, as LLaMA-Factory reads them: after the system text, a human or an observation
//! and an answer by turns, an answer at the end. Its converter drops every other row.

use super::Counts;
use super::chat::{Answer, Call, Message, NOTHING, in_think, joined, thinking};
use super::items::Items;
use crate::json::{Json, text};
use crate::mapping::Object;
use crate::record::block;

/// One item of a conversation.
struct Item {
    speaker: Speaker,
    /// Thoughts before the value.
    thoughts: Option<Json>,
    value: Json,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Speaker {
    Human,
    Observation,
    Gpt,
    Call,
}

/// Text between the results of one answer, as LLaMA-Factory itself joins them.
const BETWEEN_RESULTS: Json = Json::constant("\"\\n</tool_response>\\n<tool_response>\\n\"");

/// Returns a row: `{"conversations":[…],"system":…}`. `None` if no question has an answer.
pub fn row(system: Option<&Json>, messages: &[Message], counts: &mut Counts) -> Option<Vec<u8>> {
    let mut items: Vec<Item> = Vec::new();
    for message in messages {
        match message {
            Message::User(parts) => {
                let text = block::all_text(parts).unwrap_or(NOTHING);
                add(
                    Item { speaker: Speaker::Human, thoughts: None, value: text },
                    &mut items,
                    counts,
                );
            }
            Message::Result(result) => {
                let value = result.text.clone();
                let item = Item { speaker: Speaker::Observation, thoughts: None, value };
                add(item, &mut items, counts);
            }
            Message::Answer(answer) => {
                answered(answer, &mut items, counts);
            }
        }
    }
    while items.last().is_some_and(|last| !last.speaker.is_answer()) {
        counts.add("messages after the last answer", 1);
        items.pop();
    }
    if items.is_empty() {
        return None;
    }
    let mut out = Vec::new();
    let mut object = Object::open(&mut out);
    let mut list = Items::open(object.key("conversations"));
    for item in &items {
        let mut one = list.object();
        text::quote(item.speaker.name(), one.key("from"));
        let before = item.thoughts.clone().map(|thoughts| in_think(&without_ends(thoughts)));
        let value = before.map_or(item.value.clone(), |before| before.joined(&item.value));
        one.member("value", value.as_bytes());
        one.close();
    }
    list.close();
    if let Some(system) = system {
        object.member("system", system.as_bytes());
    }
    object.close();
    Some(out)
}

impl Speaker {
    fn name(self) -> &'static str {
        match self {
            Self::Human => "human",
            Self::Observation => "observation",
            Self::Gpt => "gpt",
            Self::Call => "function_call",
        }
    }

    fn is_answer(self) -> bool {
        matches!(self, Self::Gpt | Self::Call)
    }
}

/// Adds an answer. Its thoughts stand before it; text beside calls has no other place than there.
fn answered(answer: &Answer, items: &mut Vec<Item>, counts: &mut Counts) {
    let thoughts = thinking(&answer.thoughts);
    let hidden = answer.thoughts.len() - thoughts.len();
    counts.add("thoughts that are encrypted", hidden as u64);
    let mut thoughts = thoughts.into_iter().fold(None, |all, text| Some(joined(all, text)));
    let (speaker, value) = match (answer.calls.as_slice(), &answer.text) {
        ([], None) => return,
        ([], Some(text)) => (Speaker::Gpt, text.clone()),
        (calls, text) => {
            if let Some(text) = text {
                counts.add("texts beside calls moved into thoughts", 1);
                thoughts = Some(joined(thoughts, text.clone()));
            }
            (Speaker::Call, called(calls))
        }
    };
    add(Item { speaker, thoughts, value }, items, counts);
}

/// Changes ends of thoughts inside of a text, behind which the reader would expect the calls.
fn without_ends(thoughts: Json) -> Json {
    let text = thoughts.text().filter(|text| text.contains("</think>"));
    text.map_or(thoughts, |text| Json::string(&text.replace("</think>", "</ think>")))
}

/// Returns calls as the text of an object, or of a list of several.
fn called(calls: &[Call]) -> Json {
    let mut list = Vec::new();
    let mut items = Items::open(&mut list);
    for call in calls {
        let mut one = items.object();
        one.member("name", call.name.as_bytes());
        one.member("arguments", call.arguments.as_bytes());
        one.close();
    }
    items.close();
    let one = list.get(1..list.len() - 1).filter(|_| calls.len() == 1);
    Json::string(&String::from_utf8_lossy(one.unwrap_or(&list)))
}

/// Adds an item where one of this side may be; joins it with the one before it, where not.
fn add(item: Item, items: &mut Vec<Item>, counts: &mut Counts) {
    let speaker = item.speaker;
    let Some(last) = items.last_mut() else {
        match speaker {
            Speaker::Human => items.push(item),
            _ => counts.add("messages before the first question", 1),
        }
        return;
    };
    if last.speaker.is_answer() != speaker.is_answer() {
        return items.push(item);
    }
    match (last.speaker, speaker) {
        (Speaker::Observation, Speaker::Observation) => {
            last.value = last.value.clone().joined(&BETWEEN_RESULTS).joined(&item.value);
        }
        (Speaker::Observation, Speaker::Human) => {
            // A question behind the results of an interrupted answer.
            counts.add("answers made for interrupted turns", 1);
            items.push(Item { speaker: Speaker::Gpt, thoughts: None, value: INTERRUPTED });
            items.push(item);
        }
        (_, Speaker::Call) => {
            counts.add("texts beside calls moved into thoughts", 1);
            let earlier = joined(last.thoughts.take(), last.value.clone());
            let thoughts = item.thoughts.map_or(earlier.clone(), |own| joined(Some(earlier), own));
            *last = Item { thoughts: Some(thoughts), ..item };
        }
        _ => {
            let own = item.thoughts.into_iter();
            last.thoughts = own.fold(last.thoughts.take(), |all, own| Some(joined(all, own)));
            last.value = joined(Some(last.value.clone()), item.value);
        }
    }
}

/// Text of the answer that a question behind results lacks.
const INTERRUPTED: Json = Json::constant("\"[interrupted]\"");
