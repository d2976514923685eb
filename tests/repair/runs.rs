//! ConnectOnion's run files: what damage at the lines around the messages does to them.

use crate::common::{parts, recognise, returned};
use crate::judge::{holds, repaired, set_aside};
use copyist::diagnostic::{Code, Log};
use copyist::format::{Cx, Options, RepairOptions};
use copyist::formats::connectonion::FORMAT;
use copyist::memory::Buffer;

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

/// A line without its ending, and so on: what is done to a byte, or to some from it on.
fn damages(source: &[u8], at: usize) -> Vec<(String, Vec<u8>)> {
    let put = |gone: usize, new: &[u8]| {
        let rest = source.get(at + gone..).unwrap_or_default();
        [&source[..at], new, rest].concat()
    };
    let bytes: [&[u8]; 6] = [b"", b"X", b"\0", b"\xff", b"\n", b" "];
    let other = bytes.map(|new| (format!("{} for 1", new.escape_ascii()), put(1, new)));
    let more = [b"X", b"\n"].map(|new| (format!("{} for 0", new.escape_ascii()), put(0, new)));
    let cut = (2..=40).map(|gone| (format!("{gone} cut"), put(gone, b"")));
    other.into_iter().chain(more).chain(cut).collect()
}

#[test]
fn a_run_whose_first_page_is_lost_keeps_its_messages() {
    let whole = run("\"You help.\"");
    let torn = whole.find(MESSAGES[0]).expect("a message") + 20;
    for source in [whole[torn..].to_owned(), format!("\0\0\0{}", &whole[torn..])] {
        let done = holds(&FORMAT, source.as_bytes(), &RepairOptions::default(), "run_1.yaml")
            .expect("a run");
        let out = String::from_utf8_lossy(&done.out);
        assert!(MESSAGES[1..].iter().all(|message| out.contains(message)), "{out}");
        assert!(!out.contains(MESSAGES[0]), "{out}");
    }
}

#[test]
fn damage_around_the_line_that_names_the_messages_costs_no_message() {
    for source in runs() {
        let named = source.find("\nmessages: |").expect("messages") + 1;
        for at in named - 60..named + 24 {
            for (what, damaged) in damages(source.as_bytes(), at) {
                let shown = || format!("{what} at {at}:\n{}", String::from_utf8_lossy(&damaged));
                let (format, version) =
                    recognise(&damaged).unwrap_or_else(|| panic!("{}", shown()));
                assert_eq!(format.at(version), "connectonion@3", "{}", shown());
                let name = format!("run.yaml {}", shown());
                let done =
                    holds(&FORMAT, &damaged, &RepairOptions::default(), &name).expect("a run");
                let out = String::from_utf8_lossy(&done.out);
                let list =
                    out.rsplit_once(['[', '|']).unwrap_or_else(|| panic!("{}{out}", shown())).1;
                let whole =
                    |message: &&&str| memchr::memmem::find(&damaged, message.as_bytes()).is_some();
                let whole: Vec<_> = MESSAGES.iter().filter(whole).collect();
                assert!(
                    whole.len() > 1 && done.report.messages >= whole.len() as u64,
                    "{}",
                    shown()
                );
                for message in whole {
                    assert!(list.contains(message), "{}\n{out}", shown());
                }
                let told = done.findings.counts.keys().any(|code| code.is_fix());
                assert_eq!(told, done.out != damaged, "{}\n{out}", shown());
            }
        }
    }
}

#[test]
fn messages_that_a_prompt_shows_stay_in_it() {
    let [_, source] = runs();
    let (prompt, _) = source.split_once("model:").expect("a prompt");
    // A file that ends with the bracket that closes a list, and white space, looks whole.
    let closed = prompt.find("  ]").expect("a list") + 3;
    let cuts = prompt.find("  [").expect("a list")..prompt.len();
    for cut in cuts.filter(|cut| !(closed..=closed + 3).contains(cut)) {
        let done =
            repaired(&FORMAT, &source.as_bytes()[..cut], &RepairOptions::default()).expect("a run");
        assert_eq!(done.report.messages, 0, "{cut}: {}", String::from_utf8_lossy(&done.out));
    }
    // What names the messages stands behind a line that is torn in the prompt.
    let torn = source.replacen("system_prompt: |", "system_prompt |", 1);
    let done = repaired(&FORMAT, torn.as_bytes(), &RepairOptions::default()).expect("a run");
    let out = String::from_utf8_lossy(&done.out);
    assert!(!out.contains(SAID) && MESSAGES.iter().all(|message| out.contains(message)), "{out}");
}

