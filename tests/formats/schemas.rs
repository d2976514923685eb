//! The schemas, held against the tables, the strict reader and the corpus.

use copyist::diagnostic::{Code, Log};
use copyist::error::Error;
use copyist::format::{Cx, Format, Options, Version};
use copyist::formats::{FORMATS, Spec, canonical, pi};
use copyist::memory::{Buffer, Bytes};
use copyist::record::{BLOCKS, COMMON, Field, GROUPS, Kind, Shape, block};
use copyist::validate::{self, Schema};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

static CANONICAL: &Version = &canonical::FORMAT.versions[0];

static SCHEMA: LazyLock<Value> =
    LazyLock::new(|| serde_json::from_str(CANONICAL.schema).expect("the schema is JSON"));

static VALIDATOR: LazyLock<Schema> =
    LazyLock::new(|| Schema::of(CANONICAL).expect("the schema is JSON"));

// The schema and the tables.

#[test]
fn every_schema_compiles() {
    for format in FORMATS {
        for version in format.versions {
            let schema = Schema::of(version).expect("the schema is JSON");
            if let Err(error) = schema.validator() {
                panic!("{}: {error}", format.at(version.number));
            }
        }
    }
}

#[test]
fn every_schema_and_every_member_of_it_is_described() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas");
    let mut addresses = BTreeSet::new();
    for file in walkdir::WalkDir::new(&folder).into_iter().map(|file| file.expect("readable")) {
        if file.file_type().is_dir() {
            continue;
        }
        let text = std::fs::read_to_string(file.path()).expect("UTF-8");
        let schema: Value = serde_json::from_str(&text).expect("JSON");
        let below = file.path().strip_prefix(&folder).expect("below").display().to_string();
        for member in ["title", "description"] {
            assert!(schema[member].is_string(), "{below}: {member}");
        }
        assert_eq!(schema["$id"], format!("https://copyist.dev/schemas/{below}"));
        assert!(addresses.insert(schema["title"].to_string()), "{below}: the title of another");
        let mut missing = Vec::new();
        undescribed(&schema, &schema, &BTreeSet::new(), "", &mut missing);
        for (name, definition) in schema["$defs"].as_object().into_iter().flatten() {
            undescribed(&schema, definition, &BTreeSet::new(), name, &mut missing);
        }
        assert!(missing.is_empty(), "{below}: {missing:?}");
    }
}

/// Collects the members that neither have a description nor refer to one. Members that an
/// enclosing schema describes, by the names in `known`, may be described by it alone.
fn undescribed(
    document: &Value,
    schema: &Value,
    known: &BTreeSet<String>,
    path: &str,
    missing: &mut Vec<String>,
) {
    if !schema.is_object() {
        return;
    }
    let mut known = known.clone();
    for (name, member) in schema["properties"].as_object().into_iter().flatten() {
        let path = format!("{path}.{name}");
        if !known.contains(name) && *member != json!(false) && !is_described(document, member) {
            missing.push(path.clone());
        }
        undescribed(document, member, &BTreeSet::new(), &path, missing);
        known.insert(name.clone());
    }
    for key in ["allOf", "anyOf", "oneOf"] {
        for choice in schema[key].as_array().into_iter().flatten() {
            undescribed(document, choice, &known, path, missing);
        }
    }
    for key in ["then", "else"] {
        undescribed(document, &schema[key], &known, path, missing);
    }
    undescribed(document, &schema["items"], &BTreeSet::new(), path, missing);
}

fn is_described(document: &Value, schema: &Value) -> bool {
    let target = || schema["$ref"].as_str()?.strip_prefix('#').and_then(|at| document.pointer(at));
    schema["description"].is_string() || target().is_some_and(|it| is_described(document, it))
}

#[test]
fn the_definitions_are_those_of_the_tables() {
    let found: BTreeSet<_> = object(&SCHEMA["$defs"], "$defs").keys().cloned().collect();
    let kinds = Kind::ALL.iter().map(|kind| format!("kind_{}", kind.name()));
    let fields = Field::ALL.iter().map(|field| field_definition(*field));
    let groups = GROUPS.iter().map(|(group, _)| format!("group_{}", group.name()));
    let blocks = BLOCKS.iter().map(|(block, _)| format!("block_{block}"));
    let named = kinds.chain(fields).chain(groups).chain(blocks);
    let expected: BTreeSet<_> = named.chain(["block".to_owned()]).collect();
    assert_same("definitions", &found, &expected);
}

