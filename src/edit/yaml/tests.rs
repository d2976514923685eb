use super::*;

fn merged_in_text(source: &str, before: &str, after: &str) -> Option<String> {
    let found = merged(source.as_bytes(), before.as_bytes(), after.as_bytes());
    found.map(|found| String::from_utf8(found).expect("UTF-8"))
}

#[track_caller]
fn check(source: &str, before: &str, after: &str, wanted: &str) {
    let found = merged_in_text(source, before, after);
    let shown = found.as_deref().unwrap_or("(no result)\n");
    assert!(found.as_deref() == Some(wanted), "found:\n{shown}\nwanted:\n{wanted}");
}

/// Checks an edit that replaces one part of `before`.
#[track_caller]
fn check_edit(source: &str, before: &str, (old, new): (&str, &str), wanted: &str) {
    assert!(before.contains(old), "{before}");
    check(source, before, &before.replacen(old, new, 1), wanted);
}

const HAND_MADE: &str = "\
# The pier's own file.
name:   \"oo\" # quoted
n: 0x1F
when: 2024-01-01   # a date

turns:
  # the first one
  - input: check my mail
    tools: [ read, 'send' ]  # two
    result: |
      You have
      3 mails.

  # the second one
  - input: \"reply\"
    note: &n thanks
    again: *n
messages:
    - {role: user, content: hi}
...
";

/// Spelling of the same data by the format's writer.
const WRITTEN: &str = "\
name: oo
n: 31
when: '2024-01-01'
turns:
- input: check my mail
  tools:
  - read
  - send
  result: 'You have

    3 mails.

    '
- input: reply
  note: thanks
  again: thanks
messages:
- role: user
  content: hi
";

#[track_caller]
fn check_hand_made(edit: (&str, &str), lines: (&str, &str)) {
    assert!(HAND_MADE.contains(lines.0), "{}", lines.0);
    check_edit(HAND_MADE, WRITTEN, edit, &HAND_MADE.replacen(lines.0, lines.1, 1));
}

#[test]
fn what_is_the_same_keeps_its_bytes() {
    check(HAND_MADE, WRITTEN, WRITTEN, HAND_MADE);
    let windows = HAND_MADE.replace('\n', "\r\n");
    check(&windows, WRITTEN, WRITTEN, &windows);
    check(HAND_MADE, "a: 1", "{a: 1}\n", HAND_MADE);
}

#[test]
fn an_edited_scalar_is_changed_in_its_own_place() {
    check_hand_made(("name: oo", "name: it's"), ("\"oo\" #", "\"it's\" #"));
    check("a: \"x\\ny\"\n", "a: \"x\\ny\"\n", "a: z\n", "a: z\n");
    check_hand_made(("n: 31", "n: 32"), ("0x1F", "32"));
    check_hand_made(("'2024-01-01'", "'2025-01-01'"), ("2024-01-01 ", "'2025-01-01' "));
    check("- 1\n- '2'\n", "- 1\n- 2\n", "- '1'\n- 2\n", "- '1'\n- '2'\n");
    check("1: a\nb: [1]\n", "1: a\nb:\n- 1\n", "'1': a\nb:\n- '1'\n", "'1': a\nb: ['1']\n");
    check_hand_made(("- send", "- delete"), ("'send'", "'delete'"));
    check_hand_made(("- send", "- a, b"), ("'send'", "'a, b'"));
    check_hand_made(("- read", "- a, b"), ("read,", "\"a, b\","));
    check_hand_made(("content: hi", "content: 'hi: you'"), (": hi}", ": 'hi: you'}"));
    check_hand_made(("content: hi", "content: 'a\n\n    b'"), (": hi}", ": \"a\\nb\"}"));
    check_hand_made(("check my mail", "check"), ("check my mail", "check"));
}

