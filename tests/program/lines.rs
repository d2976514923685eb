//! Lines that commands print with `--json`, against their schema.

use crate::common::{self, Dir, testdata};
use jsonschema::Validator;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// Commands whose lines are reports on inputs.
const REPORTING: &[&str] = &[
    "clean", "context", "convert", "detect", "inspect", "migrate", "repair", "show", "undo",
    "validate",
];

/// Members that no run over the test data has, by command and path, each with the reason.
const RARE: &[(&str, &str)] = &[
    ("input.losses.exact", "this release reports only what is not exact"),
    ("input.losses.mapped", "this release does not count other forms of a field"),
    ("input.losses.synthesized", "this release does not count restored fields"),
];

/// A home with a project in which all test data are, and an empty, a torn and an unknown file.
fn home() -> Dir {
    let home = Dir::new();
    for file in common::session_folders().iter().flat_map(|folder| common::all_files(folder)) {
        let name = file.strip_prefix(testdata()).expect("below").display().to_string();
        for folder in ["data", "copy"] {
            home.write(&format!("project/{folder}/{name}"), &common::read(&file));
        }
    }
    let torn = common::own("pi/v3/everything");
    home.write("project/data/torn.jsonl", &torn[..torn.len() - 30]);
    home.write("project/data/empty.jsonl", b"");
    home.write("project/data/unknown.jsonl", b"{\"a\":1}\n");
    home.write("project/prices.json", br#"{"claude":{"input":1,"output":2}}"#);
    home
}

fn run(home: &Dir, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_copyist"));
    command.current_dir(home.path("project")).env_clear().env("HOME", home.root()).env("TZ", "UTC");
    command.args(args).output().expect("the program runs")
}

/// The schema that `schema json` prints, which stands alone.
fn schema(home: &Dir) -> Value {
    serde_json::from_slice(&run(home, &["schema", "json"]).stdout).expect("JSON")
}

/// Checks lines of all commands, and collects the members that they have.
struct Law {
    schema: Value,
    validators: BTreeMap<String, Validator>,
    seen: BTreeMap<String, BTreeSet<String>>,
}

impl Law {
    fn new(schema: Value) -> Self {
        Self { schema, validators: BTreeMap::new(), seen: BTreeMap::new() }
    }

    fn validator(&mut self, command: &str) -> &Validator {
        let schema = &self.schema;
        self.validators.entry(command.to_owned()).or_insert_with(|| {
            let mut schema = schema.clone();
            let object = schema.as_object_mut().expect("an object");
            object.remove("anyOf");
            object.insert("$ref".to_owned(), json!(format!("#/$defs/{command}")));
            jsonschema::validator_for(&schema).expect("the schema compiles")
        })
    }

    /// Runs a command with `--json`, and checks what it prints.
    fn run(&mut self, home: &Dir, args: &[&str]) {
        let command = args[0];
        let done = run(home, &[args, &["--json"]].concat());
        let carries_data = ["context", "show"].contains(&command);
        let out = if carries_data { Vec::new() } else { done.stdout };
        let texts = [out, done.stderr].concat();
        let lines = String::from_utf8(texts).expect("UTF-8");
        for line in lines.lines().filter(|line| line.starts_with('{')) {
            let line: Value = serde_json::from_str(line).expect("JSON");
            let validator = self.validator(command);
            let wrong: Vec<_> = validator.iter_errors(&line).map(|it| it.to_string()).collect();
            assert!(wrong.is_empty(), "{args:?}: {wrong:#?}\n{line}");
            let is_report = line.get("outcome").is_some();
            let seen = self.seen.entry(if is_report { "input" } else { command }.to_owned());
            collect(&line, "", seen.or_default());
        }
    }
}

/// Collects the paths of all members of a value.
fn collect(value: &Value, path: &str, seen: &mut BTreeSet<String>) {
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                let path = format!("{path}.{name}");
                collect(value, &path, seen);
                seen.insert(path);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, path, seen)),
        _ => {}
    }
}