#[test]
fn kinds_are_those_of_the_table() {
    let names: Vec<_> = Kind::ALL.iter().map(|kind| kind.name()).collect();
    assert_chooses(&SCHEMA, "kind", "kind", &names);
    for kind in Kind::ALL {
        let fields = [COMMON, kind.fields()].concat();
        assert_members("kind", kind.name(), Some("kind"), &fields);
    }
}

#[test]
fn groups_are_those_of_the_table() {
    for (group, fields) in GROUPS {
        assert_members("group", group.name(), None, fields);
    }
}

#[test]
fn blocks_are_those_of_the_table() {
    let names: Vec<_> = BLOCKS.iter().map(|(block, _)| *block).collect();
    assert_eq!(names, block::ALL, "the two lists of blocks");
    assert_chooses(definition("block"), "block", "type", &names);
    for (block, fields) in BLOCKS {
        assert_members("block", block, Some("type"), fields);
    }
}

#[test]
fn fields_have_the_shapes_of_the_table() {
    for field in Field::ALL {
        let name = field.name();
        let found = definition(&field_definition(*field));
        let shape = field.shape();
        assert_eq!(found["type"], types(shape), "field `{name}`: type of {shape:?}");
        let group = matches!(shape, Shape::Node | Shape::NodeOrNull);
        let group = if group { json!(format!("#/$defs/group_{name}")) } else { Value::Null };
        assert_eq!(found["$ref"], group, "field `{name}`: group of {shape:?}");
        let items = if shape == Shape::Content { refers_to("block") } else { Value::Null };
        assert_eq!(found["items"], items, "field `{name}`: items of {shape:?}");
        assert!(found["description"].is_string(), "field `{name}` has no description");
    }
}

/// The keyword `type` for a shape; null where there is none.
fn types(shape: Shape) -> Value {
    match shape {
        Shape::Text => json!("string"),
        Shape::TextOrNull => json!(["string", "null"]),
        Shape::Number => json!("number"),
        Shape::Bool => json!("boolean"),
        Shape::Object | Shape::Node => json!("object"),
        Shape::NodeOrNull => json!(["object", "null"]),
        Shape::Array => json!("array"),
        Shape::Content => json!(["string", "null", "array"]),
        Shape::Any => Value::Null,
        _ => panic!("what is the type of {shape:?}?"),
    }
}

/// The members that readers always give.
fn required(definition: &str) -> Value {
    match definition {
        "kind_message" => json!(["role"]),
        "block_opaque" => json!(["data"]),
        _ => Value::Null,
    }
}

/// That a definition has exactly these fields, and the member that decides on it.
fn assert_members(what: &str, name: &str, decides: Option<&str>, fields: &[Field]) {
    let place = format!("{what}_{name}");
    let found = definition(&place);
    let field = |field: &Field| (field.name().to_owned(), refers_to(&field_definition(*field)));
    let mut expected: BTreeMap<_, _> = fields.iter().map(field).collect();
    expected.extend(decides.map(|decides| {
        let about = match decides {
            "kind" => "Kind of the record, which decides on the other members.",
            _ => "Type of the block, which decides on its other members.",
        };
        (decides.to_owned(), json!({ "description": about, "const": name }))
    }));
    let properties = object(&found["properties"], &place);
    for (member, value) in &expected {
        assert_eq!(properties.get(member), Some(value), "{what} `{name}`: member `{member}`");
    }
    for member in properties.keys() {
        assert!(expected.contains_key(member), "{what} `{name}`: `{member}` is not in the table");
    }
    assert_eq!(found["additionalProperties"], json!(false), "{what} `{name}` is not strict");
    assert_eq!(found["required"], required(&place), "{what} `{name}`: required members");
    assert!(found["description"].is_string(), "{what} `{name}` has no description");
}

/// That a schema takes these values of the member `decides`, and goes by each to its definition.
fn assert_chooses(schema: &Value, what: &str, decides: &str, names: &[&str]) {
    assert_eq!(schema["required"], json!([decides]), "`{decides}` decides");
    let values = schema["properties"][decides]["enum"].as_array().expect("values");
    let found = values.iter().filter_map(|value| value.as_str().map(str::to_owned));
    let expected = names.iter().map(|name| (*name).to_owned());
    assert_same(&format!("values of `{decides}`"), &found.collect(), &expected.collect());
    let rules = schema["allOf"].as_array().expect("rules");
    assert_eq!(rules.len(), names.len(), "rules on `{decides}`");
    for (rule, name) in rules.iter().zip(names) {
        let condition = json!({
            "properties": { decides: { "const": name } },
            "required": [decides],
        });
        let then = refers_to(&format!("{what}_{name}"));
        let expected = json!({ "if": condition, "then": then });
        assert_eq!(*rule, expected, "rule of {what} `{name}`");
    }
}