#[test]
fn a_literal_block_stays_one() {
    check_hand_made(("3 mails", "4 mails"), ("3 mails", "4 mails"));
    check_hand_made(
        ("3 mails.\n\n", "3 mails.\n\n    And more.\n\n"),
        ("mails.\n", "mails.\n      And more.\n"),
    );
    check_hand_made(("3 mails.\n\n    '", "3 mails.'"), ("|\n", "|-\n"));
    check_hand_made(("You have\n\n    3", "3"), ("      You have\n", ""));
    let source = "a: |2- # why\n    x\n   y\nb: 1\n";
    check_edit(
        source,
        "a: |2-\n    x\n   y\nb: 1\n",
        ("  y", "  z"),
        "a: |2- # why\n    x\n   z\nb: 1\n",
    );
    // Characters that no block can have.
    let (before, source) = ("a: 'x\n\n  '\n", "a: | # c\n  x\n# d\n");
    check(source, before, "a: \"x\\e\\ty\"\n", "a: \"x\\e\\ty\" # c\n# d\n");
}

#[test]
fn a_value_of_one_line_becomes_one_of_several() {
    check_hand_made(("input: reply", "input: 'a\n\n    b'"), ("\"reply\"", "'a\n\n      b'"));
    check_hand_made(
        ("when: '2024-01-01'", "when:\n- a\n- b: |-\n    c\n    d"),
        ("when: 2024-01-01   # a date", "when: # a date\n- a\n- b: |-\n    c\n    d"),
    );
    check("k: 'v' # c\n", "k: v\n", "k: |\n  a\n  b\n", "k: | # c\n  a\n  b\n");
    check(
        "k: # c\n  - a\n  - b # d\nl: 1\n",
        "k:\n- a\n- b\nl: 1\n",
        "k: w\nl: 1\n",
        "k: w # c\nl: 1\n",
    );
    check(
        "- {} # c\n- &a []\n",
        "- {}\n- []\n",
        "- k: 'v\n\n    w'\n- - d\n",
        "- # c\n  k: 'v\n\n    w'\n- &a\n  - d\n",
    );
    check("k: |- # c\n  a\n", "k: a\n", "k: '\n\n  '\n", "k: '\n\n  ' # c\n");
    check("k: # c\n  - a\n", "k:\n- a\n", "k:\n  x: 1\n", "k: # c\n  x: 1\n");
    check(
        "- a\n-   b: 1\n    c: 2\n",
        "- a\n- b: 1\n  c: 2\n",
        "- a\n- - d\n  - e\n",
        "- a\n- - d\n  - e\n",
    );
    check(
        "a:\n  - x:\n      y\n",
        "a:\n- x: y\n",
        "a:\n- x: 'y\n\n    z'\n",
        "a:\n  - x:\n      'y\n\n      z'\n",
    );
}

#[test]
fn new_entries_are_indented_like_the_others() {
    check_hand_made(
        (
            "  again: thanks\n",
            "  again: thanks\n- input: yes sir\n  tools: []\n  result: 'a\n\n    b'\n",
        ),
        (
            "    again: *n\n",
            "    again: *n\n  - input: yes sir\n    tools: []\n    result: 'a\n\n      b'\n",
        ),
    );
    check_hand_made(
        ("  content: hi\n", "  content: hi\n- role: tool\n  content: ok\n"),
        ("content: hi}\n", "content: hi}\n    - role: tool\n      content: ok\n"),
    );
    check_hand_made(
        ("  content: hi\n", "  content: hi\n  id: 7\n"),
        ("content: hi}", "content: hi, id: 7}"),
    );
    check_hand_made(("- role: user", "- id: 7\n  role: user"), ("{role", "{id: 7, role"));
    check_hand_made(
        ("  - send\n", "  - send\n  - x: [1, 2]\n"),
        ("'send' ]", "'send', {x: [1, 2]} ]"),
    );
    check_hand_made(("n: 31\n", "n: 31\nm: {}\n"), ("0x1F\n", "0x1F\nm: {}\n"));
    check_hand_made(("name: oo\n", "id: 1\nname: oo\n"), ("name: ", "id: 1\nname: "));
    check_hand_made(
        ("- input: check", "- id: 1\n  input: check"),
        ("- input: check", "- id: 1\n    input: check"),
    );
    check_hand_made(
        ("turns:\n", "turns:\n- new\n"),
        ("  # the first one\n", "  - new\n  # the first one\n"),
    );
    check("a: []\nb: 1 # c\n", "a: []\nb: 1\n", "a:\n- x\nb: 1\n", "a:\n- x\nb: 1 # c\n");
    check("a: [] # c\nb: []\n", "a: []\nb: []\n", "a:\n- x\nb:\n- y\n", "a: # c\n- x\nb:\n- y\n");
    check("- [[], x]\n", "- - []\n  - x\n", "- - - y\n  - x\n", "- [[y], x]\n");
}

