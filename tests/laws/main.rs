//! The promises that hold for every format of the table and every file of our own.

#[path = "../common/mod.rs"]
mod common;
mod deeds;
mod drawn_words;
mod generated;
mod losses;
mod onward;
mod pairs;
mod spilled;
mod turns;
mod valid;
mod words;

use bytes::Bytes;
use common::{
    assert_same, converted, cuts, files, from_canonical, inputs_below, migrated, name, options,
    own_inputs, parts, read, recognise, returned, session, testdata, to_canonical, written_inputs,
};
use copyist::convert;
use copyist::diagnostic::{Code, FieldOutcome, Log};
use copyist::error::Error;
use copyist::format::{Cx, Format, OnError, Options, Parts, Target};
use copyist::formats::{FORMATS, Spec, canonical};
use copyist::ids::Choice;
use copyist::json::Json;
use copyist::memory::Buffer;
use copyist::migrate;
use copyist::position::{Located, Position};
use copyist::record::{
    BLOCKS, COMMON, Field, GROUPS, Kind, Node, Record, Shape, Value, block as blocks,
};
use proptest::prelude::*;
use std::io::Read;

fn keep() -> Options {
    options(OnError::Keep, Choice::Derived)
}

#[test]
fn every_format_has_versions_an_ending_and_testdata() {
    for format in FORMATS {
        assert!(!format.versions.is_empty(), "{}", format.name);
        assert!(!format.extensions.is_empty(), "{}", format.name);
        assert!(format.versions.iter().map(|v| v.number).is_sorted(), "{}", format.name);
        for step in format.steps {
            let known = |number| format.version(number).is_some();
            assert!(known(step.from) && known(step.to) && step.from < step.to, "{step:?}");
        }
        // The canonical stream's own testdata are the goldens of the others.
        if format.name != canonical::FORMAT.name {
            for version in format.versions {
                let folder = testdata().join(format!("{}/v{}", format.name, version.number));
                assert!(folder.is_dir(), "no testdata in {}", folder.display());
            }
        }
    }
}

#[test]
fn same_format_and_version_in_and_out_gives_the_same_bytes() {
    for file in own_inputs() {
        let source = session(&file);
        let (format, version) = recognise(&source).expect("a known format");
        let to = format.at(version);
        let (done, _) =
            converted(&source, format, version, &to, &options(OnError::Stop, Choice::Derived));
        assert_same(&done.expect("undamaged"), &source, &file.display().to_string());
    }
}

#[test]
fn through_the_canonical_stream_and_back_gives_the_same_bytes() {
    for file in written_inputs() {
        let source = session(&file);
        let (format, version) = recognise(&source).expect("a known format");
        assert_same(&returned(&source, &keep()), &source, &file.display().to_string());
        // Without the origin the data are equal, perhaps in another spelling.
        let stream = to_canonical(&source, &keep());
        let back = from_canonical(&stream, &format.at(version), &keep());
        let values = |stream: &[u8]| -> Vec<_> {
            let line = |line: &[u8]| Json::trusted(line.to_vec().into()).normal();
            stream.split(|b| *b == b'\n').map(line).collect()
        };
        let again = to_canonical(&back, &keep());
        assert_eq!(values(&again), values(&stream), "stream of {}", file.display());
    }
}

#[test]
fn identifiers_of_another_choice_do_not_matter_on_the_way_back() {
    for file in own_inputs() {
        let source = session(&file);
        let sequential = options(OnError::Keep, Choice::Sequential);
        assert_same(&returned(&source, &sequential), &source, &file.display().to_string());
    }
}

#[test]
fn migration_is_idempotent_and_changes_only_what_it_must() {
    for file in own_inputs() {
        let source = session(&file);
        let (format, version) = recognise(&source).expect("a known format");
        for target in format.versions.iter().filter(|target| target.number >= version) {
            let to = format.at(target.number);
            let (once, _) = migrated(&source, &to, &Options::default());
            let once = once.unwrap_or_else(|error| panic!("{} to {to}: {error}", file.display()));
            let (twice, _) = migrated(&once, &to, &Options::default());
            assert_same(&twice.expect("migrated"), &once, &format!("{} to {to}", file.display()));
            let stepwise = format.versions.iter().filter(|v| v.number <= target.number);
            let stepwise =
                stepwise.skip_while(|v| v.number < version).fold(source.clone(), |bytes, v| {
                    migrated(&bytes, &format.at(v.number), &Options::default()).0.expect("a step")
                });
            assert_same(&stepwise, &once, &format!("{} to {to} by steps", file.display()));
            if target.number == version {
                assert_same(&once, &source, &file.display().to_string());
            }
        }
    }
}

