//! What the reader reads.

use super::python;
use super::random::{Node, Random};
use crate::common::{self, assert_same, files};
use copyist::diagnostic::Code;
use copyist::error::{Error, Result};
use copyist::yaml::Text;
use copyist::yaml::encoding::Decoder;
use copyist::yaml::read::{Events, Layout, Limits, ScalarStyle, What, restore_breaks};
use copyist::yaml::write::{Emitter, Style};
use std::io::Read;

/// Gives some bytes at a time.
struct Drip<'a>(&'a [u8], usize);

impl Read for Drip<'_> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let n = self.1.min(self.0.len()).min(into.len());
        into[..n].copy_from_slice(&self.0[..n]);
        self.0 = &self.0[n..];
        Ok(n)
    }
}

/// The events as text, one a line, and the error that ended them.
fn events(reader: impl Read) -> (Vec<String>, Option<Error>) {
    let mut events = Events::new(reader, Limits::default());
    let mut found = Vec::new();
    loop {
        match events.next() {
            Ok(None) => return (found, None),
            Err(error) => {
                assert!(matches!(events.next(), Ok(None)), "an error is the last thing said");
                return (found, Some(error));
            }
            Ok(Some(event)) => {
                let (at, end) = (event.at, event.end);
                let place = format!("{}:{}-{}:{}", at.line, at.byte, end.line, end.byte);
                found.push(format!("{place} {:?}", event.what));
            }
        }
    }
}

/// The error of a text that must have one: its code, line and byte.
fn fault(text: impl AsRef<[u8]>) -> (Code, u64, u64) {
    let (_, error) = events(text.as_ref());
    let error = error.unwrap_or_else(|| panic!("no error"));
    let at = error.position().expect("a place");
    (error.code(), at.line, at.byte)
}

/// Reads one document as the tree that it is.
fn tree(text: &[u8]) -> Result<Node> {
    let mut events = Events::new(Drip(text, 7919), Limits::default());
    let mut open: Vec<Vec<Node>> = vec![Vec::new()];
    while let Some(event) = events.next()? {
        let node = match event.what {
            What::MappingStart(..) | What::SequenceStart(..) => {
                open.push(Vec::new());
                continue;
            }
            What::Scalar(text, ScalarStyle::SingleQuoted, _) => Node::Text(restore_breaks(text)),
            What::Scalar(text, ..) => Node::Text(text),
            What::SequenceEnd => Node::List(open.pop().expect("a list")),
            What::MappingEnd => {
                let nodes = open.pop().expect("a mapping");
                let text = |node: &Node| match node {
                    Node::Text(text) => text.clone(),
                    other => panic!("{other:?} is a key"),
                };
                Node::Map(nodes.chunks(2).map(|p| (text(&p[0]), p[1].clone())).collect())
            }
            What::DocumentStart | What::DocumentEnd => continue,
            other => panic!("{other:?}"),
        };
        open.last_mut().expect("a parent").push(node);
    }
    Ok(open.pop().and_then(|mut nodes| nodes.pop()).expect("a node"))
}

#[test]
fn events_name_their_places() {
    let text = "# head\nname: 'é x' # end\nturns:\n- &a !!python/tuple [1, ~]\n- *a\n-\n- |\n  b\n";
    let (found, error) = events(text.as_bytes());
    assert!(error.is_none());
    assert_eq!(
        found.join("\n"),
        r#"1:0-1:6 Comment { text: " head", own_line: true }
2:7-2:7 DocumentStart
2:7-2:7 MappingStart(Block, Node { anchor: None, tag: None })
2:7-2:11 Scalar(Text("name"), Plain, Node { anchor: None, tag: None })
2:13-2:19 Scalar(Text("é x"), SingleQuoted, Node { anchor: None, tag: None })
2:20-2:25 Comment { text: " end", own_line: false }
3:26-3:31 Scalar(Text("turns"), Plain, Node { anchor: None, tag: None })
4:35-4:35 SequenceStart(Block, Node { anchor: None, tag: None })
4:35-4:54 SequenceStart(Flow, Node { anchor: Some(1), tag: Some("!!python/tuple") })
4:54-4:55 Scalar(Text("1"), Plain, Node { anchor: None, tag: None })
4:57-4:58 Scalar(Text("~"), Plain, Node { anchor: None, tag: None })
4:58-4:59 SequenceEnd
5:62-5:64 Alias(1)
6:66-6:66 Scalar(Text(""), Plain, Node { anchor: None, tag: None })
8:73-9:75 Scalar(Text("b\n"), Literal, Node { anchor: None, tag: None })
9:75-9:75 SequenceEnd
9:75-9:75 MappingEnd
9:75-9:75 DocumentEnd"#
    );
}

