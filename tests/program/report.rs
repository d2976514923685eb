//! The file that `--report` writes, against its schema and what is known of the corpus.

use crate::common::{self, Dir};
use copyist::batch::Outcome;
use copyist::diagnostic::{Code, Severity};
use jsonschema::Validator;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;
use tempfile::TempDir;
use walkdir::WalkDir;

static SCHEMA: LazyLock<Value> = LazyLock::new(|| {
    let text = include_str!("../../schemas/report.schema.json");
    serde_json::from_str(text).expect("the schema is JSON")
});

static VALIDATOR: LazyLock<Validator> =
    LazyLock::new(|| jsonschema::validator_for(&SCHEMA).expect("the schema compiles"));

/// What stops the migration of each damaged file.
const DAMAGED: &[(&str, Code)] = &[
    ("damaged/pi/glued", Code::Glued),
    ("damaged/pi/invalid-utf8", Code::NotUtf8),
    ("damaged/pi/missing-header", Code::NoHeader),
    ("damaged/pi/not-an-object", Code::NotObject),
    ("damaged/pi/nul-run", Code::NulRun),
    ("damaged/pi/torn-tail", Code::CutShort),
];

#[test]
fn the_schema_knows_every_outcome() {
    let names: Vec<_> = Outcome::ALL.iter().map(|outcome| outcome.name()).collect();
    assert_eq!(SCHEMA["$defs"]["outcome"]["enum"], json!(names));
    for name in names {
        assert!(SCHEMA["$defs"]["summary"]["properties"][name].is_object(), "{name}");
    }
}

#[test]
fn the_schema_is_strict() {
    let report = json!({
        "copyist": "0.1.0",
        "command": "detect",
        "exit": 0,
        "summary": { "detected": 1, "records": 0, "warnings": 0, "errors": 0 },
        "inputs": [],
    });
    assert!(VALIDATOR.is_valid(&report));
    for (place, wrong) in [
        ("/command", json!("destroy")),
        ("/exit", json!(5)),
        ("/summary/detected", json!(0)),
        ("/summary", json!({ "records": 0, "warnings": 0, "errors": 0, "lost": 1 })),
        ("/inputs", json!([{ "path": "a", "outcome": "skipped", "records": 0 }])),
    ] {
        let mut report = report.clone();
        *report.pointer_mut(place).expect("it is there") = wrong;
        assert!(!VALIDATOR.is_valid(&report), "{report}");
    }
}

#[test]
fn migrate_reports_what_became_of_each_version() {
    let run = Run::of("migrate", &["--out-dir", "out"]);
    assert_eq!(run.exit, 3);
    for input in run.inputs("pi/") {
        let (outcome, from) = match &text(input, "path")[..6] {
            "pi/v1/" => ("migrated", "pi@1"),
            "pi/v2/" => ("migrated", "pi@2"),
            "pi/v3/" => ("unchanged", "pi@3"),
            other => panic!("what becomes of {other}?"),
        };
        assert_eq!(text(input, "outcome"), outcome, "{input:#}");
        assert_eq!(text(input, "format"), from, "{input:#}");
        assert_eq!(text(input, "to"), "pi@3", "{input:#}");
        assert_eq!(run.records_in(text(input, "output")), input["records"], "{input:#}");
    }
}

#[test]
fn migrate_reports_why_damaged_inputs_gave_no_output() {
    let run = Run::of("migrate", &["--out-dir", "out"]);
    for (folder, code) in DAMAGED {
        let inputs: Vec<_> = run.inputs(folder).collect();
        let [input] = inputs.as_slice() else {
            panic!("{folder} holds {} inputs", inputs.len());
        };
        assert_eq!(text(input, "outcome"), "failed", "{input:#}");
        assert_eq!(input["diagnostics"][0]["code"], code.name(), "{input:#}");
        assert_eq!(input["counts"], json!({ code.name(): 1 }), "{input:#}");
        assert!(!run.folder.path().join("out").join(text(input, "path")).exists(), "{input:#}");
    }
}

#[test]
fn migrate_reports_where_a_file_is_damaged() {
    let run = Run::of("migrate", &["--out-dir", "out"]);
    let input = run.inputs("damaged/pi/torn-tail").next().expect("it was copied");
    let bytes = fs::read(run.folder.path().join(text(input, "path"))).expect("it was copied");
    let lines = bytes.iter().filter(|b| **b == b'\n').count() + 1;
    assert_eq!(input["diagnostics"][0]["line"], lines, "{input:#}");
    assert_eq!(input["diagnostics"][0]["byte"], bytes.len(), "{input:#}");
}