fn assert_same(what: &str, schema: &BTreeSet<String>, tables: &BTreeSet<String>) {
    let missing: Vec<_> = tables.difference(schema).collect();
    let surplus: Vec<_> = schema.difference(tables).collect();
    assert!(missing.is_empty(), "{what} of the tables that the schema lacks: {missing:?}");
    assert!(surplus.is_empty(), "{what} of the schema that the tables lack: {surplus:?}");
}

fn definition(name: &str) -> &'static Value {
    SCHEMA["$defs"].get(name).unwrap_or_else(|| panic!("no definition `{name}`"))
}

/// The name of a field's definition. It goes by the variant, because two fields that never meet
/// in one object can have one name.
fn field_definition(field: Field) -> String {
    let mut name = "field".to_owned();
    for letter in format!("{field:?}").chars() {
        if letter.is_ascii_uppercase() {
            name.push('_');
        }
        name.push(letter.to_ascii_lowercase());
    }
    name
}

fn object<'a>(value: &'a Value, place: &str) -> &'a serde_json::Map<String, Value> {
    value.as_object().unwrap_or_else(|| panic!("no object in {place}"))
}

fn refers_to(definition: &str) -> Value {
    json!({ "$ref": format!("#/$defs/{definition}") })
}

// The schema and the strict reader.

/// One value for each first byte that a JSON value can have. The string is one that the fields
/// with a pattern or a list of values take too.
const VALUES: &[&str] = &["\"lf\"", "null", "1", "true", "{}", "[]"];

#[test]
fn schema_and_reader_admit_the_same_fields_of_kinds() {
    assert_agreement(each(|field, value| {
        Kind::ALL.iter().map(|kind| record(*kind, field, value)).collect()
    }));
}

#[test]
fn schema_and_reader_admit_the_same_fields_of_groups() {
    assert_agreement(each(|field, value| {
        let member = format!("{{\"{}\":{value}}}", field.name());
        GROUPS.iter().map(|(group, _)| holder(*group, &member)).collect()
    }));
}

#[test]
fn schema_and_reader_admit_the_same_fields_of_blocks() {
    assert_agreement(each(|field, value| {
        // A second `type` is a matter of JSON, not of blocks.
        let blocks = BLOCKS.iter().filter(|_| field != Field::Type);
        blocks.map(|(name, _)| holder(Field::Content, &block(name, field, value))).collect()
    }));
}

/// The lines made of each field with each value.
fn each(lines: impl Fn(Field, &str) -> Vec<String>) -> Vec<String> {
    let pairs = Field::ALL.iter().flat_map(|field| VALUES.iter().map(|value| (*field, *value)));
    pairs.flat_map(|(field, value)| lines(field, value)).collect()
}