/// Collects the paths of all members that a schema names.
fn named(document: &Value, schema: &Value, path: &str, names: &mut BTreeSet<String>) {
    if let Some(target) = schema["$ref"].as_str() {
        let (file, place) = target.split_once('#').expect("a place");
        let document = if file.is_empty() { document } else { &document["$defs"][file] };
        named(document, document.pointer(place).expect("it is there"), path, names);
    }
    for (name, schema) in schema["properties"].as_object().into_iter().flatten() {
        let path = format!("{path}.{name}");
        named(document, schema, &path, names);
        names.insert(path);
    }
    for choice in schema["anyOf"].as_array().into_iter().flatten() {
        named(document, choice, path, names);
    }
    if schema["items"].is_object() {
        named(document, &schema["items"], path, names);
    }
}

fn text(path: &Path) -> String {
    path.to_str().expect("UTF-8").to_owned()
}

#[test]
fn every_line_of_every_command_fits_the_schema_and_every_member_occurs() {
    let home = home();
    let mut law = Law::new(schema(&home));
    for command in ["validate", "detect"] {
        law.run(&home, &[command, "-v", "data"]);
    }
    law.run(&home, &["inspect", "data/torn.jsonl"]);
    for input in common::own_inputs() {
        law.run(&home, &["inspect", "--turns", &text(&input)]);
    }
    law.run(&home, &["repair", "-n", "data"]);
    law.run(&home, &["repair", "--out-dir", "repaired", "data"]);
    let migrate = ["migrate", "--in-place", "--journal", "j", "--resume", "-v", "copy"];
    law.run(&home, &migrate);
    law.run(&home, &["undo", "j"]);
    law.run(&home, &migrate);
    let one = common::files(&home.path("project/copy/pi/v1"));
    let one = one.iter().find(|path| common::name(path).ends_with(".jsonl.bak")).expect("one");
    fs::write(one.with_extension(""), b"{}\n").expect("room");
    law.run(&home, &["clean", "j"]);
    law.run(&home, &["clean", "j"]);
    law.run(&home, &["undo", "-v", "j"]);
    for (to, more) in [("canonical", "--redact"), ("claude-code", "-v"), ("html", "-v")] {
        law.run(&home, &["convert", "-t", to, "--out-dir", to, more, "data"]);
    }
    law.run(&home, &["convert", "-t", "claude-code", "-o", "made.jsonl", "data/torn.jsonl"]);
    law.run(&home, &["inspect", "made.jsonl"]);
    for command in ["context", "show"] {
        law.run(&home, &[command, "data/torn.jsonl"]);
    }
    differences(&mut law, &home);
    named_sessions(&mut law, &home);
    for by in ["day", "month", "model", "project", "agent", "session"] {
        law.run(&home, &["usage", "--prices", "prices.json", "--by", by, "data"]);
    }
    law.run(&home, &["list", "data"]);
    onward(&mut law, &home);
    for command in ["formats", "explain", "config"] {
        law.run(&home, &[command]);
    }
    let commands = law.schema["$defs"].as_object().expect("definitions").keys();
    let commands = commands.filter(|name| !name.contains(['_', '.']));
    let (mut missing, mut reports) = (Vec::new(), BTreeSet::new());
    named(&law.schema, &law.schema["$defs"]["validate"], "", &mut reports);
    for command in commands {
        let of = if REPORTING.contains(&command.as_str()) { "input" } else { command };
        let mut names = BTreeSet::new();
        named(&law.schema, &law.schema["$defs"][command], "", &mut names);
        // The reports on the two sessions of `diff` are counted with those of other commands.
        let inputs = law.seen.get("input").expect("reports");
        let seen = law.seen.get(of).unwrap_or_else(|| panic!("{command} printed nothing"));
        let is_seen = |name: &&String| seen.contains(*name) || inputs.contains(*name);
        for name in names.iter().filter(|name| !is_seen(name)) {
            let of = if reports.contains(name) { "input" } else { of };
            missing.push(format!("{of}{name}"));
        }
    }
    missing.sort();
    missing.dedup();
    let rare: Vec<_> = RARE.iter().map(|(path, _)| (*path).to_owned()).collect();
    assert_eq!(missing, rare, "members that never occur");
}