#[test]
fn a_lost_line_ending_around_the_list_comes_back_and_is_reported() {
    let [source, _] = runs();
    for (before, behind) in [("|\n  [", "|  ["), ("\nmessages", "messages")] {
        let done = repaired(
            &FORMAT,
            source.replacen(before, behind, 1).as_bytes(),
            &RepairOptions::default(),
        );
        let done = done.expect("a run");
        assert_eq!(String::from_utf8_lossy(&done.out), source);
        assert!(done.aside.is_empty() && done.report.fixes == 1, "{:?}", done.findings);
    }
}

#[test]
fn a_byte_that_is_no_text_in_the_line_that_names_the_messages_is_set_aside() {
    let [source, _] = runs();
    let (before, behind) = source.split_once("messages: |\n").expect("messages");
    for line in [&b"mess\xffages: |\n"[..], b"messages: \xff|\n", b"\xff\xfe\xfd\n"] {
        let damaged = [before.as_bytes(), line, behind.as_bytes()].concat();
        let done = repaired(&FORMAT, &damaged, &RepairOptions::default()).expect("a run");
        assert_eq!(String::from_utf8_lossy(&done.out), source);
        assert_eq!(set_aside(&done.aside)[0].bytes, line);
        assert_eq!(done.findings.counts.get(&Code::ListClosed), Some(&1));
    }
}

#[test]
fn a_blank_line_before_the_list_is_read_and_comes_back() {
    for source in runs() {
        for blank in ["\n", "  \n", "\n\n \t\n", "\r\n"] {
            let source = source.replacen("messages: |\n", &format!("messages: |\n{blank}"), 1);
            for source in [source.clone(), source.replace('\n', "\r\n")] {
                let options = Options::default();
                let back = returned(source.as_bytes(), &options);
                assert_eq!(String::from_utf8_lossy(&back), source);
                let done =
                    repaired(&FORMAT, source.as_bytes(), &RepairOptions::default()).expect("a run");
                assert_eq!(String::from_utf8_lossy(&done.out), source);
                assert_eq!((done.report.changed, done.report.messages), (false, 3));
            }
        }
    }
}

#[test]
fn a_comment_before_the_list_is_set_aside_and_reported() {
    for source in runs() {
        for comment in ["# mine\n", "  # mine\n", "      # mine\n"] {
            let damaged = source.replacen("messages: |\n", &format!("messages: |\n{comment}"), 1);
            let name = format!("run.yaml {comment}");
            let done = holds(&FORMAT, damaged.as_bytes(), &RepairOptions::default(), &name)
                .expect("a run");
            assert_eq!(String::from_utf8_lossy(&done.out), source);
            assert_eq!(set_aside(&done.aside)[0].bytes, comment.as_bytes());
        }
    }
}

#[test]
fn a_version_that_is_named_decides_what_a_file_is_that_does_not_show_it() {
    let [source, _] = runs();
    let (_, list) = source.split_once("messages: |\n").expect("messages");
    let damaged = format!("\u{fffd}\nmess\n{list}");
    assert!(recognise(damaged.as_bytes()).is_none());
    let options = Options { version: Some(3), ..Options::default() };
    let (log, mut out) = (Log::default(), Buffer::default());
    let cx = Cx { options: &options, log: &log };
    let mut parts = parts(damaged.as_bytes());
    copyist::repair::run(&FORMAT, &mut parts, &mut out, &RepairOptions::default(), &cx)
        .expect("a run");
    let out = out.part("").expect("a run");
    assert_eq!(String::from_utf8_lossy(&out).split_once("messages: |\n").expect("a list").1, list);
}

#[test]
fn white_space_that_is_set_aside_is_no_duplicate() {
    let [source, _] = runs();
    let cut = source.find(MESSAGES[2]).expect("a message") - 2;
    let done = holds(&FORMAT, &source.as_bytes()[..cut], &RepairOptions::default(), "run.yaml cut");
    let done = done.expect("a run");
    assert_eq!(done.findings.counts.get(&Code::StraySetAside), Some(&1), "{:?}", done.findings);
    assert!(!done.findings.counts.contains_key(&Code::DuplicateRemoved), "{:?}", done.findings);
}