/// A record of one field, beside what its kind requires.
fn record(kind: Kind, field: Field, value: &str) -> String {
    let role = if kind == Kind::Message && field != Field::Role { r#","role":"user""# } else { "" };
    format!(r#"{{"kind":"{}"{role},"{}":{value}}}"#, kind.name(), field.name())
}

/// A block of one field, beside what its type requires.
fn block(name: &str, field: Field, value: &str) -> String {
    let data = if name == block::OPAQUE && field != Field::Data { r#","data":{}"# } else { "" };
    format!(r#"[{{"type":"{name}"{data},"{}":{value}}}]"#, field.name())
}

/// A record that has `field` itself or, as with the cost, in one of its groups.
fn holder(field: Field, value: &str) -> String {
    if let Some(kind) = Kind::ALL.iter().find(|kind| kind.admits(field)) {
        return record(*kind, field, value);
    }
    let outer = GROUPS.iter().find(|(_, fields)| fields.contains(&field));
    let (outer, _) = outer.unwrap_or_else(|| panic!("no record can have `{}`", field.name()));
    holder(*outer, &format!("{{\"{}\":{value}}}", field.name()))
}

fn assert_agreement(lines: Vec<String>) {
    let read = read(&lines.join("\n"));
    assert_eq!(read.len(), lines.len(), "one outcome a line");
    let mut admitted = 0;
    for (line, read) in lines.iter().zip(read) {
        match (read, schema_findings(line).as_slice()) {
            (Ok(()), []) => admitted += 1,
            (Err(_), [_, ..]) => {}
            (Ok(()), findings) => panic!("the schema alone refuses {line}: {findings:?}"),
            (Err(error), []) => panic!("the reader alone refuses {line}: {error}"),
        }
    }
    assert!(admitted > 0, "every line was refused");
}

/// A line, what the strict reader says of it, and the one finding of the schema.
type Wrong = (&'static str, &'static str, &'static str);

const WRONG: &[Wrong] = &[
    // The record.
    (r#"{"kind":"poem"}"#, r#""poem" is not a kind of record"#, "/kind: "),
    (r#"{"kind":7}"#, "7 is not a kind of record", "/kind: "),
    (r#"{"kind":null}"#, "null is not a kind of record", "/kind: "),
    ("{}", "expected a member `kind`", r#": "kind" is a required property"#),
    (r#"{"role":"user"}"#, "expected a member `kind`", r#": "kind" is a required property"#),
    (r#"["message"]"#, "expected an object", r#": value is not of type "object""#),
    // Fields that are not there, or not here.
    (
        r#"{"kind":"message","role":"user","mood":"glad"}"#,
        r#"message has no field "mood""#,
        ": Additional properties are not allowed ('mood' was unexpected)",
    ),
    (
        r#"{"kind":"label","target":"a","role":"user"}"#,
        r#"label has no field "role""#,
        ": Additional properties are not allowed ('role' was unexpected)",
    ),
    (
        r#"{"kind":"run","run":"r","leaf":"a"}"#,
        r#"run has no field "leaf""#,
        ": Additional properties are not allowed ('leaf' was unexpected)",
    ),
    (
        r#"{"kind":"message","role":"user","cache_read":1}"#,
        r#"message has no field "cache_read""#,
        ": Additional properties are not allowed ('cache_read' was unexpected)",
    ),
    // Shapes.
    (r#"{"kind":"session","cwd":null}"#, "field `cwd` must be a string", "/cwd: "),
    (r#"{"kind":"leaf","id":7}"#, "field `id` must be a string", "/id: "),
    (r#"{"kind":"leaf","target":7}"#, "field `target` must be a string or null", "/target: "),
    (r#"{"kind":"turn","number":"1"}"#, "field `number` must be a number", "/number: "),
    (r#"{"kind":"leaf","id_made":1}"#, "field `id_made` must be true or false", "/id_made: "),
    (r#"{"kind":"leaf","extra":[]}"#, "field `extra` must be an object", "/extra: "),
    (r#"{"kind":"tools_change","tools":{}}"#, "field `tools` must be an array", "/tools: "),
    (r#"{"kind":"usage","usage":null}"#, "field `usage` must be an object", "/usage: "),
    (
        r#"{"kind":"context_edit","replacement":"x"}"#,
        "field `replacement` must be an object or null",
        "/replacement: ",
    ),
    (
        r#"{"kind":"message","role":"user","content":{}}"#,
        "field `content` must be a string, null or an array of blocks",
        "/content: ",
    ),
    // Blocks.
    (
        r#"{"kind":"message","role":"user","content":[{"type":"poem"}]}"#,
        r#""poem" is not a type of block"#,
        "/content/0/type: ",
    ),
    (
        r#"{"kind":"message","role":"user","content":[{"text":"x"}]}"#,
        "expected a member `type`",
        r#"/content/0: "type" is a required property"#,
    ),
    (
        r#"{"kind":"message","role":"user","content":["x"]}"#,
        "expected an object",
        r#"/content/0: value is not of type "object""#,
    ),
    (
        r#"{"kind":"message","role":"user","content":[{"type":"text","text":"x","name":"x"}]}"#,
        r#"text has no field "name""#,
        "/content/0: Additional properties are not allowed ('name' was unexpected)",
    ),
    (
        r#"{"kind":"message","role":"user","content":[{"type":"text","text":["x"]}]}"#,
        "field `text` must be a string",
        "/content/0/text: ",
    ),
    (
        r#"{"kind":"message","role":"tool","content":[{"type":"tool_result","content":[{}]}]}"#,
        "expected a member `type`",
        r#"/content/0/content/0: "type" is a required property"#,
    ),
    (
        r#"{"kind":"message","content":"Hello"}"#,
        "message without a `role`",
        r#": "role" is a required property"#,
    ),
    (
        r#"{"kind":"message","role":"user","content":[{"type":"opaque"}]}"#,
        "opaque block without `data`",
        r#"/content/0: "data" is a required property"#,
    ),
    // What a tool answered.
    (
        r#"{"kind":"message","role":"tool","content":[{"type":"tool_result"},{"type":"tool_result"}]}"#,
        "a message of a tool holds one block `tool_result` and nothing else, not 2 among 2 blocks",
        "/content: ",
    ),
    (
        r#"{"kind":"message","role":"tool","content":[{"type":"text","text":"x"}]}"#,
        "a message of a tool holds one block `tool_result` and nothing else, not 0 among 1 blocks",
        "/content/0/type: ",
    ),
    (
        r#"{"kind":"message","role":"tool","content":"x"}"#,
        "a message of a tool holds one block `tool_result` and nothing else, not 0 among 0 blocks",
        "/content: ",
    ),
    (
        r#"{"kind":"message","role":"tool"}"#,
        "a message of a tool holds one block `tool_result` and nothing else, not 0 among 0 blocks",
        r#": "content" is a required property"#,
    ),
    (
        r#"{"kind":"message","role":"user","content":[{"type":"tool_result","call":"c"}]}"#,
        "a `tool_result` is in a message of the role `tool`",
        "/content/0/type: ",
    ),
    // Groups.
    (
        r#"{"kind":"message","role":"assistant","usage":{"input":1,"tokens":3}}"#,
        r#"usage has no field "tokens""#,
        "/usage: Additional properties are not allowed ('tokens' was unexpected)",
    ),
    (
        r#"{"kind":"message","role":"assistant","usage":{"cost":{"reasoning":3}}}"#,
        r#"cost has no field "reasoning""#,
        "/usage/cost: Additional properties are not allowed ('reasoning' was unexpected)",
    ),
    (
        r#"{"kind":"message","role":"bash","bash":{"cancelled":"no"}}"#,
        "field `cancelled` must be true or false",
        "/bash/cancelled: ",
    ),
    (
        r#"{"kind":"session","file":{"layout":"late"}}"#,
        r#"file has no field "layout""#,
        "/file: Additional properties are not allowed ('layout' was unexpected)",
    ),
    (
        r#"{"kind":"context_edit","replacement":{"content":[{"type":"x"}]}}"#,
        r#""x" is not a type of block"#,
        "/replacement/content/0/type: ",
    ),
];

#[test]
fn wrong_records_are_refused_by_schema_and_reader() {
    for (line, reader_says, schema_says) in WRONG {
        match read(line).as_slice() {
            [Err(error)] => {
                assert_eq!(error.code(), Code::BadRecord, "{line}");
                assert_eq!(error.message(), *reader_says, "{line}");
            }
            read => panic!("the reader makes {read:?} of {line}"),
        }
        match schema_findings(line).as_slice() {
            [finding] => assert!(finding.starts_with(schema_says), "{line}\n{finding}"),
            findings => panic!("the schema says {findings:?} of {line}"),
        }
    }
}

/// What the schema demands beyond kinds, fields and shapes.
const REFUSED_BY_THE_SCHEMA_ALONE: &[(&str, &str)] = &[
    (r#"{"kind":"session","source":"pi@"}"#, "/source: "),
    (r#"{"kind":"session","source":"Pi@3"}"#, "/source: "),
    (r#"{"kind":"session","file":{"eol":"cr"}}"#, "/file/eol: "),
];

#[test]
fn the_schema_demands_what_readers_guarantee() {
    for (line, schema_says) in REFUSED_BY_THE_SCHEMA_ALONE {
        match read(line).as_slice() {
            [Ok(())] => {}
            read => panic!("the reader makes {read:?} of {line}"),
        }
        match schema_findings(line).as_slice() {
            [finding] => assert!(finding.starts_with(schema_says), "{line}\n{finding}"),
            findings => panic!("the schema says {findings:?} of {line}"),
        }
    }
}

/// What the strict reader makes of each line of a session.
fn read(lines: &str) -> Vec<Result<(), Error>> {
    let (options, log) = (Options::default(), Log::default());
    let cx = Cx { options: &options, log: &log };
    // Its record comes first.
    let mut parts = Bytes::new(format!("{{\"kind\":\"session\"}}\n{lines}"));
    let records = (canonical::FORMAT.read)(&mut parts, &cx).expect("it is in memory");
    records.skip(1).map(|record| record.map(drop)).collect()
}

/// What the canonical schema says of a line: place and message, without the value.
fn schema_findings(line: &str) -> Vec<String> {
    let value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    let errors = VALIDATOR.validator().expect("the schema compiles").iter_errors(&value);
    errors.map(|error| format!("{}: {}", error.instance_path(), error.masked())).collect()
}

// The schemas and the corpus.

#[test]
fn the_corpus_fits_the_schemas_of_its_versions() {
    for case in corpus() {
        let records = validated(&pi::FORMAT, case.version, &case.bytes, &case);
        assert!(records > 1, "{case}: {records} records");
    }
}

#[test]
fn the_corpus_fits_the_canonical_schema_once_it_is_read() {
    for case in corpus() {
        let stream = as_canonical(&case);
        // What stands for a blank line of the file counts here no more than there.
        let lines =
            String::from_utf8_lossy(&stream).lines().filter(|l| !is_blank(l)).count() as u64;
        let records = validated(&canonical::FORMAT, CANONICAL, &stream, &case);
        assert_eq!(records, lines, "{case}: records and lines of the stream");
    }
}

/// Whether a line of a stream stands for a blank one.
fn is_blank(line: &str) -> bool {
    // One that holds half of a surrogate pair is none.
    let Ok(record) = serde_json::from_str::<serde_json::Value>(line) else { return false };
    let text = record["text"].as_str().map(str::trim);
    record["kind"] == "opaque" && text == Some("")
}

/// One file of the corpus that is sound.
struct Case {
    path: PathBuf,
    name: String,
    version: &'static Version,
    bytes: Vec<u8>,
}

impl std::fmt::Display for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.path.display().fmt(f)
    }
}

/// Every file `testdata/pi/vN/CASE/in/FILE`.
fn corpus() -> Vec<Case> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/pi");
    let files = walkdir::WalkDir::new(&root).sort_by_file_name().min_depth(4).max_depth(4);
    let files = files.into_iter().map(|file| file.expect("testdata can be read").into_path());
    let cases: Vec<_> = files.filter_map(|path| case(&root, path)).collect();
    for version in pi::FORMAT.versions {
        let number = version.number;
        assert!(cases.iter().any(|case| case.version.number == number), "no file of v{number}");
    }
    cases
}

fn case(root: &Path, path: PathBuf) -> Option<Case> {
    let inside = path.strip_prefix(root).ok()?;
    let steps: Vec<_> = inside.iter().map(|step| step.to_string_lossy()).collect();
    let [version, name, folder, _] = steps.as_slice() else {
        return None;
    };
    let version = version.strip_prefix('v').filter(|_| folder == "in")?;
    let spec = Spec::parse(&format!("pi@{version}")).expect("folders are named by versions");
    let name = name.clone().into_owned();
    let bytes = std::fs::read(&path).expect("testdata can be read");
    Some(Case { version: spec.version(), name, bytes, path })
}

/// Checks a session as `copyist validate` does, and gives the number of its records.
fn validated(format: &'static Format, version: &Version, bytes: &[u8], case: &Case) -> u64 {
    let (options, log) = (Options::default(), Log::default());
    let cx = Cx { options: &options, log: &log };
    let schema = Schema::of(version).expect("another test");
    let records = validate::run(format, &schema, &mut Bytes::new(bytes), usize::MAX, &cx);
    let records = records.unwrap_or_else(|error| panic!("{case}: {error}")).records;
    let findings = log.into_findings();
    let misfits = findings.diagnostics.iter().filter(|found| found.code == Code::Schema);
    let misfits = misfits.map(|found| {
        let line = found.at.map_or(0, |at| at.line);
        format!("\n  line {line}: {}", found.message)
    });
    let misfits: String = misfits.collect();
    assert!(misfits.is_empty(), "{case}:{misfits}");
    // One of its lines nests deeper than the schema check can follow.
    let unchecked = u64::from(case.name == "spellings");
    let deep = findings.counts.get(&Code::Unchecked).copied().unwrap_or(0);
    assert_eq!(deep, unchecked, "{case}: lines that were not checked");
    records
}

/// The stream that the file is read as.
fn as_canonical(case: &Case) -> Vec<u8> {
    let (options, log) = (Options::default(), Log::default());
    let cx = Cx { options: &options, log: &log };
    let (mut parts, mut stream) = (Bytes::new(&case.bytes), Buffer::default());
    let mut writer = (canonical::FORMAT.write)(&mut stream, CANONICAL, &cx).expect("in memory");
    for record in (pi::FORMAT.read)(&mut parts, &cx).expect("in memory") {
        let record = record.unwrap_or_else(|error| panic!("{case}: {error}"));
        writer.record(&record).expect("in memory");
    }
    writer.finish().expect("in memory");
    stream.main().to_vec()
}
