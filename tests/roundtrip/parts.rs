//! Parts of messages that not every format knows, or that are spelled in another way.

use crate::common::{self, alone, assert_same, converted, options, own, recognise, several};
use copyist::diagnostic::{FieldOutcome, Findings};
use copyist::format::{OnError, Options};
use copyist::ids::Choice;

/// Images as the interface of OpenAI has them, in every way that one can be spelled.
const SPELLED: &[&str] = &[
    r#"{"type": "image_url", "image_url": {"url": "data:image/png;base64,aGVsbG8="}}"#,
    r#"{"type": "image_url", "image_url": {"url": "data:image/png;base64,aGVsbG8=", "detail": "high"}}"#,
    r#"{"image_url": {"detail": "high", "url": "data:image/png;base64,aGVsbG8="}, "type": "image_url"}"#,
    r#"{"type": "image_url", "image_url": {"url": "data:image\/png;base64,aGVsbG8="}, "cache_control": {"type": "x"}}"#,
];
/// Parts that are no block of the model.
const STRANGE: &[&str] = &[
    r#"{"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}"#,
    r#"{"type": "image_url", "image_url": {"url": "data:image/png;base64,aGVsbG8=", "url": "x"}}"#,
    r#"{"type": "input_audio", "input_audio": {"data": "aGVsbG8=", "format": "wav"}}"#,
    r#"{"type": "hologram", "of": "a tide"}"#,
];
/// The same as the provider of the SDK has them.
const GIVEN: &[&str] = &[
    r#"{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGVsbG8="}}"#,
    r#"{"source": {"data": "aGVsbG8=", "media_type": "image/png", "type": "base64"}, "type": "image"}"#,
    r#"{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGVsbG8=", "detail": 1}}"#,
];
const FOREIGN: &[&str] = &[
    r#"{"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}}"#,
    r#"{"type": "server_tool_use", "id": "s", "name": "search", "input": {}}"#,
];

/// A run of ConnectOnion, and a log of Claude's SDK, that say one part more.
fn sources(part: &str) -> Vec<Vec<u8>> {
    if part.contains("\"source\"") || part.contains("server_tool") {
        let log = String::from_utf8(own("agent-orchestrator/v2/orchard")).expect("UTF-8");
        let line = format!("{{\"content\": [{part}], \"parent_tool_use_id\": null}}\n");
        let (first, rest) = log.split_once('\n').expect("lines");
        let meta = common::files(&common::testdata().join("agent-orchestrator/v2/orchard/in"));
        let log = format!("{first}\n{line}{rest}").into_bytes();
        let meta = (".meta.json".to_owned(), common::read(&meta[1]));
        return vec![several(vec![(String::new(), log), meta])];
    }
    let run = String::from_utf8(own("connectonion/v3/tides")).expect("UTF-8");
    let asked = "\"content\": \"When is high water at Brouwershaven tomorrow?\"";
    let said = format!("\"content\": [{{\"type\": \"text\", \"text\": \"And this?\"}}, {part}]");
    assert!(run.contains(asked));
    vec![run.replace(asked, &said).into_bytes()]
}

fn to(source: &[u8], target: &str, origin: bool) -> (Vec<u8>, Findings) {
    let (format, version) = recognise(source).expect("a known format");
    let options = Options { origin, ..options(OnError::Stop, Choice::Derived) };
    let (done, findings) = converted(source, format, version, target, &options);
    (done.unwrap_or_else(|error| panic!("{target}: {error}")), findings)
}

const TARGETS: [&str; 6] =
    ["pi@3", "pi@1", "connectonion@2", "connectonion@3", "agent-orchestrator@2", "codelia@1"];

