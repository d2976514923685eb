//! Findings of `validate` as SARIF.

use crate::common::{Dir, own, read};
use copyist::diagnostic::Code;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// The log that `validate --sarif` prints, and the exit code.
fn log(dir: &Dir, args: &[&str]) -> (i32, Value) {
    let done = dir.run(&[&["validate", "--sarif"], args].concat());
    assert!(done.stderr.is_empty(), "{}", String::from_utf8_lossy(&done.stderr));
    let log = serde_json::from_slice(&done.stdout).expect("JSON");
    (done.status.code().expect("a code"), log)
}

/// Folder of sessions that are damaged in several ways.
fn damaged() -> Dir {
    let dir = Dir::new();
    let lines = [own("pi/v3/everything"), b"{\"type\":\n\xff\n{}{}\n".to_vec()].concat();
    dir.write("in/a b/\u{e4}.jsonl", &lines);
    dir.copy("pi/v3/everything", "in/good.jsonl");
    dir.write("in/empty.jsonl", b"");
    dir
}

fn members(value: &Value) -> BTreeSet<&str> {
    value.as_object().expect("an object").keys().map(String::as_str).collect()
}

fn assert_members(value: &Value, required: &[&str], optional: &[&str]) {
    let members = members(value);
    required.iter().for_each(|name| assert!(members.contains(name), "{name}: {value}"));
    let known: BTreeSet<_> = required.iter().chain(optional).copied().collect();
    assert!(members.is_subset(&known), "{value}");
}

/// Checks the structure that the schema of SARIF 2.1.0 demands of what copyist writes.
fn assert_sarif(log: &Value) {
    assert_members(log, &["version", "runs"], &["$schema"]);
    assert_eq!(log["version"], "2.1.0");
    let [run] = log["runs"].as_array().expect("runs").as_slice() else { panic!("one run") };
    assert_members(run, &["tool"], &["results", "columnKind", "originalUriBaseIds", "invocations"]);
    assert_eq!(run["columnKind"], "unicodeCodePoints");
    let driver = &run["tool"]["driver"];
    assert_members(driver, &["name"], &["version", "semanticVersion", "rules"]);
    let levels = ["note", "warning", "error"];
    let mut rules = BTreeSet::new();
    for rule in driver["rules"].as_array().expect("rules") {
        let texts = ["shortDescription", "fullDescription", "help"];
        assert_members(rule, &["id"], &[&["name", "defaultConfiguration"], &texts[..]].concat());
        let code = Code::named(rule["id"].as_str().expect("text")).expect("a code");
        assert_eq!(rule["help"]["text"], code.explanation());
        texts.iter().for_each(|text| assert_members(&rule[text], &["text"], &[]));
        let level = rule["defaultConfiguration"]["level"].as_str().expect("a level");
        assert!(levels.contains(&level), "{rule}");
        assert!(rules.insert(code.name()), "{rule}");
    }
    for result in run["results"].as_array().expect("results") {
        assert_members(result, &["message"], &["ruleId", "level", "locations"]);
        assert!(rules.contains(result["ruleId"].as_str().expect("text")), "{result}");
        assert!(levels.contains(&result["level"].as_str().expect("text")), "{result}");
        assert!(!result["message"]["text"].as_str().expect("text").is_empty());
        let place = &result["locations"][0]["physicalLocation"];
        assert_members(place, &["artifactLocation"], &["region"]);
        let artifact = &place["artifactLocation"];
        assert_members(artifact, &[], &["uri", "uriBaseId", "description"]);
        if let Some(uri) = artifact["uri"].as_str() {
            assert!(uri.is_ascii() && !uri.contains([' ', '\\']), "{uri}");
        }
        let Some(region) = place.get("region") else { continue };
        assert_members(region, &["startLine"], &["startColumn", "byteOffset", "byteLength"]);
        for (name, least) in [("startLine", 1), ("startColumn", 1), ("byteOffset", 0)] {
            let value = region.get(name).map_or(least, |it| it.as_u64().expect("a number"));
            assert!(value >= least, "{region}");
        }
    }
    let invocation = &run["invocations"][0];
    assert_members(invocation, &["executionSuccessful"], &["toolExecutionNotifications"]);
}

#[test]
fn sarif_has_every_finding_with_its_rule_and_region() {
    let dir = damaged();
    let (code, log) = log(&dir, &["in"]);
    assert_eq!(code, 1);
    assert_sarif(&log);
    let results = log["runs"][0]["results"].as_array().expect("results");
    let lines = dir.run(&["validate", "--json", "in"]).stdout;
    let lines = String::from_utf8(lines).expect("UTF-8");
    let told: Vec<(Value, Value, Value)> = lines
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON"))
        .flat_map(|line| line["diagnostics"].as_array().expect("findings").clone())
        .map(|it| (it["code"].clone(), it["severity"].clone(), it["message"].clone()))
        .collect();
    let shown =
        |it: &Value| (it["ruleId"].clone(), it["level"].clone(), it["message"]["text"].clone());
    assert_eq!(results.iter().map(shown).collect::<Vec<_>>(), told);
    let text = read(&dir.path("in/a b/\u{e4}.jsonl"));
    for (code, piece) in [(Code::CutShort, &b"{\"type\":\n"[..]), (Code::NotUtf8, b"\xff\n")] {
        let is = |it: &&Value| it["ruleId"] == code.name();
        let place = &results.iter().find(is).expect("it is there")["locations"][0];
        let place = &place["physicalLocation"];
        assert_eq!(
            place["artifactLocation"],
            json!({"uri": "in/a%20b/%C3%A4.jsonl", "uriBaseId": "%SRCROOT%"})
        );
        let region = &place["region"];
        let number = |name: &str| region[name].as_u64().expect("a number") as usize;
        let start = text.windows(piece.len()).position(|it| it == piece).expect("it is there");
        let line = text[..start].iter().filter(|byte| **byte == b'\n').count() + 1;
        assert_eq!(number("startLine"), line);
        let offset = number("byteOffset");
        assert!((start..start + piece.len()).contains(&offset), "{region}");
        assert_eq!(number("startColumn"), offset - start + 1);
        assert_eq!(offset + number("byteLength"), start + piece.len() - 1);
    }
}

#[test]
fn sarif_without_findings_and_of_standard_input_is_complete() {
    let dir = damaged();
    let (code, good) = log(&dir, &["in/good.jsonl"]);
    assert_sarif(&good);
    assert_eq!((code, &good["runs"][0]["results"]), (0, &json!([])));
    assert_eq!(good["runs"][0]["invocations"][0]["executionSuccessful"], true);
    let (code, none) = log(&dir, &["nowhere"]);
    assert_sarif(&none);
    assert!(code == 3 && none["runs"][0]["results"][0]["ruleId"] == "CY0705", "{none}");
}

#[test]
fn sarif_reports_how_many_findings_are_only_counted() {
    let dir = Dir::new();
    let lines = "{\"type\":\"message\",\"id\":7}\n".repeat(5);
    dir.write("a.jsonl", &[own("pi/v3/everything"), lines.into_bytes()].concat());
    let (_, log) = log(&dir, &["--max-errors", "2", "a.jsonl"]);
    assert_sarif(&log);
    let run = &log["runs"][0];
    let is = |it: &&Value| it["ruleId"] == "CY0406";
    assert_eq!(run["results"].as_array().expect("results").iter().filter(is).count(), 2);
    let text = run["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"].as_str();
    assert!(text.expect("text").ends_with("further findings of CY0406 are only counted"), "{run}");
}
