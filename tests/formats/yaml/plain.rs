//! The scanner of the plain layout against the parser: the same events, whatever the text.

use super::random::{Node, Random};
use crate::common::{self, files};
use copyist::error::Error;
use copyist::yaml::read::{Event, Events, Limits};
use copyist::yaml::write::{Emitter, Style};
use std::io::Read;

/// What a stream says to its end, and whether all of it was scanned.
fn said<R: Read>(mut events: Events<R>) -> (Vec<Event>, Option<Error>, bool) {
    let (mut found, mut scanned) = (Vec::new(), true);
    loop {
        let next = events.next();
        match next {
            Ok(Some(event)) => found.push(event),
            Ok(None) => return (found, None, scanned),
            Err(error) => return (found, Some(error), false),
        }
        scanned = !events.is_parsed();
    }
}

/// Compares both ways of reading; says whether the scanner did without the parser.
fn compare(text: &[u8]) -> bool {
    let (ours, our_error, scanned) = said(Events::new(text, Limits::default()));
    let (theirs, their_error, _) = said(Events::parsed(text, Limits::default()));
    let shown = || String::from_utf8_lossy(text.get(..2000).unwrap_or(text)).into_owned();
    if let Some(at) = ours.iter().zip(&theirs).position(|(ours, theirs)| ours != theirs) {
        panic!("{:?} is not {:?} in {}", ours[at], theirs[at], shown());
    }
    assert_eq!(ours.len(), theirs.len(), "events of {}", shown());
    let place = |error: &Option<Error>| {
        error.as_ref().map(|error| (error.to_string(), error.code(), error.position()))
    };
    assert_eq!(place(&our_error), place(&their_error), "errors of {}", shown());
    scanned
}

#[test]
fn documents_of_the_emitter_are_read_alike() {
    let mut random = Random::new(11);
    let mut scanned = 0;
    for _ in 0..3000 {
        let (node, more) = (Node::random(&mut random, 4), Node::random(&mut random, 2));
        for style in [Style::PyYaml, Style::Readable] {
            let mut yaml = Emitter::new(style);
            yaml.begin_mapping().string("first");
            node.emit(&mut yaml);
            yaml.string("second");
            more.emit(&mut yaml);
            scanned += usize::from(compare(&yaml.finish()));
        }
    }
    assert!(scanned > 1000, "only {scanned} of 6000 documents were scanned to their end");
}

/// The layout of a session, with every shape that the scanner knows.
const SESSION: &str = "\
name: oo
'total cost': 1.5
turns:
- input: 'a

    b it''s
    c'
  tools_called:
  - run(x='1:2') more
    words
  - \"tab\\t\\x1b[0m \\
    \\  end\"
  - []
  empty: {}
messages:
  1:
  - role: user
    content: -rw x:y
  2: []
";

#[test]
fn any_change_of_a_byte_is_read_alike() {
    assert!(compare(SESSION.as_bytes()), "the layout is not scanned");
    for at in 0..=SESSION.len() {
        compare(&SESSION.as_bytes()[..at]);
        for odd in b"\n :-#'\"\\a[]{}&*!|>?,%@`\t\r\0\xc2\xff" {
            let mut text = SESSION.as_bytes().to_vec();
            text.insert(at, *odd);
            compare(&text);
            if at < SESSION.len() {
                text.remove(at + 1);
                compare(&text);
            }
        }
        for odd in ["\n\n", "# x\n", "\n# x\n", "--- ", "\u{2028}", "\u{3a2}", "\\ud83d", "&a "] {
            compare(&[&SESSION[..at], odd, &SESSION[at..]].concat().into_bytes());
        }
    }
}

#[test]
fn files_of_our_own_are_read_alike() {
    for path in common::session_folders().iter().flat_map(|folder| files(folder)) {
        let text = std::fs::read(&path).expect("a file");
        compare(&text);
        if path.extension().is_some_and(|ext| ext == "yaml") && text.len() < 4096 {
            for cut in 0..text.len() {
                compare(&text[..cut]);
            }
        }
    }
}

#[test]
fn files_of_real_releases_are_read_alike() {
    let Some(corpus) = common::corpus("files_of_real_releases_are_read_alike") else {
        return;
    };
    let corpus = corpus.join("connectonion");
    let yaml = |path: &std::path::PathBuf| path.extension().is_some_and(|ext| ext == "yaml");
    let (mut all, mut scanned) = (0, 0);
    for path in files(&corpus).into_iter().filter(yaml) {
        all += 1;
        scanned += usize::from(compare(&std::fs::read(&path).expect("a file")));
    }
    println!("{scanned} of {all} files were scanned to their end");
    assert!(scanned > 0);
}