#[test]
fn parts_come_home_from_every_format() {
    for part in [SPELLED, STRANGE, GIVEN, FOREIGN].concat() {
        for source in sources(part) {
            let (format, version) = recognise(&source).expect("a known format");
            let home = format.at(version);
            for target in TARGETS {
                let (away, _) = to(&source, target, true);
                assert_same(&to(&away, &home, true).0, &source, &format!("{part} by {target}"));
            }
            let options = options(OnError::Stop, Choice::Derived);
            assert_same(&common::returned(&source, &options), &source, part);
        }
    }
}

#[test]
fn an_image_is_one_however_it_is_spelled() {
    let image = r#"{"type":"image","data":"aGVsbG8=","mimeType":"image/png"}"#;
    for part in [SPELLED, GIVEN].concat() {
        for source in sources(part) {
            for origin in [true, false] {
                let out = String::from_utf8(alone(&to(&source, "pi@3", origin).0)).expect("UTF-8");
                assert!(out.contains(image), "{part}: {out}");
            }
            let out = String::from_utf8(to(&source, "codelia@1", false).0).expect("UTF-8");
            assert!(out.contains("data:image/png;base64,aGVsbG8="), "{part}: {out}");
            // How closely it is looked at is a matter of the interface, not of one program.
            assert_eq!(out.contains("\"detail\":\"high\""), part.contains("high"), "{out}");
        }
    }
}

#[test]
fn a_part_that_the_target_does_not_know_is_described_and_reported_as_lost() {
    // Codelia speaks the same interface, and knows images by their place in the web.
    let known =
        |target: &str, part: &str| target.starts_with("codelia") && part.contains("\"image_url\"");
    for part in [STRANGE, FOREIGN].concat() {
        for source in sources(part) {
            let home = recognise(&source).expect("a known format").0.name;
            for target in TARGETS.into_iter().filter(|target| !target.starts_with(home)) {
                let (out, findings) = to(&source, target, false);
                let out = String::from_utf8(out).expect("UTF-8");
                let tight = |text: &str| text.replace([' ', '\\'], "");
                let shown = tight(&out).contains(&tight(part));
                let mut fates = findings.losses.keys();
                let lost = fates
                    .any(|(fate, path)| *fate == FieldOutcome::Dropped && path.contains("opaque"));
                assert_eq!(
                    (shown, lost),
                    (known(target, part), !known(target, part)),
                    "{target}: {part}: {out}"
                );
                if part.contains("https") && !shown {
                    assert!(out.contains("[image: https://example.org/a.png"), "{target}: {out}");
                }
            }
        }
    }
}

/// What a model calls a tool with may be anything; interfaces want an object.
#[test]
fn arguments_are_an_object_where_that_is_wanted() {
    let said = r#""arguments": "{\"port\": \"Brouwershaven\", \"day\": \"2026-03-09\"}""#;
    let run = String::from_utf8(own("connectonion/v3/tides")).expect("UTF-8");
    assert!(run.contains(said));
    for (given, wanted, strange) in [
        (r#""{not json""#, r#"{"arguments":"{not json"}"#, true),
        (r#""[1]""#, r#"{"arguments":[1]}"#, true),
        (r#""""#, "{}", false),
        (r#""null""#, "{}", false),
        (r#""{\"a\": 1}""#, r#"{"a":1}"#, false),
    ] {
        let source = run.replacen(said, &format!("\"arguments\": {given}"), 1).into_bytes();
        for (target, key) in
            [("pi@3", "arguments"), ("pi@1", "arguments"), ("agent-orchestrator@2", "input")]
        {
            let (away, findings) = to(&source, target, true);
            let tight = String::from_utf8(alone(&away)).expect("UTF-8").replace(": ", ":");
            assert!(tight.contains(&format!("\"{key}\":{wanted}")), "{target}: {given}: {tight}");
            let told = findings.losses.keys().any(|(_, path)| path.ends_with("arguments"));
            assert_eq!(told, strange, "{target}: {given}: {:?}", findings.losses);
            assert_same(
                &to(&away, "connectonion@3", true).0,
                &source,
                &format!("{given} by {target}"),
            );
        }
    }
}