#[test]
fn convert_carries_damaged_lines_along() {
    let run = Run::of("convert", &["-t", "canonical", "--out-dir", "out"]);
    for input in run.inputs("pi/").chain(run.inputs("damaged/pi/torn-tail")) {
        assert_eq!(text(input, "outcome"), "converted", "{input:#}");
        assert_eq!(text(input, "to"), "canonical", "{input:#}");
        assert_eq!(run.records_in(text(input, "output")), input["records"], "{input:#}");
        assert_eq!(input["losses"], json!({}), "{input:#}");
    }
}

#[test]
fn convert_counts_what_a_linear_version_cannot_hold() {
    let run = Run::of("convert", &["-t", "pi@1", "--no-origin", "--out-dir", "out"]);
    let input = run.inputs("pi/v2/branched").next().expect("it was copied");
    let lost_all = input["losses"]["dropped"].clone();
    let lost = lost_all.as_object().expect("some is lost");
    let lost = lost.keys().any(|field| field.ends_with("off the active branch"));
    assert!(lost, "{input:#}");
    assert_ne!(input["counts"][Code::Dropped.name()], Value::Null, "{input:#}");
    let run = Run::of("convert", &["-t", "pi@1", "--out-dir", "out"]);
    let input = run.inputs("pi/v2/branched").next().expect("it was copied");
    assert_eq!(input["losses"]["dropped"], Value::Null, "{input:#}");
    assert_eq!(&input["losses"]["origin"], &lost_all, "what is not lost is in the origin");
}

#[test]
fn what_convert_predicts_is_what_diff_finds() {
    let differences = |run: &Run| {
        let input = run.inputs("pi/v2/branched").next().expect("it was copied");
        input["differences"].clone()
    };
    let convert = ["-t", "connectonion@2", "--no-origin", "--out-dir", "out"];
    let dry = Run::of("convert", &[&convert[..], &["-n"]].concat());
    assert!(!dry.folder.path().join("out").exists());
    let done = Run::of("convert", &convert);
    let told = differences(&done);
    assert!(told["removed"]["message.usage.input"].as_u64() > Some(0), "{told:#}");
    assert_eq!(differences(&dry), told);
    let input = done.inputs("pi/v2/branched").next().expect("it was copied");
    let report = done.folder.path().join("diff.json");
    let mut diff = Command::new(env!("CARGO_BIN_EXE_copyist"));
    diff.args(["diff", "-q", "--report"]).arg(&report);
    diff.args([text(input, "path"), text(input, "output")]).current_dir(done.folder.path());
    assert_eq!(diff.status().expect("it runs").code(), Some(1));
    let report: Value = serde_json::from_slice(&fs::read(report).expect("a report")).expect("JSON");
    assert!(VALIDATOR.is_valid(&report), "{report:#}");
    assert_eq!(report["inputs"][0]["differences"], told);
}

#[test]
fn validate_distinguishes_sound_files_from_damaged_ones() {
    let run = Run::of("validate", &[]);
    assert_eq!(run.exit, 1);
    for (folder, code) in DAMAGED {
        let input = run.inputs(folder).next().expect("it was copied");
        // To the reader of records an array is a record of a kind that it does not know.
        let code = if *code == Code::NotObject { Code::Schema } else { *code };
        assert_eq!(text(input, "outcome"), "invalid", "{input:#}");
        assert_ne!(input["counts"][code.name()], Value::Null, "{input:#}");
    }
    let valid = run.inputs("pi/v1/").chain(run.inputs("pi/v3/everything"));
    for input in valid {
        // The first releases wrote results without `content`, with which today's pi ends.
        let first = text(input, "path").contains("first-generation");
        let outcome = if first { "invalid" } else { "valid" };
        assert_eq!(text(input, "outcome"), outcome, "{input:#}");
        assert_ne!(input["records"], 0, "{input:#}");
    }
}

#[test]
fn detect_names_format_and_version() {
    let run = Run::of("detect", &[]);
    assert_eq!(run.exit, 0);
    for input in run.inputs("pi/") {
        let path = text(input, "path");
        assert_eq!(text(input, "outcome"), "detected", "{input:#}");
        assert_eq!(text(input, "format"), format!("pi@{}", &path[4..5]), "{input:#}");
        assert_eq!(text(input, "confidence"), "certain", "{input:#}");
    }
    let input = run.inputs("damaged/pi/missing-header").next().expect("it was copied");
    assert_eq!(text(input, "confidence"), "weak", "{input:#}");
}

