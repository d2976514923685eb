//! Files in other encodings.

use crate::common;
use copyist::diagnostic::Code;
use copyist::yaml::encoding::{Decoder, Encoding, encode};
use copyist::yaml::read::{Events, Limits};
use std::io::Read;

const CHINESE: &str = "input: 写一个爬虫，然后分析销售数据。こんにちは\r\n";
const FRENCH: &str = "input: Où est passé l’été ? Ça coûte 3 € à Nîmes…\r\n";
const GERMAN: &str = "a: \"süß\"\nb: Größe über alles, Straße\n";

fn label(name: &str) -> &'static Encoding {
    Encoding::for_label(name.as_bytes()).expect("an encoding")
}

fn encoded(text: &str, name: &str) -> Vec<u8> {
    let mut out = Vec::new();
    encode(text, label(name), &mut out).expect("all characters are there");
    out
}

/// Text, name, mark, and whether it was guessed.
fn decoded(bytes: &[u8], named: Option<&str>) -> (String, &'static str, bool, bool) {
    let mut decoder = Decoder::new(bytes, named.map(label));
    let mut text = String::new();
    decoder.read_to_string(&mut text).expect("text");
    let found = decoder.found();
    (text, found.encoding.name(), found.mark, found.confidence.is_some())
}

#[test]
fn what_is_encoded_is_found_and_decoded() {
    for (text, name, guessed) in [
        (CHINESE, "UTF-8", false),
        (CHINESE, "GBK", true),
        (FRENCH, "windows-1252", true),
        (GERMAN, "windows-1252", true),
        ("only: ascii\n", "UTF-8", false),
        ("", "UTF-8", false),
    ] {
        for head in ["", "# a comment before\n", &"pad: x\n".repeat(30_000)] {
            let text = format!("{head}{text}");
            let bytes = encoded(&text, name);
            assert_eq!(decoded(&bytes, None), (text.clone(), name, false, guessed), "{name}");
            assert_eq!(decoded(&bytes, Some(name)).0, text);
        }
    }
    for (mark, name) in [("\u{feff}", "UTF-8"), ("\u{feff}", "UTF-16LE"), ("\u{feff}", "UTF-16BE")]
    {
        let text = format!("{CHINESE}{GERMAN}😀");
        let bytes = encoded(&format!("{mark}{text}"), name);
        assert_eq!(decoded(&bytes, None), (text.clone(), name, true, false));
        assert_eq!(decoded(&bytes, Some(name)), (text, name, true, false));
    }
}

#[test]
fn a_guess_states_how_sure_it_is() {
    let confidence = |bytes: &[u8]| {
        let mut decoder = Decoder::new(bytes, None);
        let mut text = Vec::new();
        decoder.read_to_end(&mut text).expect("text");
        decoder.found().confidence.expect("a guess")
    };
    assert!(confidence(&encoded(&CHINESE.repeat(20), "gbk")) > 90);
    assert!(confidence(&encoded(&FRENCH.repeat(20), "cp1252")) > 80);
    assert!(confidence(b"\xb0\xa1\xe9t\xb0\xa2\xe9t") < 70);
}

#[test]
fn the_size_of_reads_never_shows() {
    struct One<R>(R);
    impl<R: Read> Read for One<R> {
        fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
            self.0.read(into.get_mut(..1).unwrap_or_default())
        }
    }
    let long = CHINESE.repeat(3000);
    for name in ["utf-8", "gbk"] {
        let bytes = encoded(&long, name);
        let mut text = String::new();
        One(Decoder::new(One(&*bytes), None)).read_to_string(&mut text).expect("text");
        assert!(text == long, "{name}");
    }
}

#[test]
fn damage_is_an_error() {
    let read = |bytes: &[u8], named: Option<&str>| {
        let mut events = Events::new(Decoder::new(bytes, named.map(label)), Limits::default());
        loop {
            match events.next() {
                Ok(Some(_)) => {}
                Ok(None) => return None,
                Err(error) => return Some(error.code()),
            }
        }
    };
    assert_eq!(read(b"a: 1\nb: \x81\x20\n", Some("gbk")), Some(Code::NotUtf8));
    assert_eq!(read(b"\xff\xfea\0:\0 \0\x00\xd8x\0", None), Some(Code::NotUtf8));
    for at in [1, 99] {
        let mut text = CHINESE.repeat(at).into_bytes();
        text.extend(b"b: \xff\n");
        text.extend(CHINESE.repeat(100 - at).into_bytes());
        assert_eq!(read(&text, None), Some(Code::NotUtf8));
    }
}

#[test]
fn one_bad_byte_among_few_characters_is_damage_of_utf_8() {
    let encoding = |bytes: &[u8]| {
        let mut decoder = Decoder::new(bytes, None);
        std::io::copy(&mut decoder, &mut std::io::sink()).expect("bytes");
        decoder.found().encoding.name()
    };
    for text in ["é é é é", "é 😀 é 😀", "写一", "😀 é"] {
        let bytes = [b"a: ", text.as_bytes(), b" \xff b\n"].concat();
        assert_eq!(encoding(&bytes), "UTF-8", "{text}");
    }
    for (text, name) in [("a: é\u{a0}b é", "windows-1252"), ("茅茅哪些泊位是空的", "GBK")]
    {
        assert_eq!(encoding(&encoded(text, name)), name, "{text}");
    }
}

#[test]
fn files_of_windows_releases_pass_unchanged() {
    let Some(corpus) = common::corpus("files_of_windows_releases") else { return };
    for (file, name) in [("b_gbk_windows", "GBK"), ("b_utf16", "UTF-16LE"), ("b_bom", "UTF-8")] {
        let bytes = common::read(&corpus.join(format!("connectonion/mut/{file}.yaml")));
        let (text, found, mark, _) = decoded(&bytes, None);
        assert_eq!(found, name);
        let text = if mark { format!("\u{feff}{text}") } else { text };
        common::assert_same(&encoded(&text, name), &bytes, file);
    }
}