#[test]
fn a_file_without_a_last_line_ending_stays_one() {
    check("a: 1\nb: 2", "a: 1\nb: 2\n", "a: 1\nb: 2\nc: 3\n", "a: 1\nb: 2\nc: 3");
    check("a: 1\nb: 2", "a: 1\nb: 2\n", "a: 1\n", "a: 1");
    check("a:\r\n- b", "a:\n- b\n", "a:\n- b\n- 'c\n\n  d'\n", "a:\r\n- b\r\n- 'c\r\n\r\n  d'");
    check("a:\n- b: 1", "a:\n- b: 1\n", "a:\n- b: 1\n  c: 2\n- d\n", "a:\n- b: 1\n  c: 2\n- d");
}

#[test]
fn removed_entries_take_their_lines_and_no_others() {
    check_hand_made(("n: 31\n", ""), ("n: 0x1F\n", ""));
    check_hand_made(("when: '2024-01-01'\n", ""), ("when: 2024-01-01   # a date\n", ""));
    check_hand_made(("  - read\n", ""), ("[ read, 'send' ]", "[ 'send' ]"));
    check_hand_made(("  - send\n", ""), ("[ read, 'send' ]", "[ read ]"));
    check_hand_made(("  content: hi\n", ""), ("{role: user, content: hi}", "{role: user}"));
    check("- {n: 1, m: 2}\n", "- n: 1\n  m: 2\n", "- m: 2\n", "- {m: 2}\n");
    check_hand_made(
        ("- input: check my mail\n  tools", "- tools"),
        ("input: check my mail\n    tools", "tools"),
    );
    check_hand_made(
        ("messages:\n- role: user\n  content: hi\n", "messages: []\n"),
        ("messages:\n    - {role: user, content: hi}", "messages: []"),
    );
    let source = "a: # c\n# d\n- x # e\n# f\n- y\n# g\n";
    let before = "a:\n- x\n- y\n";
    check(source, before, "a:\n- y\n", "a: # c\n# d\n# f\n- y\n# g\n");
    check(source, before, "a:\n- x\n", "a: # c\n# d\n- x # e\n# f\n# g\n");
    check(source, before, "a: []\n", "a: [] # c\n# d\n# f\n# g\n");
    check("- a: 1\n  # c\n  b: 2\n", "- a: 1\n  b: 2\n", "- b: 2\n", "-\n  # c\n  b: 2\n");
    check("- a: 1\n  b: 2\n", "- a: 1\n  b: 2\n", "- {}\n", "- {}\n");
    check(
        "[\n  a, # 1\n  b, # 2\n  c # 3\n]\n",
        "- a\n- b\n- c\n",
        "- a\n- c\n",
        "[\n  a, # 1\n  c # 3\n]\n",
    );
    check("[\n  a,\n  b,\n]\n", "- a\n- b\n", "- a\n", "[\n  a,\n]\n");
    check("x: 1\n", "x: 1\n", "{}\n", "{}\n");
}

#[test]
fn a_renamed_key_keeps_its_value() {
    check_hand_made(("turns:", "'2':"), ("turns:", "'2':"));
    check_hand_made(("  content: hi", "  text: hi"), (" content: hi", " text: hi"));
    check("- {n: 1, m: 2}\n", "- n: 1\n  m: 2\n", "- '[': 1\n  m: 2\n", "- {'[': 1, m: 2}\n");
    check("? - 1\n: 2\na: 1\n", "a: 1\n", "b: 1\n", "b: 1\n");
}