#[test]
fn a_message_that_lost_its_role_by_damage_stays_and_is_reported() {
    let [source, _] = runs();
    let damaged = source.replacen("\"role\": \"user\"", "\"rXle\": \"user\"", 1);
    let done = repaired(&FORMAT, damaged.as_bytes(), &RepairOptions::default()).expect("a run");
    assert_eq!(String::from_utf8_lossy(&done.out), damaged);
    assert_eq!(done.findings.counts.get(&Code::OddMessage), Some(&1), "{:?}", done.findings);
}

#[test]
fn a_list_without_a_comma_or_an_indentation_is_reported_and_rewritten() {
    let [source, _] = runs();
    let third = format!("    {}", MESSAGES[2]);
    let damaged = [
        source.replacen("},\n", "}\n", 1),
        source.replacen(&third, MESSAGES[2], 1),
        source.replacen(&third, &format!(" {}", MESSAGES[2]), 1),
        source.replacen("}\n  ]", "},\n  ]", 1),
    ];
    for damaged in damaged {
        let bad = crate::judge::invalid(damaged.as_bytes());
        assert!(bad.is_empty(), "{bad:?}");
        let (options, log) = (Options::default(), Log::default());
        let cx = Cx { options: &options, log: &log };
        let mut read = parts(damaged.as_bytes());
        assert_eq!((FORMAT.read)(&mut read, &cx).expect("a run").filter(Result::is_ok).count(), 4);
        assert_eq!(log.count_of(Code::ListUnread), 1, "{damaged}");
        let done = holds(&FORMAT, damaged.as_bytes(), &RepairOptions::default(), "run.yaml comma")
            .expect("a run");
        assert_eq!(String::from_utf8_lossy(&done.out), source);
        assert!(done.report.changed && done.aside.is_empty(), "{damaged}");
        assert_eq!(done.findings.counts.get(&Code::ListClosed), Some(&1), "{damaged}");
    }
}

#[test]
fn of_two_commas_behind_a_message_one_goes() {
    let [source, _] = runs();
    for commas in [",,", ", ,,"] {
        let damaged = source.replacen("},\n", &format!("}}{commas}\n"), 1);
        let done = holds(&FORMAT, damaged.as_bytes(), &RepairOptions::default(), "run.yaml comma")
            .expect("a run");
        assert_eq!(String::from_utf8_lossy(&done.out), source);
        assert_eq!(set_aside(&done.aside)[0].bytes, &commas.as_bytes()[1..]);
    }
}

#[test]
fn lines_of_messages_are_a_run_that_lost_its_header() {
    let [source, _] = runs();
    let (_, list) = source.split_once("  [\n").expect("messages");
    for damaged in [list.to_owned(), format!("  [\n{list}"), list.replacen("  ]\n", "", 1)] {
        let head = copyist::format::Head {
            name: "run_1.yaml",
            bytes: damaged.as_bytes(),
            whole: true,
            encoding: None,
        };
        let (format, found) = copyist::detect::detect(&head).expect("a run");
        assert_eq!(format.at(found.version), "connectonion@3");
        let done = repaired(&FORMAT, damaged.as_bytes(), &RepairOptions::default()).expect("a run");
        let out = String::from_utf8_lossy(&done.out);
        assert_eq!(out.split_once("  [\n").expect("a list").1, list, "{out}");
        assert!(done.aside.is_empty(), "{damaged}");
        let lines = copyist::format::Head { name: "log.jsonl", ..head };
        let named = copyist::detect::detect(&lines).map(|(format, _)| format.name);
        assert_ne!(named, Some("connectonion"));
    }
}

#[test]
fn another_run_behind_a_run_is_no_copy_of_it() {
    let [source, _] = runs();
    let other = source.replace("Why?", "Who?").replace("So.\"", "I.\"").replace("20:16", "20:59");
    let two = format!("{source}{}", other.replacen(&format!("    {},\n", MESSAGES[0]), "", 1));
    let done =
        holds(&FORMAT, two.as_bytes(), &RepairOptions::default(), "run.yaml twice").expect("a run");
    for item in set_aside(&done.aside) {
        let before = source
            .lines()
            .any(|line| line.trim_matches([' ', ',']).as_bytes() == item.bytes.trim_ascii());
        let stray = item.code == Code::StraySetAside.name();
        assert_eq!(stray, !before, "{}", item.bytes.escape_ascii());
    }
}