/// Gives a few bytes at a time.
struct Drip(Bytes, usize);

impl Read for Drip {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let n = self.1.min(into.len()).min(self.0.len());
        into[..n].copy_from_slice(&self.0.split_to(n));
        Ok(n)
    }
}

/// A session that does the same.
struct Dripping(copyist::memory::Bytes, usize);

impl Parts for Dripping {
    fn names(&self) -> Vec<String> {
        self.0.names()
    }

    fn open(&mut self, name: &str) -> Result<Box<dyn Read>, Error> {
        let mut bytes = Vec::new();
        self.0.open(name)?.read_to_end(&mut bytes).expect("in memory");
        Ok(Box::new(Drip(bytes.into(), self.1)))
    }

    fn keep(&mut self) -> Result<(), Error> {
        Ok(())
    }
}

/// The canonical stream of a session.
fn through(parts: &mut dyn Parts, format: &'static Format, cx: &Cx<'_>) -> Vec<u8> {
    let to = Spec::parse("canonical").expect("the stream");
    let mut out = Buffer::default();
    convert::run(format, 0, to, parts, &mut out, cx).expect("undamaged");
    out.main()
}

#[test]
fn the_size_of_reads_never_changes_the_output() {
    for file in own_inputs() {
        let source = session(&file);
        let (format, _) = recognise(&source).expect("a known format");
        let newest = format.versions.last().expect("a version").number;
        let (whole, _) = migrated(&source, &format.at(newest), &Options::default());
        for size in [1, 7, 4096] {
            let (options, log) = (Options::default(), Log::default());
            let cx = Cx { options: &options, log: &log };
            let mut out = Vec::new();
            if format.plane.is_none() {
                let stream = through(&mut Dripping(parts(&source), size), format, &cx);
                assert_same(&stream, &to_canonical(&source, &options), &file.display().to_string());
                continue;
            }
            let input = Box::new(Drip(Bytes::copy_from_slice(&source), size));
            migrate::run(format, input, &mut out, Target::Version(newest), &cx).expect("undamaged");
            assert_same(&out, whole.as_ref().expect("undamaged"), &file.display().to_string());
        }
    }
}

#[test]
fn damage_stops_a_migration_with_its_place() {
    let expected = [
        ("glued", Code::Glued, 7),
        ("invalid-utf8", Code::NotUtf8, 0),
        ("missing-header", Code::NoHeader, 1),
        ("not-an-object", Code::NotObject, 5),
        ("nul-run", Code::NulRun, 8),
        ("torn-tail", Code::CutShort, 9),
    ];
    for (case, code, line) in expected {
        let folder = testdata().join("damaged/pi").join(case).join("in");
        let source = read(&files(&folder)[0]);
        let error = migrated(&source, "pi@3", &Options::default()).0.expect_err(case);
        assert_eq!(error.code(), code, "{case}");
        let at = error.position().expect("a position");
        assert!(line == 0 || at.line == line, "{case}: line {}", at.line);
        let line_start = source[..at.byte as usize].iter().filter(|b| **b == b'\n').count() as u64;
        assert_eq!(line_start + 1, at.line, "{case}: byte and line disagree");
    }
}

#[test]
fn damaged_lines_that_are_kept_come_back() {
    for file in &inputs_below(&testdata().join("damaged")) {
        let source = session(file);
        let Some((format, version)) = recognise(&source) else {
            continue;
        };
        let (done, found) = converted(&source, format, version, "canonical", &keep());
        if done.is_err() {
            assert!(file.to_string_lossy().contains("missing-header"), "{}", file.display());
            continue;
        }
        assert!(!found.counts.is_empty(), "{} said nothing", file.display());
        assert_same(&returned(&source, &keep()), &source, &file.display().to_string());
    }
}

/// What is said of a file that was cut.
const CUT: &[Code] = &[
    Code::CutShort,
    Code::NotUtf8,
    Code::NoHeader,
    Code::YamlSyntax,
    Code::YamlCutShort,
    Code::Syntax,
    Code::NotObject,
];

/// Cut at every byte: nothing panics, and what is kept comes back.
#[test]
fn a_cut_at_any_byte_is_an_error_or_a_whole_file() {
    cut_all(5);
}

