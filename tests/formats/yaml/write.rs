//! What the emitter writes.

use super::goldens::PYYAML;
use super::python;
use super::random::{Node, Random};
use crate::common::assert_same;
use copyist::yaml::write::{Emitter, Style};

fn written(node: &Node, style: Style) -> Vec<u8> {
    let mut yaml = Emitter::new(style);
    node.emit(&mut yaml);
    yaml.finish()
}

#[test]
fn single_strings_are_spelled_as_pyyaml_spells_them() {
    for (text, expected) in PYYAML {
        let mut yaml = Emitter::new(Style::PyYaml);
        yaml.begin_mapping().string("k").string(*text).end();
        let found = String::from_utf8(yaml.finish()).expect("UTF-8");
        assert_eq!(found, format!("k: {expected}"), "{text:?}");
    }
}

#[test]
fn any_document_is_spelled_as_pyyaml_spells_it() {
    let mut random = Random::new(1);
    let mut nodes: Vec<_> = (0..6000).map(|_| Node::random(&mut random, 4)).collect();
    nodes.extend((0..150).map(|levels| Node::deep(&mut random, levels % 80)));
    let values: Vec<_> = nodes.iter().map(Node::to_json).collect();
    let Some(expected) = python::dump("any_document", &values) else { return };
    assert_eq!(nodes.len(), expected.len());
    for (node, expected) in nodes.iter().zip(expected) {
        // What only PyYAML could read is spelled otherwise.
        if breaks_a_line(&expected) {
            continue;
        }
        let found = written(node, Style::PyYaml);
        assert_same(&found, expected.as_bytes(), &format!("{node:?}"));
    }
}

/// Whether a break of YAML 1.1 begins a line: in YAML 1.2 that line is not indented.
fn breaks_a_line(yaml: &str) -> bool {
    ["\n\u{85}", "\n\u{2028}", "\n\u{2029}"].iter().any(|found| yaml.contains(found))
}

#[test]
fn readable_documents_mean_what_they_should() {
    let mut random = Random::new(2);
    let mut nodes: Vec<_> = (0..3000).map(|_| Node::random(&mut random, 4)).collect();
    nodes.extend((0..50).map(|levels| Node::deep(&mut random, 2 * levels)));
    let pair = |node: &Node| {
        let text = String::from_utf8(written(node, Style::Readable)).expect("UTF-8");
        (text, node.to_json(), node.is_unicode())
    };
    let pairs: Vec<_> = nodes.iter().map(pair).collect();
    let Some(misread) = python::misread("readable_documents", &pairs) else { return };
    assert_eq!(misread.len(), pairs.len());
    for ((text, value, _), misread) in pairs.iter().zip(misread) {
        let value = String::from_utf8_lossy(value);
        assert_eq!(misread, [""; 0], "\n{text}\n{value}");
    }
}

#[test]
fn what_is_still_open_is_closed() {
    for style in [Style::PyYaml, Style::Readable] {
        let mut yaml = Emitter::new(style);
        yaml.begin_mapping().string("a").begin_sequence().begin_mapping().string("b");
        assert_eq!(yaml.finish(), b"a:\n- b:\n");
        let mut yaml = Emitter::new(style);
        yaml.begin_sequence().begin_mapping();
        assert_eq!(yaml.finish(), b"- {}\n");
        let mut yaml = Emitter::new(style);
        yaml.end().plain("1");
        assert_eq!(yaml.finish(), b"1\n...\n");
        assert_eq!(Emitter::new(style).finish(), b"");
    }
}

#[test]
fn readable_spellings() {
    let spelled = |text: &str| {
        let mut yaml = Emitter::new(Style::Readable);
        yaml.begin_mapping().string("k").string(text).end();
        String::from_utf8(yaml.finish()).expect("UTF-8")
    };
    for plain in ["Found 10 files, a.py [1]", "it's \"here\"", "日本語", "a - b", "x#y"] {
        assert_eq!(spelled(plain).trim_end(), format!("k: {plain}"));
    }
    for quoted in
        ["", "y", "No", "1e3", "0o14", "12:30", "2024-01-01", ".inf", "~", "<<", "=", "a:"]
    {
        assert_eq!(spelled(quoted).trim_end(), format!("k: \"{quoted}\""));
    }
    for (text, expected) in [
        ("a\nb", "k: |-\n  a\n  b\n"),
        ("a\n\n  b\n", "k: |\n  a\n\n    b\n"),
        ("a\n\n", "k: |+\n  a\n\n"),
        ("  a\nb\n", "k: |2\n    a\n  b\n"),
        ("\n", "k: \"\\n\"\n"),
        ("tab\t😀", "k: \"tab\\t😀\"\n"),
        ("a\u{85}\u{2028}\u{feff}\u{1b}", "k: \"a\\u0085\\u2028\\ufeff\\u001b\"\n"),
    ] {
        assert_eq!(spelled(text), expected);
    }
}