#[test]
fn context_reports_what_it_printed() {
    let name = "branched.jsonl";
    let run = Run::over("context", &[name], |folder| {
        copy("pi/v2/branched", folder);
        let session = files(folder, "pi").into_iter().find(|file| !file.ends_with(NOTE));
        fs::rename(folder.join(session.expect("it was copied")), folder.join(name)).expect("ours");
    });
    assert_eq!(run.exit, 0);
    let input = &run.report["inputs"][0];
    assert_eq!(text(input, "outcome"), "shown", "{input:#}");
    assert_eq!(text(input, "format"), "pi@2", "{input:#}");
    assert_ne!(input["records"], 0, "{input:#}");
}

#[test]
fn a_file_that_is_named_and_unknown_fails() {
    let run = Run::over("detect", &["notes.txt"], |folder| {
        fs::write(folder.join("notes.txt"), "Milk, bread.\n").expect("it is ours");
    });
    assert_eq!(run.exit, 3);
    let input = &run.report["inputs"][0];
    assert_eq!(text(input, "outcome"), "failed", "{input:#}");
    assert_eq!(input["counts"], json!({ Code::UnknownFormat.name(): 1 }), "{input:#}");
}

/// One run over copies of the corpus, and its report, which fits the schema and adds up.
struct Run {
    folder: TempDir,
    exit: i32,
    report: Value,
}

impl Run {
    fn of(command: &str, options: &[&str]) -> Self {
        let args = [options, &["pi", "damaged"]].concat();
        let run = Self::over(command, &args, |folder| {
            copy("pi", folder);
            copy("damaged", folder);
        });
        run.assert_each_is_told();
        run
    }

    fn over(command: &str, args: &[&str], prepare: impl Fn(&Path)) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        prepare(folder.path());
        let program = env!("CARGO_BIN_EXE_copyist");
        let mut program = Command::new(program);
        program.current_dir(&folder).arg(command).args(["--report", "report.json"]).args(args);
        let done = program.output().expect("it runs");
        let report = fs::read(folder.path().join("report.json")).unwrap_or_else(|error| {
            panic!("{error}: {}", String::from_utf8_lossy(&done.stderr));
        });
        let report = serde_json::from_slice(&report).expect("the report is JSON");
        let exit = done.status.code().expect("it exits");
        let run = Self { folder, exit, report };
        run.assert_fits(command);
        run.assert_adds_up();
        run
    }

    /// The inputs below a folder, the notes that stand there left out.
    fn inputs<'a>(&'a self, below: &'a str) -> impl Iterator<Item = &'a Value> {
        let inputs = self.report["inputs"].as_array().expect("inputs").iter();
        inputs.filter(move |input| {
            let path = text(input, "path");
            path.starts_with(below) && !path.ends_with(NOTE)
        })
    }

    /// How many records the output holds; blank lines are none, also where a stream keeps them.
    fn records_in(&self, output: &str) -> u64 {
        let bytes = fs::read(self.folder.path().join(output)).expect("the output is there");
        let lines = bytes.split(|b| *b == b'\n').filter(|line| !line.trim_ascii().is_empty());
        let kept = |line: &&[u8]| {
            let record: Value = serde_json::from_slice(line).unwrap_or_default();
            let text = record["text"].as_str().filter(|_| record["kind"] == "opaque");
            text.is_none_or(|text| !text.trim().is_empty())
        };
        lines.filter(kept).count() as u64
    }

    fn assert_fits(&self, command: &str) {
        let misfits = VALIDATOR.iter_errors(&self.report);
        let misfits: Vec<_> =
            misfits.map(|error| format!("{}: {error}", error.instance_path())).collect();
        assert!(misfits.is_empty(), "{misfits:#?}");
        assert_eq!(self.report["copyist"], env!("CARGO_PKG_VERSION"));
        assert_eq!(self.report["command"], command);
        assert_eq!(self.report["exit"], self.exit);
    }

    /// The summary is the sum of the inputs.
    fn assert_adds_up(&self) {
        let mut sum = BTreeMap::from([("records", 0), ("warnings", 0), ("errors", 0)]);
        for input in self.report["inputs"].as_array().expect("inputs") {
            *sum.entry(text(input, "outcome")).or_default() += 1;
            *sum.entry("records").or_default() += input["records"].as_u64().expect("a number");
            for (code, count) in input["counts"].as_object().expect("counts") {
                let code = Code::named(code).unwrap_or_else(|| panic!("no code {code}"));
                // What makes a session invalid is an error, whatever its code is elsewhere.
                let decides = input["outcome"] == "invalid" && code.is_invalid();
                let severity = match code.severity() {
                    _ if decides => "errors",
                    Severity::Error => "errors",
                    Severity::Warning => "warnings",
                    Severity::Note => continue,
                };
                *sum.entry(severity).or_default() += count.as_u64().expect("a number");
            }
        }
        assert_eq!(self.report["summary"], json!(sum));
    }

    /// Every file has its place in the report, in order, and notes are passed over.
    fn assert_each_is_told(&self) {
        let inputs = self.report["inputs"].as_array().expect("inputs");
        let told: Vec<_> = inputs.iter().map(|input| PathBuf::from(text(input, "path"))).collect();
        let root = self.folder.path();
        let expected = [files(root, "pi"), files(root, "damaged")].concat();
        assert_eq!(told, expected);
        for input in inputs {
            let (path, outcome) = (text(input, "path"), text(input, "outcome"));
            assert_eq!(path.ends_with(NOTE), outcome == "skipped", "{path}: {outcome}");
        }
        let summary = self.report["summary"].as_object().expect("a summary");
        let counted = Outcome::ALL.iter().filter_map(|outcome| summary.get(outcome.name()));
        let counted: u64 = counted.filter_map(Value::as_u64).sum();
        assert_eq!(counted, inputs.len() as u64);
    }
}

