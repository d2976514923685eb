//! Lost lines in Claude Code's transcripts, and what the user wrote while the program worked. The
//! expected contexts are what release 2.1.332 sent of such transcripts.

use crate::claude_chains::context;
use crate::claude_code::keep;
use crate::claude_made::{SESSION, transcript};
use crate::common::{Dir, read, returned};

/// Lines of an unknown type, which the program does not keep: seven seconds.
const PAUSE: &str = "90:0 x; 91:0 x; 92:0 x; 93:0 x; 94:0 x; 95:0 x; 96:0 x";

#[test]
fn lost_lines_count_as_the_program_counts_them() {
    let begin = "1:0 u q1; 2:1 a A a1";
    for (case, lines, sent, repaired) in [
        ("near", format!("{begin}; 3:99 u q2; 4:3 a B a2"), "u[q1] a[a1] u[q2] a[a2]", None),
        (
            "behind a pause",
            format!("{begin}; {PAUSE}; 3:99 u q2; 4:3 a B a2"),
            "u[q2] a[a2]",
            Some("u[q1] a[a1] u[q2] a[a2]"),
        ),
        (
            "an answer behind a pause",
            format!("{begin}; {PAUSE}; 4:99 a B a2"),
            "a[a2]",
            Some("u[q1] a[a1 a2]"),
        ),
        (
            "a result behind a pause",
            format!("{begin}; {PAUSE}; 3:99 r z gone; 4:3 a B a2"),
            "u[[Orphaned tool result removed due to conversation resume]] a[a2]",
            Some("u[q1] a[a1] u[(no content)] a[a2]"),
        ),
        (
            "a message on two lines",
            "1:0 u q1; 2:1 a A one; 2:1 a A two; 3:2 u q2; 4:3 a B a2".to_owned(),
            "u[q1] a[two] u[q2] a[a2]",
            Some("u[q1] a[one two] u[q2] a[a2]"),
        ),
        ("a system line at the end", format!("{begin}; {PAUSE}; 3:99 s"), "u[q1] a[a1]", None),
        (
            "another branch",
            format!("{begin}; {PAUSE}; 3:99 u other; 4:2 u q2; 5:4 a B a2"),
            "u[q1] a[a1] u[q2] a[a2]",
            None,
        ),
    ] {
        let text = transcript(&lines);
        assert_eq!(context(&text), sent, "{case}");
        let (dir, file) = (Dir::new(), format!("{SESSION}.jsonl"));
        dir.write(&file, text.as_bytes());
        let (code, said) = dir.exit(&["validate", &file]);
        assert_eq!(code == 0, repaired.is_none(), "{case}: {said}");
        let (code, said) = dir.exit(&["repair", "-q", "-o", "out.jsonl", &file]);
        assert_eq!(code, 0, "{case}: {said}");
        let out = String::from_utf8(read(&dir.path("out.jsonl"))).expect("UTF-8");
        assert_eq!(context(&out), repaired.unwrap_or(sent), "{case}, repaired");
        assert_eq!(out == text, repaired.is_none(), "{case}");
        assert_eq!(returned(text.as_bytes(), &keep()), text.as_bytes(), "{case}");
    }
}