#[test]
fn aliases_mean_what_they_are_to_mean() {
    check_hand_made(("again: thanks", "again: bye"), ("*n", "bye"));
    check_hand_made(
        ("note: thanks\n  again: thanks", "note: bye\n  again: bye"),
        ("&n thanks", "&n bye"),
    );
    check_hand_made(
        ("note: thanks", "note: bye"),
        ("&n thanks\n    again: *n", "&n bye\n    again: thanks"),
    );
    check_hand_made(
        ("  note: thanks\n", ""),
        ("    note: &n thanks\n    again: *n", "    again: thanks"),
    );
    let source = "a: &x\n  k: 1\n  l: 2\nb: *x\nc: {<<: *x, m: 3}\n";
    let before = "a:\n  k: 1\n  l: 2\nb:\n  k: 1\n  l: 2\nc:\n  k: 1\n  l: 2\n  m: 3\n";
    check(source, before, before, source);
    check_edit(
        source,
        before,
        ("m: 3", "m: 4"),
        "a: &x\n  k: 1\n  l: 2\nb: *x\nc:\n  k: 1\n  l: 2\n  m: 4\n",
    );
    check_edit(
        source,
        before,
        ("b:\n  k: 1", "b:\n  k: 0"),
        "a: &x\n  k: 1\n  l: 2\nb:\n  k: 0\n  l: 2\nc: {<<: *x, m: 3}\n",
    );
    check(
        source,
        before,
        &before.replace("k: 1", "k: 5"),
        "a: &x\n  k: 5\n  l: 2\nb: *x\nc:\n  k: 5\n  l: 2\n  m: 3\n",
    );
}

#[test]
fn documents_begin_and_end_as_they_did() {
    check(
        "%YAML 1.1\n---\na: 1\n...\n",
        "a: 1\n",
        "a: 1\nb: 2\n",
        "%YAML 1.1\n---\na: 1\nb: 2\n...\n",
    );
    check("--- # c\n", "null\n", "a: 1\n", "--- # c\na: 1\n");
    check("# c", "", "a: 1\n", "# c\na: 1\n");
    check("", "", "", "");
    check("a: 1\n---\nb: 1\n", "a: 1\n", "a: 2\n", "a: 2\n---\nb: 1\n");
    check("\u{feff}a: 1\n", "a: 1\n", "a: 2\n", "\u{feff}a: 2\n");
    for broken in ["a: [", "\t- a", "a: *b", "a\0: 1", "? [a]\n: b", "\u{3a2}: 1"] {
        assert_eq!(merged_in_text(broken, "a: 1\n", "a: 2\n").filter(|t| t.is_empty()), None);
    }
}

#[test]
fn other_encodings_are_kept() {
    use crate::yaml::encoding::named;

    for name in ["utf-16le", "gbk"] {
        let encoding = named(name).expect("an encoding");
        let encoded = |text: &str| {
            let mut out = Vec::new();
            let mark = if name == "gbk" { "" } else { "\u{feff}" };
            encode(&format!("{mark}{text}"), encoding, &mut out).expect("all characters");
            out
        };
        let source = encoded("a: \"港口 # 港口\"\r\nb: 灯\r\n");
        let (before, after) = ("a: '港口 # 港口'\nb: 灯\n", "a: '港口 # 港口'\nb: 灯塔\n");
        let found = merged(&source, before.as_bytes(), after.as_bytes());
        assert_eq!(found, Some(encoded("a: \"港口 # 港口\"\r\nb: 灯塔\r\n")));
    }
}

#[test]
fn texts_of_json_are_merged_by_their_members() {
    check(
        "a: '[ {\"x\": \"it''s\"}, 1.50 ]' # c\n",
        "a: '[{\"x\": \"it''s\"}, 1.5]'\n",
        "a: '[{\"x\": \"its\"}, 1.5]'\n",
        "a: '[ {\"x\": \"its\"}, 1.50 ]' # c\n",
    );
    check(
        "a: |\n  [\n  {\"x\" : 1},\n  2\n  ]\n",
        "a: '[{\"x\": 1}, 2]'\n",
        "a: '[{\"x\": 1}, 3]'\n",
        "a: |\n  [\n  {\"x\" : 1},\n  3\n  ]\n",
    );
}