#[test]
fn what_the_emitter_wrote_is_read_back() {
    let mut random = Random::new(3);
    let mut nodes: Vec<_> = (0..3000).map(|_| Node::random(&mut random, 4)).collect();
    // At 40 levels PyYAML begins to write what it cannot read itself.
    nodes.extend((0..50).map(|levels| Node::deep(&mut random, levels % 35)));
    for node in nodes {
        for style in [Style::PyYaml, Style::Readable] {
            let mut yaml = Emitter::new(style);
            node.emit(&mut yaml);
            let text = yaml.finish();
            let shown = String::from_utf8_lossy(&text);
            let found = tree(&text).unwrap_or_else(|error| panic!("{error:?}\n{shown:?}"));
            let (found, expected) = (format!("{found:#?}"), format!("{:#?}", node.as_text()));
            assert_same(found.as_bytes(), expected.as_bytes(), &format!("{shown:?}"));
        }
    }
}

#[test]
fn the_size_of_reads_never_shows() {
    let mut random = Random::new(4);
    for _ in 0..200 {
        let mut yaml = Emitter::new(Style::PyYaml);
        Node::random(&mut random, 4).emit(&mut yaml);
        let text = yaml.finish();
        let cut = &text[..random.below(text.len() + 1)];
        let (whole, error) = events(cut);
        for step in [1, 2, 3, 64] {
            let (found, other) = events(Drip(cut, step));
            assert_eq!(found, whole);
            assert_eq!(other.map(|e| e.to_string()), error.as_ref().map(Error::to_string));
        }
    }
}

