//! Any bytes as YAML in any encoding: no panic. The scanner of the plain layout and the parser: the
//! same events, the same error. Any text in both styles: the same text again.
#![no_main]

use copyist::yaml::Text;
use copyist::yaml::encoding::{Decoder, Encoding};
use copyist::yaml::read::{Event, Events, Limits, ScalarStyle, What, restore_breaks};
use copyist::yaml::write::{Emitter, Style};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    for named in [None, Encoding::for_label(b"gbk"), Encoding::for_label(b"utf-16")] {
        let mut events =
            Events::new(Decoder::new(bytes, named), Limits { depth: 20, scalar: 4096 });
        while let Ok(Some(_)) = events.next() {}
    }
    let ours = said(Events::new(bytes, Limits::default()));
    let theirs = said(Events::parsed(bytes, Limits::default()));
    assert_eq!(ours, theirs);
    let text = String::from_utf8_lossy(bytes);
    same(&Text::from(&*text));
    let json = [b"\"", bytes, b"\""].concat();
    if let Some(text) = Text::from_json(&json) {
        same(&text);
    }
});

/// What a stream says to its end, and the error that ended it.
fn said(mut events: Events<&[u8]>) -> (Vec<Event>, Option<String>) {
    let mut found = Vec::new();
    loop {
        match events.next() {
            Ok(Some(event)) => found.push(event),
            Ok(None) => return (found, None),
            Err(error) => return (found, Some(format!("{error} {:?}", error.position()))),
        }
    }
}

/// Writes the text as key, value and item, and reads it back.
fn same(text: &Text<'_>) {
    for style in [Style::PyYaml, Style::Readable] {
        let mut yaml = Emitter::new(style);
        yaml.begin_mapping().string(text).begin_sequence().string(text);
        yaml.begin_mapping().string("k").string(text);
        let yaml = yaml.finish();
        let mut events = Events::new(&*yaml, Limits::default());
        let mut found = 0;
        loop {
            match events.next() {
                Ok(None) => break,
                Ok(Some(event)) => found += usize::from(is(event.what, text)),
                // A break of YAML 1.1 that begins a line has no indentation in YAML 1.2.
                Err(_) if breaks_a_line(&yaml) => return,
                Err(error) => panic!("{error}: {}", yaml.escape_ascii()),
            }
        }
        let key = usize::from(*text == "k");
        assert_eq!(found, 3 + key, "{text:?} in {}", yaml.escape_ascii());
    }
}

fn is(what: What, text: &Text<'_>) -> bool {
    match what {
        What::Scalar(found, ScalarStyle::SingleQuoted, _) => restore_breaks(found) == *text,
        What::Scalar(found, ..) => found == *text,
        _ => false,
    }
}

fn breaks_a_line(yaml: &[u8]) -> bool {
    let yaml = String::from_utf8_lossy(yaml);
    ["\n\u{85}", "\n\u{2028}", "\n\u{2029}"].iter().any(|found| yaml.contains(found))
}
