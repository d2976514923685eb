//! Tests of turns.

use super::{Turn, Turns, paired};
use crate::formats::FORMATS;
use crate::json::Json;
use crate::record::{Field, Kind, Node, Record, block};

fn message(role: &str, text: &str) -> Record {
    Record::new(Kind::Message)
        .with(Field::Role, Json::string(role))
        .with(Field::Content, vec![block::text(Json::string(text))])
}

fn call(name: &str) -> Record {
    let call = block::of(block::TOOL_CALL).with(Field::Name, Json::string(name));
    let mut record = message("assistant", "");
    record.node.set(Field::Content, vec![call]);
    record
}

fn summary(number: u64, input: &str, expected: &[&str]) -> Record {
    let mut record = Record::new(Kind::Turn)
        .with(Field::Number, Json::number(number))
        .with(Field::Input, Json::string(input))
        .with(Field::Tokens, Json::number(100));
    let mut eval = Node::default();
    let names: Vec<_> = expected.iter().map(|name| format!("{name:?}")).collect();
    let list: Json = format!("[{}]", names.join(",")).parse().expect("JSON");
    eval.set(Field::ExpectTools, list);
    record.node.set(Field::Eval, eval);
    record
}

fn turns(records: &[Record]) -> Vec<Turn> {
    let mut turns = Turns::of(FORMATS.first().expect("a format"));
    records.iter().for_each(|record| turns.record(record, true));
    turns.finish()
}

#[test]
fn questions_begin_turns_and_tools_keep_their_order() {
    let turns = turns(&[
        message("system", "You look after a mailbox."),
        message("user", "check\nmy mail"),
        call("list"),
        call("read"),
        call("list"),
        message("assistant", "Nothing."),
        message("user", "thanks"),
    ]);
    let [first, second] = turns.as_slice() else { panic!("{turns:?}") };
    assert_eq!((first.number, first.input.as_str()), (1, "check my mail"));
    assert_eq!(first.tools, ["list", "read", "list"]);
    assert_eq!(first.result.as_deref(), Some("Nothing."));
    assert_eq!((second.number, second.result.as_deref()), (2, None));
}

#[test]
fn expected_tools_are_compared_with_those_that_were_called() {
    for (expected, called, words) in [
        (&["read"][..], &["read"][..], "pass"),
        (&["read"], &["read", "read"], "pass"),
        (&["read", "send"], &["read"], "missing: send"),
        (&["read"], &["run", "read", "run"], "extra: run"),
        (&["send", "send"], &["send", "run"], "missing: send; extra: run"),
        (&[], &[], "pass"),
    ] {
        let mut records = vec![summary(1, "go", expected), message("user", "go")];
        records.extend(called.iter().map(|name| call(name)));
        let turns = turns(&records);
        let check = turns.first().and_then(|turn| turn.check.clone()).expect("a check");
        assert_eq!(check.tools.expect("tools").words(), words);
    }
}

#[test]
fn summaries_before_all_messages_find_their_questions() {
    let mut second = message("user", "two");
    second.node.set(Field::Turn, Json::number(2));
    let mut first = message("user", "one");
    first.node.set(Field::Turn, Json::number(1));
    let records = [summary(1, "one", &[]), summary(2, "two", &[]), first, call("read"), second];
    let turns = turns(&records);
    let [one, two] = turns.as_slice() else { panic!("{turns:?}") };
    assert_eq!((one.input.as_str(), two.input.as_str()), ("one", "two"));
    assert_eq!((one.tools.len(), two.tools.len()), (1, 0));
    assert_eq!((one.usage.tokens, two.usage.tokens), (100.0, 100.0));
}

#[test]
fn turns_are_paired_by_their_questions_in_order() {
    let list = |inputs: &[&str]| {
        turns(&inputs.iter().map(|input| message("user", input)).collect::<Vec<_>>())
    };
    let (a, b) = (list(&["one", "two", "three", "two"]), list(&["zero", "two", "three", "four"]));
    let pairs = paired(&a, &b);
    let shown: Vec<_> = pairs
        .iter()
        .map(|pair| (pair.a.map_or("", |turn| &turn.input), pair.b.map_or("", |turn| &turn.input)))
        .collect();
    assert_eq!(
        shown,
        [("one", ""), ("", "zero"), ("two", "two"), ("three", "three"), ("two", ""), ("", "four")]
    );
}
