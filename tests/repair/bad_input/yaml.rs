//! Bad YAML: files of ConnectOnion, of one agent and of one run, as people, merges, crashes and
//! attackers leave them.

use super::cases::Case;
use crate::common::own;

fn text(case: &str) -> String {
    String::from_utf8(own(case)).expect("UTF-8")
}

/// Nine lists of nine aliases each, nine levels deep, as members of the top.
fn bomb() -> String {
    let names = ["a", "b", "c", "d", "e", "f", "g", "h", "i"];
    let mut out = "a: &a [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for pair in names.windows(2) {
        let aliases = vec![format!("*{}", pair[0]); 9].join(", ");
        out.push_str(&format!("{}: &{} [{aliases}]\n", pair[1], pair[1]));
    }
    out
}

/// A text with something put in front of the first `marker` behind `after`.
fn before(text: &str, after: &str, marker: &str, new: &str) -> String {
    let start = text.find(after).expect("a place");
    let at = start + text[start..].find(marker).expect("a place");
    format!("{}{new}{}", &text[..at], &text[at..])
}

const CONFLICT: &str = "<<<<<<< HEAD\n=======\n>>>>>>> theirs\n";

/// Bad files of one agent.
pub fn files() -> Vec<Case> {
    let good = text("connectonion/v2/harbour");
    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    let (head, messages) = good.split_once("messages:\n").expect("messages");
    let answer = "  - role: assistant";
    let torn = good.find("    content: ok").expect("an answer") + 8;
    vec![
        Case::of("file: as it should be", good.clone()),
        Case::of("file: alias bomb", format!("{}{good}", bomb())),
        Case::of("file: nested 10,000 deep", format!("{head}messages:\n  1:\n  - {deep}\n")),
        Case::of("file: a member twice", good.replacen("created:", "name: other\ncreated:", 1)),
        Case::of("file: a turn number twice", good.replace("  3: []", "  2: []")),
        Case::of(
            "file: a message's role twice",
            good.replacen("- role:", "- role: x\n    role:", 1),
        ),
        Case::of("file: a tab as indentation", before(&good, "messages:", answer, "\t")),
        Case::of("file: two documents", format!("{good}---\n{good}")),
        Case::of("file: a conflict in messages", before(&good, "messages:", answer, CONFLICT)),
        Case::of("file: a conflict at the top", before(&good, "name:", "created:", CONFLICT)),
        Case::of("file: torn in a message", &good.as_bytes()[..torn]),
        Case::of("file: torn before messages", head),
        Case::of("file: a word among turn numbers", good.replace("  3: []", "  three: []")),
        Case::of("file: messages: null", format!("{head}messages: null\n")),
        Case::of("file: messages a list", format!("{head}messages: [1, 2]\n")),
        Case::of("file: turns a mapping", format!("name: x\nturns: {{}}\nmessages:\n{messages}")),
        Case::of("file: a turn's messages a text", good.replace("  3: []", "  3: hello")),
        Case::of("file: a list for a message", good.replace("  3: []", "  3:\n  - [a]")),
        Case::of("file: NUL bytes at the end", format!("{good}\0\0\0\0")),
        Case::of("file: a control character", good.replace("berths", "ber\u{1}ths")),
    ]
}

/// Bad run files.
pub fn runs() -> Vec<Case> {
    let good = text("connectonion/v3/tides");
    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    let (head, messages) = good.split_once("messages: |\n").expect("messages");
    let item = "    {\"role\": \"assistant\"";
    let torn = good.rfind("content").expect("a message");
    let as_yaml = |messages: &str| format!("{head}messages: {messages}\n");
    vec![
        Case::of("run: as it should be", good.clone()),
        Case::of("run: alias bomb", format!("{}{}", bomb(), as_yaml("[*i]"))),
        Case::of("run: nested 10,000 deep", as_yaml(&deep)),
        Case::of("run: a message nested so", before(&good, item, item, &format!("    {deep},\n"))),
        Case::of("run: a member twice", good.replacen("model:", "model: \"other\"\nmodel:", 1)),
        Case::of(
            "run: a message's role twice",
            good.replacen("{\"role\"", "{\"role\": \"x\", \"role\"", 1),
        ),
        Case::of("run: a tab as indentation", good.replacen("    {", "\t{", 1)),
        Case::of("run: two documents", format!("{good}---\n{good}")),
        Case::of("run: a conflict in messages", before(&good, item, item, CONFLICT)),
        Case::of("run: a conflict in the header", before(&good, "agent:", "model:", CONFLICT)),
        Case::of("run: torn in a message", &good.as_bytes()[..torn]),
        Case::of("run: torn before messages", head),
        Case::of("run: messages: null", as_yaml("null")),
        Case::of("run: messages a mapping", as_yaml("{x: []}")),
        Case::of("run: messages a text", as_yaml("\"[{]\"")),
        Case::of("run: a list for a message", good.replacen("    {", "    [1],\n    {", 1)),
        Case::of("run: NUL bytes at the end", format!("{good}\0\0\0\0")),
        Case::of("run: messages without a header", format!("messages: |\n{messages}")),
    ]
}

/// A file with one text of so many bytes.
pub fn big(bytes: usize) -> Case {
    let good = text("connectonion/v2/harbour");
    let text = format!("    content: {}", "x".repeat(bytes));
    Case::of("file: a text of 500 MB", good.replace("    content: ok", &text))
}