/// Gives a line this second as its time.
fn dated(text: &str, line: u32, second: u32) -> String {
    let own = format!(r#""uuid":"00000000-0000-4000-8000-{line:012}""#);
    let dated = |line: &str| {
        let Some((before, time)) = line.split_once("T10:").filter(|_| line.contains(&own)) else {
            return format!("{line}\n");
        };
        format!("{before}T10:00:{second:02}{}\n", &time[5..])
    };
    text.lines().map(dated).collect()
}

#[test]
fn a_lost_parent_is_linked_where_the_program_goes_on() {
    // Two programs wrote: the lines of another branch come between, and are newer.
    let mut text = transcript("1:0 u q1; 2:1 a A a1; 4:2 u q3; 6:4 a C a3; 5:99 a B a2; 7:5 u q5");
    for (line, second) in [(4, 30), (6, 31), (5, 3), (7, 9)] {
        text = dated(&text, line, second);
    }
    let sent = "u[q1] a[a1 a2] u[q5]";
    assert_eq!(context(&text), sent);
    let (dir, file) = (Dir::new(), format!("{SESSION}.jsonl"));
    dir.write(&file, text.as_bytes());
    for flags in [&["repair", "-q", "--force"][..], &["repair", "-q", "--force", "--resumable"]] {
        let args = [flags, &["-o", "out.jsonl", &file]].concat();
        let (code, said) = dir.exit(&args);
        assert_eq!(code, 0, "{said}");
        let out = String::from_utf8(read(&dir.path("out.jsonl"))).expect("UTF-8");
        assert_eq!(context(&out), sent, "{flags:?}");
    }
}

#[test]
fn a_leaf_that_is_named_counts_if_a_lost_line_follows() {
    let mark = |leaf: u32| {
        format!(
            r#"{{"type":"last-prompt","lastPrompt":"q1","leafUuid":"00000000-0000-4000-8000-{leaf:012}","sessionId":"{SESSION}"}}"#
        ) + "\n"
    };
    let text = transcript("1:0 u q1; 2:1 a A a1; 4:3 a B a2; 5:4 u q3; 6:5 a C a3") + &mark(2);
    assert_eq!(context(&text), "u[q1] a[a1]");
    let (dir, file) = (Dir::new(), format!("{SESSION}.jsonl"));
    dir.write(&file, text.as_bytes());
    assert_ne!(dir.exit(&["validate", &file]).0, 0);
    assert_eq!(dir.exit(&["repair", "-q", "-o", "out.jsonl", &file]).0, 0);
    let out = String::from_utf8(read(&dir.path("out.jsonl"))).expect("UTF-8");
    assert_eq!(context(&out), "u[q1] a[a1 a2] u[q3] a[a3]");
    assert_eq!(returned(text.as_bytes(), &keep()), text.as_bytes());
}

#[test]
fn a_transcript_without_its_beginning_is_refused() {
    let (dir, file) = (Dir::new(), format!("{SESSION}.jsonl"));
    dir.write(&file, transcript("2:1 a A a1; 3:2 u q2; 4:3 a B a2").as_bytes());
    let (code, said) = dir.exit(&["validate", &file]);
    assert!(code != 0 && said.contains("the first message is not the user's"), "{said}");
}

#[test]
fn words_that_waited_are_the_users() {
    let queued = |prompt: &str, more: &str| {
        let line = transcript("1:0 u q1; 2:1 c A a; 3:2 r a ra; 4:3 x; 5:4 a B fin");
        let attachment = format!(r#"{{"type":"queued_command","prompt":{prompt}{more}}}"#);
        line.replace(
            r#""saved_hook_context","#,
            &format!(r#""attachment","attachment":{attachment},"#),
        )
    };
    let blocks = r#"[{"type":"text","text":"also x"}]"#;
    for (prompt, more) in [
        (r#""also x""#, r#","commandMode":"prompt""#),
        (blocks, r#","commandMode":"prompt","origin":{"kind":"human"},"hostsOwnTurn":true"#),
    ] {
        let text = queued(prompt, more);
        assert_eq!(context(&text), "u[q1] a[a] u[a=ra also x] a[fin]");
        assert_eq!(returned(text.as_bytes(), &keep()), text.as_bytes());
        let (dir, file) = (Dir::new(), format!("{SESSION}.jsonl"));
        dir.write(&file, text.as_bytes());
        let shown = dir.run(&["show", &file]).stdout;
        assert!(String::from_utf8_lossy(&shown).contains("also x"));
        for format in ["codex", "pi", "connectonion", "canonical"] {
            let out = format!("{format}.out");
            assert_eq!(dir.exit(&["convert", "-q", "-t", format, "-o", &out, &file]).0, 0);
            assert!(String::from_utf8_lossy(&read(&dir.path(&out))).contains("also x"), "{format}");
            let back = format!("{format}.jsonl");
            assert_eq!(dir.exit(&["convert", "-q", "-t", "claude-code", "-o", &back, &out]).0, 0);
            assert_eq!(read(&dir.path(&back)), text.as_bytes(), "{format}");
        }
    }
    for more in [r#","commandMode":"task-notification""#, r#","origin":{"kind":"peer"}"#] {
        let text = queued(r#""also x""#, more);
        assert_eq!(context(&text), "u[q1] a[a] u[a=ra] a[fin]");
    }
}

/// Release 2.1.332 sends such lines between the parts of an answer as given here.
#[test]
fn words_that_waited_do_not_divide_an_answer() {
    for (lines, sent) in [
        ("1:0 u q; 2:1 a A t0; 3:2 q w; 4:3 c A y; 5:4 r y; 6:5 a B end", "a[t0 y] u[y=y w]"),
        (
            "1:0 u q; 2:1 c A x; 3:2 q w; 4:3 c A y; 5:4 r x; 6:4 r y; 7:5 a B end",
            "a[x y] u[x=x y=y w]",
        ),
        (
            "1:0 u q; 2:1 c A x; 3:2 q w; 4:3 a A t1; 5:4 r x; 6:5 q w1; 7:6 a B end",
            "a[x t1] u[x=x w w1]",
        ),
        // On another branch, also several lines.
        (
            "1:0 u q; 2:1 a A t0; 3:2 c A y; 4:3 l l1; 5:4 q w; 6:3 r y; 7:6 a B end",
            "a[t0 y] u[y=y w l1]",
        ),
        // Before texts of the program.
        (
            "1:0 u q; 2:1 c A x; 3:2 c A y; 4:2 r x; 5:3 r y; 6:5 m m1; 7:6 q w; 8:7 a B end",
            "a[x y] u[x=x y=y w m1]",
        ),
        (
            "1:0 u q; 2:1 c A x; 3:2 a A t1; 4:3 m m1; 5:4 q w; 6:5 r x; 7:6 a B end",
            "a[x t1] u[x=x w m1]",
        ),
    ] {
        assert_eq!(context(&transcript(lines)), format!("u[q] {sent} a[end]"), "{lines}");
    }
}

/// Releases before 2.1.270 wrote such lines without an identifier, and send nothing of them.
#[test]
fn words_that_waited_without_an_identifier_are_no_turn() {
    let queued = concat!(
        r#"{"type":"attachment","timestamp":"2026-01-01T10:00:03.000Z","#,
        r#""attachment":{"type":"queued_command","commandMode":"prompt","prompt":"also x"}}"#,
        "\n"
    );
    let text = transcript("1:0 u q1; 2:1 a A a1; 3:2 u q2; 4:3 a B a2");
    let cut = text.find("\n").map_or(0, |at| at + 1);
    for text in [text.clone() + queued, [&text[..cut], queued, &text[cut..]].concat()] {
        assert_eq!(context(&text), "u[q1] a[a1] u[q2] a[a2]");
        let (dir, file) = (Dir::new(), format!("{SESSION}.jsonl"));
        dir.write(&file, text.as_bytes());
        let found = dir.run(&["inspect", "--json", &file]).stdout;
        let found: serde_json::Value = serde_json::from_slice(&found).expect("JSON");
        let found = &found["inspection"];
        let inputs = found["by_turn"].as_array().expect("turns").iter().map(|turn| &turn["input"]);
        assert_eq!(inputs.collect::<Vec<_>>(), ["q1", "q2"]);
        assert_eq!((&found["turns"], &found["active"]["turns"]), (&2.into(), &2.into()));
        let shown = String::from_utf8_lossy(&dir.run(&["show", &file]).stdout).into_owned();
        assert!(shown.contains("also x") && !shown.contains("Turn 3"), "{shown}");
        assert_ne!(dir.exit(&["context", "--turn", "3", &file]).0, 0);
    }
    // A session is not named by words that no model was sent.
    let text = queued.to_owned() + &text;
    let (dir, file) = (Dir::new(), format!("{SESSION}.jsonl"));
    dir.write(&file, text.as_bytes());
    let shown = String::from_utf8_lossy(&dir.run(&["show", &file]).stdout).into_owned();
    assert!(shown.starts_with("q1\n"), "{shown}");
}

#[test]
fn commands_of_the_program_are_sent_and_carried() {
    let text = transcript("1:0 u q1; 2:1 a A a1; 3:2 l COMMAND; 4:3 u q2; 5:4 a B a2");
    assert_eq!(context(&text), "u[q1] a[a1] u[COMMAND q2] a[a2]");
    assert_eq!(returned(text.as_bytes(), &keep()), text.as_bytes());
    let output =
        text.replace("COMMAND", "<local-command-stdout>Set to twill</local-command-stdout>");
    let (dir, file) = (Dir::new(), format!("{SESSION}.jsonl"));
    dir.write(&file, output.as_bytes());
    for format in ["codex", "pi", "connectonion", "canonical"] {
        let out = format!("{format}.out");
        assert_eq!(dir.exit(&["convert", "-q", "-t", format, "-o", &out, &file]).0, 0);
        let sent = dir.run(&["context", &out]).stdout;
        assert!(String::from_utf8_lossy(&sent).contains("Set to twill"), "{format}");
        let back = format!("{format}.jsonl");
        assert_eq!(dir.exit(&["convert", "-q", "-t", "claude-code", "-o", &back, &out]).0, 0);
        assert_eq!(read(&dir.path(&back)), output.as_bytes(), "{format}");
    }
    let found = dir.run(&["inspect", "--json", &file]).stdout;
    let found: serde_json::Value = serde_json::from_slice(&found).expect("JSON");
    let found = &found["inspection"];
    assert_eq!((&found["turns"], &found["by_turn"][1]["input"]), (&2.into(), &"q2".into()));
    let empty = transcript("1:0 u q1; 2:1 a A a1; 3:2 l x; 4:3 u q2; 5:4 a B a2");
    let empty = empty.replace(r#""content":"x""#, r#""content":"""#);
    assert_eq!(context(&empty), "u[q1] a[a1] u[(no content) q2] a[a2]");
}

#[test]
fn words_on_lines_of_other_types_are_sent_in_their_places() {
    for kind in ["m", "l", "q"] {
        for (lines, sent) in [
            ("2:1 a A one; 3:2 W; 4:3 a A two; 5:4 u q2; 6:5 a B fin", "a[one] u[w] a[two] u[q2]"),
            ("2:1 a A one; 3:2 W; 4:2 a A two; 5:4 u q2; 6:5 a B fin", "a[one two] u[q2]"),
            ("2:1 a A one; 3:2 W; 4:2 u q2; 6:4 a B fin", "a[one] u[q2]"),
            ("2:1 a A one; 3:2 W; 4:2 c A a; 5:4 r a ra; 6:5 a B fin", "a[one] u[w] a[a] u[a=ra]"),
            ("2:1 c A a; 3:2 W; 4:3 r a ra; 5:4 a B fin", "a[a] u[a=ra w]"),
            ("2:1 c A a; 3:2 W; 4:2 r a ra; 5:4 a B fin", "a[a] u[a=ra w]"),
            ("2:1 c A a; 3:2 r a ra; 4:3 W; 5:3 a B fin", "a[a] u[a=ra w]"),
            (
                "2:1 c A a; 3:2 r a ra; 4:3 W; 5:4 c A b; 6:5 r b rb; 7:6 a B fin",
                "a[a b] u[a=ra b=rb w]",
            ),
            (
                "2:1 c A a; 3:2 W; 4:3 c A b; 5:2 r a ra; 6:4 r b rb; 7:6 a B fin",
                "a[a b] u[a=ra b=rb w]",
            ),
        ] {
            let sent = match sent {
                "a[one] u[w] a[two] u[q2]" if kind == "q" => "a[one two] u[w q2]",
                "a[one] u[w] a[a] u[a=ra]" if kind == "q" => "a[one a] u[a=ra w]",
                sent => sent,
            };
            let text =
                transcript(&format!("1:0 u q; {}", lines.replace('W', &format!("{kind} w"))));
            assert_eq!(context(&text), format!("u[q] {sent} a[fin]"), "{kind}: {lines}");
            let (dir, file) = (Dir::new(), format!("{SESSION}.jsonl"));
            dir.write(&file, text.as_bytes());
            assert_eq!(dir.exit(&["validate", "-q", &file]).0, 0, "{kind}: {lines}");
            let repaired = dir.said(&["repair", "-q", "--resumable", "-o", "out.jsonl", &file]);
            assert_eq!(repaired.0, 0, "{kind}: {lines}: {}", repaired.1);
            let out = String::from_utf8(read(&dir.path("out.jsonl"))).expect("UTF-8");
            assert_eq!(context(&out), context(&text), "{kind}: {lines}");
        }
    }
}
