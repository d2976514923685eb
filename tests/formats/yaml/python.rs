//! PyYAML as judge.

use std::io::Write;
use std::process::{Command, Stdio};

/// What the judge is asked, one JSON value a line; it answers one JSON value a line.
const DUMP: &str = r"
def answer(question):
    return yaml.dump(question, default_flow_style=False, allow_unicode=True, sort_keys=False)
";

/// Each question is a text and the value that it should be; the answer is the list of loaders
/// that read something else.
const LOAD: &str = r"
loaders = [yaml.SafeLoader] + ([yaml.CSafeLoader] if yaml.__with_libyaml__ else [])
def loads(loader, text):
    try:
        return yaml.load(text, loader)
    except yaml.YAMLError as error:
        return str(error)
def answer(question):
    text, value, judges = question
    readers = loaders[:judges]
    return [r.__name__ + ' ' + repr(loads(r, text)) for r in readers if loads(r, text) != value]
";

const MAIN: &str = r"
import json, sys, yaml
SCRIPT
for line in sys.stdin.buffer:
    sys.stdout.write(json.dumps(answer(json.loads(line))) + '\n')
";

/// What `yaml.dump` makes of JSON values; `None` after saying aloud that `test` is skipped.
pub fn dump(test: &str, values: &[Vec<u8>]) -> Option<Vec<String>> {
    let answers = ask(test, DUMP, values)?;
    Some(answers.iter().map(|line| serde_json::from_str(line).expect("a string")).collect())
}

/// The judges that read a text as another value than the one beside it; `libyaml` is asked only
/// where a pair says so, for it cannot read escaped halves of surrogate pairs.
pub fn misread(test: &str, pairs: &[(String, Vec<u8>, bool)]) -> Option<Vec<Vec<String>>> {
    let question = |(text, value, libyaml): &(String, Vec<u8>, bool)| {
        let text = serde_json::to_string(text).expect("JSON");
        let value = String::from_utf8(value.clone()).expect("UTF-8");
        format!("[{text},{value},{}]", 1 + u8::from(*libyaml)).into_bytes()
    };
    let questions: Vec<_> = pairs.iter().map(question).collect();
    let answers = ask(test, LOAD, &questions)?;
    Some(answers.iter().map(|line| serde_json::from_str(line).expect("a list")).collect())
}

fn ask(test: &str, script: &str, questions: &[Vec<u8>]) -> Option<Vec<String>> {
    let installed = Command::new("python3")
        .args(["-c", "import yaml; assert yaml.__version__.startswith('6.')"])
        .stderr(Stdio::null())
        .status();
    if !installed.is_ok_and(|status| status.success()) {
        eprintln!("SKIP {test}: no python3 with PyYAML 6");
        return None;
    }
    let mut child = Command::new("python3")
        .args(["-c", &MAIN.replace("SCRIPT", script)])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("python3 runs");
    let mut stdin = child.stdin.take().expect("a pipe");
    let questions = [questions.join(&b'\n'), b"\n".to_vec()].concat();
    let writer = std::thread::spawn(move || stdin.write_all(&questions));
    let output = child.wait_with_output().expect("python3 ends");
    writer.join().expect("no panic").expect("python3 reads all");
    let text = String::from_utf8(output.stdout).expect("ASCII");
    Some(text.lines().map(str::to_owned).collect())
}

/// Whether a scalar without quotes is none of PyYAML's strings, as it stands in these files.
pub fn is_typed(text: &[u8]) -> bool {
    let number = |b: &u8| b.is_ascii_digit() || matches!(b, b'.' | b'-' | b'+' | b'e');
    matches!(text, b"null" | b"true" | b"false")
        || (text.first().is_some_and(u8::is_ascii_digit) && text.iter().all(number))
}