const NOTE: &str = "NOTE.md";

fn text<'a>(value: &'a Value, member: &str) -> &'a str {
    value[member].as_str().unwrap_or_else(|| panic!("no text `{member}` in {value:#}"))
}

/// Copies the sessions and the notes of a folder of `testdata`.
fn copy(name: &str, to: &Path) {
    let testdata = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata");
    let wanted = |file: &PathBuf| file.ends_with(NOTE) || file.iter().any(|step| step == "in");
    for file in files(&testdata, name).into_iter().filter(wanted) {
        let copy = to.join(&file);
        fs::create_dir_all(copy.parent().expect("a folder")).expect("it is ours");
        fs::copy(testdata.join(&file), copy).expect("testdata can be read");
    }
}

/// The files of a folder, by their paths below `root`, in the order of their names.
fn files(root: &Path, name: &str) -> Vec<PathBuf> {
    let entries = WalkDir::new(root.join(name)).sort_by_file_name();
    let entries = entries.into_iter().map(|entry| entry.expect("it can be read"));
    let files = entries.filter(|entry| entry.file_type().is_file());
    let inside = |path: &Path| path.strip_prefix(root).expect("it stands there").to_owned();
    files.map(|entry| inside(entry.path())).collect()
}

#[cfg(target_os = "linux")]
#[test]
fn names_that_are_no_text_are_distinguished() {
    use std::os::unix::ffi::OsStrExt;
    let dir = common::Dir::new();
    std::fs::create_dir(dir.path("in")).expect("a folder");
    let names = [&b"x\xff.jsonl"[..], b"x\xfe.jsonl"];
    for name in names {
        let path = dir.path("in").join(std::ffi::OsStr::from_bytes(name));
        std::fs::write(path, common::own("pi/v1/feature-work")).expect("room");
    }
    let done = dir.run(&["migrate", "--json", "--report", "r.json", "--out-dir", "o", "in"]);
    assert_eq!(done.status.code(), Some(0));
    let report: Value = serde_json::from_slice(&common::read(&dir.path("r.json"))).expect("JSON");
    assert!(VALIDATOR.is_valid(&report), "{report}");
    let bytes = |value: &Value| -> Vec<u8> {
        let list = value.as_array().expect("bytes").iter();
        list.map(|byte| u8::try_from(byte.as_u64().expect("a byte")).expect("a byte")).collect()
    };
    let lines = String::from_utf8(done.stdout).expect("UTF-8");
    let lines = lines.lines().map(|line| serde_json::from_str(line).expect("JSON"));
    let told: Vec<Value> = lines.collect();
    for (place, name) in [names[1], names[0]].into_iter().enumerate() {
        for input in [&told[place], &report["inputs"][place]] {
            assert_eq!(bytes(&input["path"]), [b"in/", name].concat());
            assert_eq!(bytes(&input["output"]), [b"o/", name].concat());
        }
    }
}

