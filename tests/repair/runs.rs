//! ConnectOnion's run files: what damage at the lines around the messages does to them.

use crate::common::{from_canonical, to_canonical};
use crate::judge::{holds, repaired, set_aside};
use copyist::format::{Options, Wish};
use copyist::formats::connectonion::FORMAT;

/// A message that anything else may show, too.
const SAID: &str = "    {\"role\": \"user\", \"content\": \"Go.\"}";
/// Messages of the run, without their indentation.
const MESSAGES: [&str; 3] = [
    "{\"role\": \"system\", \"content\": \"You help.\"}",
    "{\"role\": \"user\", \"content\": \"Why?\"}",
    "{\"role\": \"assistant\", \"content\": \"So.\"}",
];

/// A run with this prompt, which ends its line.
fn run(prompt: &str) -> String {
    let said = MESSAGES.map(|message| format!("    {message}")).join(",\n");
    format!(
        "agent: \"a.py\"\nsystem_prompt: {prompt}\nmodel: \"m\"\ncwd: \"/\"\ntokens: 9\ncost: 0.1\nduration_ms: 5\ntimestamp: \"2026-11-21 20:16:02\"\nmessages: |\n  [\n{said}\n  ]\n"
    )
}

/// The runs that are damaged: with a prompt of one line, and with one that shows messages.
fn runs() -> [String; 2] {
    [run("\"You help.\""), run(&format!("|\n  You see\n  [\n{SAID},\n{SAID}\n  ]\n  as so."))]
}

#[test]
fn a_blank_line_before_the_list_is_read_and_comes_back() {
    for source in runs() {
        for blank in ["\n", "  \n", "\n\n \t\n", "\r\n"] {
            let source = source.replacen("messages: |\n", &format!("messages: |\n{blank}"), 1);
            for source in [source.clone(), source.replace('\n', "\r\n")] {
                let options = Options::default();
                let stream = to_canonical(source.as_bytes(), &options);
                let back = from_canonical(&stream, "connectonion@3", &options);
                assert_eq!(String::from_utf8_lossy(&back), source);
                let done = repaired(&FORMAT, source.as_bytes(), &Wish::default()).expect("a run");
                assert_eq!(String::from_utf8_lossy(&done.out), source);
                assert_eq!((done.report.changed, done.report.messages), (false, 3));
            }
        }
    }
}

#[test]
fn a_comment_before_the_list_is_set_aside_and_told() {
    for source in runs() {
        for comment in ["# mine\n", "  # mine\n", "      # mine\n"] {
            let damaged = source.replacen("messages: |\n", &format!("messages: |\n{comment}"), 1);
            let name = format!("run.yaml {comment}");
            let done = holds(&FORMAT, damaged.as_bytes(), &Wish::default(), &name).expect("a run");
            assert_eq!(String::from_utf8_lossy(&done.out), source);
            assert_eq!(set_aside(&done.aside)[0].bytes, comment.as_bytes());
        }
    }
}