#[test]
#[ignore = "a minute: every byte"]
fn cuts_in_full() {
    cut_all(1);
}

/// Cuts every file at each byte whose number among all bytes is a multiple of `step`.
fn cut_all(step: usize) {
    for file in own_inputs().iter().filter(|file| read(file).len() < 16_000) {
        let source = session(file);
        let header = source.iter().position(|b| *b == b'\n').unwrap_or(0);
        let long = source.len() > 4_000;
        for (n, (cut, torn)) in cuts(&source).step_by(step).enumerate() {
            let torn = torn.as_slice();
            let (format, version) = match recognise(torn) {
                // Records cost more than lines; in a long file some of the places meet as much.
                Some((format, _)) if long && format.plane.is_none() && n % 13 != 0 => continue,
                Some(found) => found,
                None => continue,
            };
            let stopped = migrated(torn, &format.at(version), &Options::default()).0;
            match &stopped {
                Ok(out) => assert_same(out, torn, &format!("{} cut at {cut}", file.display())),
                Err(error) => {
                    assert!(CUT.contains(&error.code()), "{} cut at {cut}: {error}", file.display())
                }
            }
            // Often enough to meet every kind of line, seldom enough to take no minute.
            if n % 13 == 0 && format.plane.is_none() {
                drop(converted(torn, format, version, "canonical", &keep()));
            } else if cut > header + 3 && n % 13 == 0 {
                let back = returned(torn, &keep());
                assert_same(&back, torn, &format!("{} cut at {cut}", file.display()));
            }
        }
    }
}

#[test]
fn a_downgrade_reports_what_the_older_version_cannot_hold() {
    let plain = || Options { origin: false, ..keep() };
    let mut tried = 0;
    for file in own_inputs() {
        let source = session(&file);
        let (format, version) = recognise(&source).expect("a known format");
        for older in format.versions.iter().filter(|older| older.number < version) {
            let to = format.at(older.number);
            let (done, found) = converted(&source, format, version, &to, &plain());
            let out = done.unwrap_or_else(|error| panic!("{} to {to}: {error}", file.display()));
            // What tells the versions of some formats apart is not in every session.
            let told = recognise(&out).map(|(_, version)| version);
            let same = told == Some(older.number) || format.settle.is_some();
            assert!(same, "{}: {told:?}", file.display());
            tried += 1;
            if format.plane.is_none() {
                continue;
            }
            let lines =
                |bytes: &[u8]| bytes.split(|b| *b == b'\n').filter(|l| !l.is_empty()).count();
            let records = |path: &str| !path.contains('.');
            let lost: u64 = found
                .losses
                .iter()
                .filter(|((fate, path), _)| *fate == FieldOutcome::Dropped && records(path))
                .map(|(_, n)| n)
                .sum();
            assert_eq!(lines(&out) as u64 + lost, lines(&source) as u64, "{} to {to}", name(&file));
            if !older.tree {
                assert!(found.losses.contains_key(&(FieldOutcome::Dropped, "message.id".into())));
            }
        }
    }
    assert!(tried > 5);
}

// Generated records: whatever the model can hold, the stream gives back.

fn json_text() -> impl Strategy<Value = Json> {
    prop_oneof![
        any::<String>().prop_map(|text| Json::string(&text)),
        Just(Json::constant("\"\\ud83d\"")),
        Just(Json::constant("\"\\u00e9\\/\u{2028}\"")),
    ]
}

fn json_of(shape: Shape) -> BoxedStrategy<Json> {
    match shape {
        Shape::Text => json_text().boxed(),
        Shape::TextOrNull | Shape::Content => {
            prop_oneof![json_text(), Just(Json::constant("null"))].boxed()
        }
        Shape::Number => prop_oneof![
            Just(Json::constant("1.50")),
            Just(Json::constant("12345678901234567890123")),
            any::<u64>().prop_map(Json::number),
        ]
        .boxed(),
        Shape::Bool => {
            any::<bool>().prop_map(|b| Json::constant(if b { "true" } else { "false" })).boxed()
        }
        Shape::Object => Just(Json::constant("{\"2\":1,\"10\":[],\"dup\":1,\"dup\":2}")).boxed(),
        Shape::Array => Just(Json::constant("[ 1 , {\"a\":null} ]")).boxed(),
        _ => prop_oneof![Just(Json::constant("null")), Just(Json::constant("-0.0")), json_text()]
            .boxed(),
    }
}

