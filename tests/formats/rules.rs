//! The rules that decide quickly about most records, held against the validator of the schema.

use crate::common::{converted, files_of, own_inputs, parts, recognise, session};
use copyist::diagnostic::Log;
use copyist::format::{Cx, Format, OnError, Options};
use copyist::formats::FORMATS;
use copyist::validate::Schema;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::ops::ControlFlow;

/// Maximum number of pieces of a session that are changed, and of changes of each.
const CHANGED: (usize, usize) = (12, 400);

/// Returns pointers to the values in a value.
fn places(value: &Value, at: &str, found: &mut Vec<String>) {
    let escaped = |name: &str| name.replace('~', "~0").replace('/', "~1");
    match value {
        Value::Object(members) => members.iter().for_each(|(name, inner)| {
            found.push(format!("{at}/{}", escaped(name)));
            places(inner, &format!("{at}/{}", escaped(name)), found);
        }),
        Value::Array(elements) => elements.iter().enumerate().for_each(|(number, inner)| {
            found.push(format!("{at}/{number}"));
            places(inner, &format!("{at}/{number}"), found);
        }),
        _ => {}
    }
}

/// Returns a value with each value in it replaced by others, and without each of its members.
fn changes(value: &Value) -> Vec<Value> {
    let mut found = Vec::new();
    places(value, "", &mut found);
    let other = [
        json!(null),
        json!(7),
        json!(1.0),
        json!("x"),
        json!(""),
        json!([]),
        json!({}),
        json!(true),
    ];
    let mut all = vec![value.clone()];
    for place in found {
        for other in &other {
            let mut changed = value.clone();
            changed.pointer_mut(&place).into_iter().for_each(|inner| *inner = other.clone());
            all.push(changed);
        }
        let (parent, name) = place.rsplit_once('/').expect("a pointer");
        let mut changed = value.clone();
        if let Some(Value::Object(members)) = changed.pointer_mut(parent) {
            members.remove(&name.replace("~1", "/").replace("~0", "~"));
            all.push(changed);
        }
    }
    all.truncate(CHANGED.1);
    all
}

/// Returns the pieces of a session that its schema describes.
fn pieces(format: &Format, source: &[u8]) -> Vec<String> {
    let Some(of) = format.pieces else {
        let main = files_of(source).into_iter().map(|(_, bytes)| bytes).next();
        let main = String::from_utf8_lossy(&main.unwrap_or_default()).into_owned();
        return main.lines().map(str::to_owned).collect();
    };
    let options = Options { on_error: OnError::Keep, ..Options::default() };
    let (mut pieces, log) = (Vec::new(), Log::default());
    let done = of(&mut parts(source), &Cx { options: &options, log: &log }, &mut |_, piece| {
        pieces.push(String::from_utf8_lossy(piece).into_owned());
        ControlFlow::Continue(())
    });
    done.map(|()| pieces).expect("a session")
}

/// A schema, and how many pieces were decided, and how many not.
struct Compared {
    schema: Schema,
    decided: usize,
    open: usize,
}

impl Compared {
    /// Compares the rules with the validator.
    fn piece(&mut self, piece: &str) {
        let Ok(value) = serde_json::from_str::<Value>(piece) else { return };
        let expected = self.schema.validator().expect("a schema").is_valid(&value);
        match self.schema.quickly(piece.as_bytes()) {
            Some(found) => {
                assert_eq!(found, expected, "{piece}");
                self.decided += 1;
            }
            None => self.open += 1,
        }
    }
}

#[test]
fn rules_decide_as_the_validator_does() {
    let options = Options { on_error: OnError::Keep, ..Options::default() };
    let own = || own_inputs().into_iter().map(|file| session(&file));
    let streams = own().filter_map(|source| {
        let (format, version) = recognise(&source)?;
        converted(&source, format, version, "canonical", &options).0.ok()
    });
    let mut all = BTreeMap::<String, Compared>::new();
    for source in own().chain(streams) {
        let Some((format, version)) = recognise(&source) else { continue };
        let Some(version) = format.version(version) else { continue };
        let compared = all.entry(format.at(version.number)).or_insert_with(|| {
            let schema = Schema::of(version).expect("a schema");
            Compared { schema, decided: 0, open: 0 }
        });
        let (pieces, open) = (pieces(format, &source), compared.open);
        pieces.iter().for_each(|piece| compared.piece(piece));
        // Of real records, the header of an old file is left to the validator.
        let (left, name) = (compared.open - open, format.at(version.number));
        assert!(left <= 1, "{name}: {left} of {}", pieces.len());
        let step = pieces.len().div_ceil(CHANGED.0).max(1);
        for piece in pieces.iter().step_by(step) {
            let Ok(value) = serde_json::from_str::<Value>(piece) else { continue };
            changes(&value).iter().for_each(|value| compared.piece(&value.to_string()));
        }
    }
    for (name, Compared { decided, open, .. }) in &all {
        println!("{name}: {decided} decided, {open} not");
        assert!(*decided > 100, "{name}: {decided}");
    }
    let versions: usize = FORMATS.iter().map(|format| format.versions.len()).sum();
    assert_eq!(all.len(), versions);
}

#[test]
fn members_of_one_name_and_numbers_of_another_spelling_are_for_the_validator() {
    let of = |name: &str| {
        let spec = copyist::formats::Spec::parse(name).expect("a format");
        Schema::of(spec.version()).expect("a schema")
    };
    let schema = of("pi@3");
    let twice = r#"{"type":"label","id":"b","id":7,"parentId":"a","timestamp":"t","targetId":"a"}"#;
    assert_ne!(schema.quickly(twice.as_bytes()), Some(true));
    let escaped = r#"{"\u0074ype":"label","id":7}"#;
    assert_eq!(schema.quickly(escaped.as_bytes()), Some(false));
    let spelled = r#"{"type":"session","version":3.0,"id":"s","timestamp":"t","cwd":"/w"}"#;
    assert_eq!(schema.quickly(spelled.as_bytes()), None);
    for torn in ["{\"type\":", "{\"type\":\"label\"} {}", "", "\u{1}"] {
        assert_eq!(schema.quickly(torn.as_bytes()), None, "{torn}");
    }
}