#[test]
fn a_finding_is_placed_where_its_line_begins_and_one_about_a_file_nowhere() {
    let dir = common::Dir::new();
    let entry = |id: &str, parent: &str| {
        format!(
            r#"{{"type":"message","id":"{id}","parentId":"{parent}","timestamp":"t","message":{{"role":"user","content":"é"}}}}"#
        )
    };
    let lines = [
        r#"{"type":"session","version":3,"id":"s","timestamp":"t","cwd":"/w"}"#.to_owned(),
        entry("a", ""),
        entry("b", "gone"),
        entry("b", "a"),
        entry("", "b").replace(r#""id":"","#, ""),
        entry("d", "b").replace(r#""type":"message""#, r#""type":"label","targetId":"gone""#),
    ];
    dir.write("s.jsonl", (lines.join("\n") + "\n").as_bytes());
    let run = concat!(
        r#"{"type":"header","schema_version":1,"run_id":"r","session_id":"s","started_at":"2026-02-03T12:00:00.123Z"}"#,
        "\n",
        r#"{"type":"run.start","run_id":"r","session_id":"s","ts":"2026-02-03T12:00:00.456Z","input":{"type":"text","text":"Go."}}"#,
        "\n"
    );
    dir.write("run.jsonl", run.as_bytes());
    let told = |args: &[&str]| {
        let out = String::from_utf8(dir.run(args).stdout).expect("UTF-8");
        let lines = out.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        lines
            .flat_map(|line| line["diagnostics"].as_array().cloned().unwrap_or_default())
            .collect::<Vec<_>>()
    };
    let starts: Vec<usize> =
        (0..lines.len()).map(|n| lines[..n].iter().map(|line| line.len() + 1).sum()).collect();
    let found = told(&["validate", "--json", "s.jsonl"]);
    for (code, line) in [("CY0402", 3), ("CY0401", 4), ("CY0405", 5), ("CY0403", 6)] {
        let here = |found: &&Value| found["code"] == code && found["line"] == line;
        let found = found.iter().find(here).unwrap_or_else(|| panic!("{code}: {found:?}"));
        assert_eq!(found["byte"], starts[line - 1], "{found}");
    }
    let (_, said) = dir.exit(&["validate", "s.jsonl"]);
    assert!(said.contains(&format!("s.jsonl:3:{}: error[CY0402]", starts[2])), "{said}");
    // A run without its end: nothing is wrong with any of its lines.
    let found = told(&["repair", "-n", "--json", "run.jsonl"]);
    assert_eq!(found[0]["code"], "CY0310");
    assert!(found[0].get("line").is_none() && found[0].get("byte").is_none(), "{found:?}");
    let (_, said) = dir.exit(&["repair", "-n", "-v", "run.jsonl"]);
    assert!(said.contains("run.jsonl: note[CY0310]"), "{said}");
}

#[test]
fn blank_lines_are_records_to_nobody() {
    let dir = common::Dir::new();
    dir.copy("pi/v3/spellings", "in.jsonl");
    let text = String::from_utf8(common::read(&dir.path("in.jsonl"))).expect("UTF-8");
    let blank = text.replacen('\n', "\n\n  \n", 2);
    dir.write("in.jsonl", blank.as_bytes());
    let records = |args: &[&str]| {
        let done = dir.run(&[args, &["--json", "in.jsonl"]].concat()).stdout;
        let done = String::from_utf8(done).expect("UTF-8");
        let lines = done.lines().map(serde_json::from_str::<serde_json::Value>);
        let mut counts = lines.filter_map(|line| line.expect("JSON")["records"].as_u64());
        counts.next().expect("a count")
    };
    let count = records(&["validate"]);
    assert_eq!(count, text.lines().filter(|line| !line.trim().is_empty()).count() as u64);
    for to in ["canonical", "pi@1", "connectonion@2", "codelia"] {
        let args = ["convert", "-n", "-t", to, "--out-dir", "out"];
        assert_eq!(records(&args), count, "{to}");
    }
    assert_eq!(records(&["repair", "-n"]), count);
}

#[test]
fn validate_prints_a_line_for_a_refused_session() {
    let dir = Dir::new();
    let text = concat!(
        r#"{"type":"session","version":3,"id":"s","timestamp":"2026-03-03T09:00:00.000Z","cwd":"/w"}"#,
        "\n",
        r#"{"type":"message","id":"a","parentId":null,"timestamp":"2026-03-03T09:00:01.000Z","message":"#,
        r#"{"role":"user","content":[{"type":"image","data":"aGk=","mimeType":"image/png"}]}}"#,
        "\n",
    );
    dir.write("s.jsonl", text.as_bytes());
    let (code, output) = dir.said(&["validate", "s.jsonl"]);
    assert!(code == 1 && output.contains("s.jsonl: refused pi@3, 2 records"), "{output}");
}