#[test]
fn halves_of_surrogate_pairs_are_read() {
    for (yaml, json) in [
        (r#""a \ud800 b""#, r#""a \ud800 b""#),
        (r#""\uDBFF\uDFFF""#, "\"\u{10ffff}\""),
        (r#""\ud83d\ude00 \ude00""#, r#""😀 \ude00""#),
        (r#""\\ud800 \\\ud800""#, r#""\\ud800 \\\ud800""#),
        (r"'\ud800'", r#""\\ud800""#),
        ("C:\\\u{3a2}d800", "\"C:\\\\\u{3a2}d800\""),
        (r"C:\ud800 x", r#""C:\\ud800 x""#),
        ("|-\n  \\udfff\\", r#""\\udfff\\""#),
        ("\u{3a2}d800", "\"\u{3a2}d800\""),
        ("\"\u{3a2}\u{3a2}d8 \\ud800\"", "\"\u{3a2}\u{3a2}d8 \\ud800\""),
    ] {
        let Node::Text(found) = tree(yaml.as_bytes()).expect("a scalar") else { panic!() };
        assert_eq!(String::from_utf8(found.to_json()).expect("UTF-8"), json, "{yaml}");
    }
    assert_eq!(fault(r#"a: "\ud8zz""#), (Code::YamlSyntax, 1, 3));
}

#[test]
fn broken_documents_are_errors_with_a_place() {
    // The parser takes the second line for more of the scalar.
    assert_eq!(fault("a: 1\n\tb: 2\n"), (Code::YamlSyntax, 1, 3));
    assert_eq!(fault("a: 1\nb: x\0y\n"), (Code::YamlSyntax, 2, 9));
    assert_eq!(fault("a: 'x\u{1b}y'\nb: 1\n"), (Code::YamlSyntax, 1, 5));
    assert_eq!(fault("a: 1\n\0\0\0\0\0\0"), (Code::YamlSyntax, 2, 5));
    assert_eq!(fault(b"a: 1\nb: \xff\n"), (Code::NotUtf8, 2, 8));
    assert_eq!(fault("a: *nowhere\n"), (Code::YamlSyntax, 1, 3));
    assert_eq!(fault("a: 1\n<<<<<<< HEAD\nb: 2\n=======\n"), (Code::YamlSyntax, 2, 5));
    for cut in ["a: 'x", "a: [1, {b: ", "a: \"x\\u12", "a: 1\nb"] {
        assert_eq!(fault(cut).0, Code::YamlCutShort, "{cut}");
    }
    // One parser panics where a literal block is cut.
    for block in ["a: |", "a: |2", "a: |\n", "a: |\n  x", "a: |+\n  x\n ", "a: |-\n    \n  "] {
        assert!(events(Drip(block.as_bytes(), 1)).1.is_none(), "{block:?}");
    }
}

#[test]
fn documents_made_to_exhaust_a_reader_do_not() {
    for open in ["[", "{a: ", "- ", "? ", "&a [", "!t {"] {
        assert_eq!(fault(open.repeat(10_000)).0, Code::YamlLimit, "{open}");
    }
    let indented: String = (0..10_000).map(|n| format!("{}a:\n", " ".repeat(n))).collect();
    assert_eq!(fault(indented).0, Code::YamlLimit);
    let limits = Limits { scalar: 1 << 20, ..Limits::default() };
    let endless = b"a: '".as_slice().chain(std::io::repeat(b'x'));
    let mut events = Events::new(endless, limits);
    let error = loop {
        if let Err(error) = events.next() {
            break error;
        }
    };
    assert_eq!(error.code(), Code::YamlLimit);
    // An alias is one event, however much it stands for.
    let bomb: String = (1..60).map(|n| format!("- &a{n} [*a{0}, *a{0}]\n", n - 1)).collect();
    let (found, error) = self::events(format!("- &a0 x\n{bomb}").as_bytes());
    assert!(error.is_none());
    assert_eq!(found.iter().filter(|e| e.contains("Alias")).count(), 118);
}

#[test]
fn many_things_are_the_callers_to_judge() {
    let (found, _) = events(&b"a: 1\na: 2\n---\nb: 3\n...\n"[..]);
    assert_eq!(found.iter().filter(|e| e.contains("\"a\"")).count(), 2);
    assert_eq!(found.iter().filter(|e| e.contains("DocumentStart")).count(), 2);
    let comments = format!("a:\n{}  b: 1\n", "  # x\n".repeat(5000));
    let (found, error) = events(comments.as_bytes());
    assert!(error.is_none());
    assert_eq!(found.iter().filter(|e| e.contains("Comment")).count(), 5000);
}

#[test]
fn line_breaks_of_yaml_1_1_are_what_pyyaml_was_given() {
    let mut random = Random::new(5);
    let string = |random: &mut Random| -> String {
        let pieces = ["\n", "\u{85}", "\u{2028}", "\u{2029}", "a", "b c", "it's"];
        (0..1 + random.below(12)).map(|_| random.pick(&pieces)).collect()
    };
    for _ in 0..5000 {
        let text = string(&mut random);
        let mut yaml = Emitter::new(Style::PyYaml);
        yaml.begin_sequence().begin_mapping().string("k").string(&*text).end();
        let text = Text::from(text);
        let written = yaml.finish();
        let expected = Node::List(vec![Node::Map(vec![("k".into(), Node::Text(text))])]);
        assert_eq!(tree(&written).expect("YAML"), expected, "{written:?}");
    }
}

/// Everything that PyYAML wrote comes out of reader and emitter as it went in.
#[test]
fn files_of_real_releases_pass_unchanged() {
    let Some(corpus) = common::corpus("files_of_real_releases") else { return };
    let folders = ["a-git-5691bd58", "b-0.5.0", "c-0.5.10", "d-0.6.1", "d2-1.5.11", "e-1.9.2"];
    let (mut same, mut other) = (0, Vec::new());
    for folder in folders {
        let files = files(&corpus.join("connectonion").join(folder)).into_iter();
        for path in files.filter(|p| p.extension().is_some_and(|e| e == "yaml")) {
            // Run files are written by hand.
            if path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("run_")) {
                continue;
            }
            let bytes = common::read(&path);
            match again(&bytes) {
                Ok(Some(written)) => {
                    assert_same(&written, &bytes, &path.display().to_string());
                    same += 1;
                }
                Ok(None) => other.push(format!("{}: anchors or tags", path.display())),
                Err(error) => other.push(format!("{}: {error}", path.display())),
            }
        }
    }
    eprintln!("{same} files unchanged; not compared:\n{}", other.join("\n"));
    assert!(same > 250 && other.len() * 33 < same, "{same}, {other:#?}");
}

/// What the real loader reads is read, and what it finds to be no YAML is an error. (Its other
/// errors are about encodings, several documents, and what the scalars hold.)
#[test]
fn damaged_files_are_yaml_where_pyyaml_reads_them() {
    let Some(corpus) = common::corpus("damaged_files") else { return };
    let folder = corpus.join("connectonion/mut");
    let expected: serde_json::Value =
        serde_json::from_slice(&common::read(&folder.join("expected.json"))).expect("JSON");
    let mut compared = 0;
    for path in files(&folder).into_iter().filter(|p| p.extension().is_some_and(|e| e == "yaml")) {
        let name = common::name(&path);
        let said = expected[&name]["error"].as_str().unwrap_or_default();
        let broken = ["ScannerError", "ParserError", "ReaderError"];
        let broken = broken.iter().any(|error| said.starts_with(error));
        if broken || expected[&name]["ok"] == true {
            let bytes = common::read(&path);
            let (_, error) = events(Decoder::new(&*bytes, None));
            assert_eq!(error.is_some(), broken, "{name}: {error:?}, {said}");
            compared += 1;
        }
    }
    assert!(compared >= 70, "{compared}");
}

/// Reads and writes a document; `None` if it holds what the emitter does not write.
fn again(bytes: &[u8]) -> Result<Option<Vec<u8>>> {
    let mut events = Events::new(bytes, Limits::default());
    let mut yaml = Emitter::new(Style::PyYaml);
    while let Some(event) = events.next()? {
        match event.what {
            What::DocumentStart | What::DocumentEnd => {}
            What::MappingStart(_, node)
            | What::SequenceStart(_, node)
            | What::Scalar(_, _, node)
                if node != copyist::yaml::read::Node::default() =>
            {
                return Ok(None);
            }
            What::MappingStart(Layout::Block | Layout::Flow, _) => drop(yaml.begin_mapping()),
            What::SequenceStart(..) => drop(yaml.begin_sequence()),
            What::MappingEnd | What::SequenceEnd => drop(yaml.end()),
            What::Scalar(text, ScalarStyle::Plain, _) if python::is_typed(text.as_bytes()) => {
                yaml.plain(text.as_str().unwrap_or_default());
            }
            What::Scalar(text, ScalarStyle::SingleQuoted, _) => {
                yaml.string(restore_breaks(text));
            }
            What::Scalar(text, ..) => drop(yaml.string(&text)),
            What::Alias(_) | What::Comment { .. } => return Ok(None),
        }
    }
    Ok(Some(yaml.finish()))
}