fn differences(law: &mut Law, home: &Dir) {
    let pi = common::inputs_below(&testdata().join("pi/v3"));
    let yaml = common::inputs_below(&testdata().join("connectonion"));
    law.run(home, &["diff", &text(&pi[0]), &text(&pi[1])]);
    law.run(home, &["diff", "--by", "turn", "data/torn.jsonl", "data/torn.jsonl"]);
    let v1 = common::inputs_below(&testdata().join("pi/v1"));
    law.run(home, &["diff", &text(&v1[0]), "data/torn.jsonl"]);
    let edited =
        fs::read_to_string(&pi[0]).expect("UTF-8").replacen("\"text\":\"", "\"text\":\"+", 3);
    home.write("project/edited.jsonl", edited.as_bytes());
    law.run(home, &["diff", &text(&pi[0]), "edited.jsonl"]);
    for one in &yaml {
        law.run(home, &["diff", "--by", "turn", &text(one), &text(&pi[0])]);
        law.run(home, &["diff", "--by", "turn", &text(one), &text(one)]);
    }
}

fn named_sessions(law: &mut Law, home: &Dir) {
    let folders = common::session_folders();
    let metas = folders.iter().flat_map(|folder| common::all_files(folder)).collect::<Vec<_>>();
    for meta in metas.iter().filter(|path| common::name(path).ends_with(".meta.json")) {
        let name = common::name(meta).replace(".meta.json", "");
        let folder = text(meta.parent().expect("a folder"));
        law.run(home, &["list", "--sessions-dir", &folder]);
        for command in ["status", "result"] {
            law.run(home, &[command, "--sessions-dir", &folder, &name]);
            law.run(home, &[command, "--sessions-dir", &folder, "nobody"]);
        }
    }
}

/// Sessions that are continued in another agent, and moved.
fn onward(law: &mut Law, home: &Dir) {
    let session = common::own("pi/v3/everything");
    let folder = ".pi/agent/sessions/--srv-dev-brightwire--";
    let path = text(&home.write(&format!("{folder}/a.jsonl"), &session));
    home.write(".codex/config.toml", b"[projects.\"/srv/dev/brightwire\"]\n");
    law.run(home, &["continue", &path, "--in", "codex"]);
    law.run(home, &["continue", &path, "--in", "codex"]);
    law.run(home, &["continue", "-n", &path, "--in", "claude-code"]);
    fs::create_dir(home.path("project/new")).expect("a folder");
    let new = text(&home.path("project/new").canonicalize().expect("a folder"));
    law.run(home, &["move", "/srv/dev/brightwire", &new]);
}

#[test]
fn schema_all_writes_the_schemas_and_their_list() {
    let dir = Dir::new();
    let (code, said) = dir.said(&["schema", "--all", "new/schemas"]);
    assert!(code == 0 && said.contains("schemastore.json"), "{said}");
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas");
    let mut names = dir.names();
    names.retain(|name| name != "new/schemas/schemastore.json");
    assert_eq!(names.len(), common::all_files(&own).len());
    for name in &names {
        let below = name.strip_prefix("new/schemas/").expect("below");
        assert_eq!(common::read(&dir.path(name)), common::read(&own.join(below)), "{name}");
    }
    let list = common::read(&dir.path("new/schemas/schemastore.json"));
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("dist/schemastore.json");
    assert_eq!(
        String::from_utf8(list).ok(),
        fs::read_to_string(kept).ok(),
        "dist/schemastore.json"
    );
    assert_ne!(dir.said(&["schema", "--all", "new/schemas"]).0, 0);
    assert_eq!(dir.said(&["schema", "--all", "new/schemas", "--force"]).0, 0);
    assert_eq!(dir.said(&["schema"]).0, 2);
    let (code, said) = dir.said(&["schema", "reprot"]);
    assert!(code == 2 && said.contains("did you mean `report`?"), "{said}");
}

#[test]
fn the_schema_of_lines_promises_to_stay() {
    let home = Dir::new();
    home.write("project/x", b"");
    for name in ["json", "report"] {
        let text = run(&home, &["schema", name]).stdout;
        let schema: Value = serde_json::from_slice(&text).expect("JSON");
        let about = schema["description"].as_str().expect("text");
        assert!(about.contains("Within a major version"), "{name}: {about}");
    }
}