fn node_of(fields: Vec<Field>, depth: u32) -> BoxedStrategy<Node> {
    let values: Vec<_> = fields
        .into_iter()
        .map(|field| {
            proptest::option::weighted(0.4, value_of(field, depth)).prop_map(move |v| (field, v))
        })
        .collect();
    values
        .prop_map(|values| {
            let mut node = Node::default();
            for (field, value) in values {
                if let Some(value) = value {
                    node.set(field, value);
                }
            }
            node
        })
        .boxed()
}

fn value_of(field: Field, depth: u32) -> BoxedStrategy<Value> {
    let shape = field.shape();
    match shape {
        Shape::Node | Shape::NodeOrNull if depth > 0 => {
            let fields = GROUPS.iter().find(|(group, _)| *group == field);
            let fields = fields.unwrap_or_else(|| panic!("{field:?} has no group")).1.to_vec();
            node_of(fields, depth - 1).prop_map(Value::Node).boxed()
        }
        Shape::Node | Shape::NodeOrNull => Just(Value::Node(Node::default())).boxed(),
        Shape::Content if depth > 0 => prop_oneof![
            json_of(shape).prop_map(Value::Json),
            proptest::collection::vec(block(depth - 1), 0..3).prop_map(Value::Nodes),
        ]
        .boxed(),
        _ => json_of(shape).prop_map(Value::Json).boxed(),
    }
}

fn block(depth: u32) -> BoxedStrategy<Node> {
    proptest::sample::select(BLOCKS)
        .prop_flat_map(move |(name, fields)| {
            node_of(fields.to_vec(), depth).prop_map(move |mut node| {
                node.set(Field::Type, Json::string(name));
                if name == blocks::OPAQUE && node.get(Field::Data).is_none() {
                    node.set(Field::Data, Json::constant("null"));
                }
                node
            })
        })
        .boxed()
}

/// Leaves a message with the result of a tool nothing else, as the stream asks for it.
fn alone(message: &mut Node) {
    let Some(Value::Nodes(content)) = message.get_mut(Field::Content) else { return };
    let is_result = |block: &Node| block.is(Field::Type, blocks::TOOL_RESULT);
    if let Some(at) = content.iter().position(is_result) {
        *content = vec![content.swap_remove(at)];
        message.set(Field::Role, Json::string("tool"));
    }
}

fn record() -> impl Strategy<Value = Record> {
    proptest::sample::select(Kind::ALL).prop_flat_map(|kind| {
        let fields = [COMMON, kind.fields()].concat();
        node_of(fields, 2).prop_map(move |mut node| {
            if kind == Kind::Message {
                if node.get(Field::Role).is_none() {
                    node.set(Field::Role, Json::string("user"));
                }
                alone(&mut node);
            }
            Record { kind, node }
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn whatever_the_model_holds_the_stream_gives_back(
        mut records in proptest::collection::vec(record(), 1..6)
    ) {
        // The session's record comes first.
        records.insert(0, Record::new(Kind::Session));
        let (options, log) = (Options::default(), Log::default());
        let cx = Cx { options: &options, log: &log };
        let mut buffer = Buffer::default();
        let mut writer =
            (canonical::FORMAT.write)(&mut buffer, &canonical::FORMAT.versions[0], &cx).unwrap();
        for value in &records {
            writer.record(&Located { value: value.clone(), at: Position::default() }).unwrap();
        }
        writer.finish().unwrap();
        let mut parts = copyist::memory::Bytes::new(buffer.main());
        let read: Vec<Record> = (canonical::FORMAT.read)(&mut parts, &cx)
            .unwrap()
            .map(|item| item.unwrap().value)
            .collect();
        prop_assert_eq!(read, records);
    }

    #[test]
    fn no_text_makes_a_reader_panic(text in "[\\x00-\\x7f]{0,200}", cut in 0usize..400) {
        let start = br#"{"type":"session","version":3,"id":"s","timestamp":"t","cwd":"/w"}"#;
        let mut bytes = [start.as_slice(), b"\n", text.as_bytes()].concat();
        bytes.truncate(cut.max(1));
        for format in FORMATS {
            let newest = format.versions[format.versions.len() - 1].number;
            let _ = converted(&bytes, format, newest, "canonical", &keep());
            let _ = migrated(&bytes, &format.at(newest), &keep());
        }
        let _ = Json::trusted(Bytes::new());
    }
}
