//! Random documents in random spelling, and random edits of their data.

use super::parse::parse;
use super::tree::{Entry, Kind, Node, Tree};
use super::{merge, merged};
use crate::error::Result;
use crate::yaml::write::{Emitter, Style};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use std::io::{Cursor, Read};
use std::rc::Rc;

/// Data of a document.
#[derive(Clone, Debug, PartialEq)]
enum Data {
    Null,
    Text(String),
    Number(u32),
    List(Vec<Data>),
    Map(Vec<(String, Data)>),
}

/// Pseudo-random numbers, for decisions.
struct Dice(TestRng);

impl Dice {
    fn of(seed: u64) -> Self {
        let seed: Vec<u8> = seed.to_le_bytes().into_iter().cycle().take(32).collect();
        Self(TestRng::from_seed(RngAlgorithm::ChaCha, &seed))
    }

    fn below(&mut self, n: usize) -> usize {
        (self.0.next_u32() as usize) % n.max(1)
    }

    fn one_of(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    fn text(&mut self) -> String {
        const PIECES: &[&str] = &[
            "a", "word", " ", "\n", "it's", "\"", ": ", " #", "- ", "[", ",", "yes", "12", "é",
            "\n\n", "  ", "\t", "|", "{x}", "\n  ", "&a", "*", "ü!",
        ];
        let count = 1 + self.below(5);
        (0..count).map(|_| PIECES[self.below(PIECES.len())]).collect()
    }

    fn data(&mut self, depth: usize) -> Data {
        match self.below(if depth == 0 { 4 } else { 9 }) {
            0 if self.one_of(3) => Data::Null,
            0..3 => Data::Text(self.text()),
            3 => Data::Number(self.0.next_u32() % 1000),
            4..6 => {
                let count = self.below(4);
                Data::List((0..count).map(|_| self.data(depth - 1)).collect())
            }
            _ => self.map(depth - 1),
        }
    }

    fn map(&mut self, depth: usize) -> Data {
        let count = self.below(5);
        let mut members: Vec<(String, Data)> = Vec::new();
        for _ in 0..count {
            let key = self.key();
            if members.iter().all(|(known, _)| *known != key) {
                members.push((key, self.data(depth)));
            }
        }
        Data::Map(members)
    }

    fn key(&mut self) -> String {
        const KEYS: &[&str] = &["role", "id", "k", "text", "two words", "7", "no", "x-y", "é", "n"];
        KEYS[self.below(KEYS.len())].to_owned()
    }

    /// Makes one or several edits.
    fn edited(&mut self, data: &Data) -> Data {
        match data {
            Data::List(items) => {
                let mut items = items.clone();
                match self.below(4) {
                    0 if !items.is_empty() => drop(items.remove(self.below(items.len()))),
                    1 => items.insert(self.below(items.len() + 1), self.data(2)),
                    _ => {
                        let at = self.below(items.len());
                        items.get_mut(at).into_iter().for_each(|item| *item = self.edited(item));
                    }
                }
                Data::List(items)
            }
            Data::Map(members) => {
                let mut members = members.clone();
                let key = self.key();
                let is_new = members.iter().all(|(known, _)| *known != key);
                let at = self.below(members.len());
                match self.below(6) {
                    0 if !members.is_empty() => drop(members.remove(at)),
                    1 if is_new => members.insert(at, (key, self.data(2))),
                    2 if is_new && !members.is_empty() => members[at].0 = key,
                    3 => {
                        members.iter_mut().for_each(|member| member.1 = self.edited(&member.1));
                    }
                    _ => {
                        let member = members.get_mut(at);
                        member.into_iter().for_each(|member| member.1 = self.edited(&member.1));
                    }
                }
                Data::Map(members)
            }
            Data::Number(number) if self.one_of(2) => Data::Text(number.to_string()),
            _ if self.one_of(4) => self.data(2),
            _ => Data::Text(self.text()),
        }
    }
}

/// Spells data as the format's writer does.
fn written(data: &Data, yaml: &mut Emitter) {
    match data {
        Data::Null => drop(yaml.plain("null")),
        Data::Text(text) => drop(yaml.string(text.as_str())),
        Data::Number(number) => drop(yaml.plain(&number.to_string())),
        Data::List(items) => {
            yaml.begin_sequence();
            items.iter().for_each(|item| written(item, yaml));
            yaml.end();
        }
        Data::Map(members) => {
            yaml.begin_mapping();
            for (key, value) in members {
                yaml.string(key.as_str());
                written(value, yaml);
            }
            yaml.end();
        }
    }
}

fn by_writer(data: &Data) -> String {
    let mut yaml = Emitter::new(Style::PyYaml);
    written(data, &mut yaml);
    String::from_utf8(yaml.finish()).expect("UTF-8")
}

/// Spells data by hand: with comments, empty lines, brackets, blocks and quotes.
struct Hand<'d> {
    dice: &'d mut Dice,
    out: String,
}

impl Hand<'_> {
    fn quoted(&mut self, text: &str) -> String {
        let is_word = text.starts_with(|c: char| c.is_ascii_alphabetic())
            && text.chars().all(|c| c.is_alphanumeric() || c == '-')
            && !["yes", "no", "n"].contains(&text);
        match self.dice.below(3) {
            0 if is_word => text.to_owned(),
            1 if !text.contains(['\n', '\t']) => format!("'{}'", text.replace('\'', "''")),
            _ => format!("{text:?}").replace("\\'", "'"),
        }
    }

    fn flow(&mut self, data: &Data) -> String {
        let space = |hand: &mut Self| if hand.dice.one_of(2) { " " } else { "" };
        match data {
            Data::Null if self.dice.one_of(2) => "~".to_owned(),
            Data::Null => "null".to_owned(),
            Data::Text(text) => self.quoted(text),
            Data::Number(number) => number.to_string(),
            Data::List(items) => {
                let items: Vec<_> = items.iter().map(|item| self.flow(item)).collect();
                format!("[{}{}{}]", space(self), items.join(", "), space(self))
            }
            Data::Map(members) => {
                let member = |hand: &mut Self, (key, value): &(String, Data)| {
                    format!("{}: {}", hand.quoted(key), hand.flow(value))
                };
                let members: Vec<_> = members.iter().map(|m| member(self, m)).collect();
                format!("{{{}{}{}}}", space(self), members.join(", "), space(self))
            }
        }
    }

    fn comment(&mut self) {
        if self.dice.one_of(5) {
            self.out.push_str("  # it's a comment: [1]");
        }
        self.out.push('\n');
    }

    /// Writes a line that says nothing.
    fn blank(&mut self, indent: usize) {
        match self.dice.below(9) {
            0 => self.out.push('\n'),
            1 => self.out.push_str(&format!("{}# over {indent}\n", " ".repeat(indent))),
            _ => {}
        }
    }

    /// Writes a value behind its `-` or `:`, up to the end of its last line.
    fn value(&mut self, data: &Data, indent: usize, item: bool) {
        let step = 1 + self.dice.below(4);
        match data {
            Data::Null if self.dice.one_of(2) => self.comment(),
            Data::Text(text) if self.dice.one_of(2) && is_block(text) => {
                let chomp = if text.ends_with('\n') { "" } else { "-" };
                self.out.push_str(&format!(" |{chomp}"));
                self.comment();
                let pad = " ".repeat(indent + step);
                for line in text.strip_suffix('\n').unwrap_or(text).split('\n') {
                    let pad = if line.is_empty() { "" } else { pad.as_str() };
                    self.out.push_str(&format!("{pad}{line}\n"));
                }
            }
            Data::List(items) if !items.is_empty() && self.dice.below(4) > 0 => {
                // A list may be as deep as its key.
                let level = !item && self.dice.one_of(2);
                let inner = if level { indent } else { indent + step };
                if item && self.dice.one_of(2) {
                    self.out.push_str(&" ".repeat(step));
                    return self.items(items, indent + 1 + step, true);
                }
                self.comment();
                self.items(items, inner, false);
            }
            Data::Map(members) if !members.is_empty() && self.dice.below(4) > 0 => {
                if item && self.dice.one_of(2) {
                    self.out.push_str(&" ".repeat(step));
                    return self.members(members, indent + 1 + step, true);
                }
                self.comment();
                self.members(members, indent + step, false);
            }
            data => {
                let text = self.flow(data);
                self.out.push_str(&format!(" {text}"));
                self.comment();
            }
        }
    }

    fn items(&mut self, items: &[Data], indent: usize, mut inline: bool) {
        for item in items {
            if !std::mem::take(&mut inline) {
                self.blank(indent);
                self.out.push_str(&" ".repeat(indent));
            }
            self.out.push('-');
            self.value(item, indent, true);
        }
    }

    fn members(&mut self, members: &[(String, Data)], indent: usize, mut inline: bool) {
        for (key, value) in members {
            if !std::mem::take(&mut inline) {
                self.blank(indent);
                self.out.push_str(&" ".repeat(indent));
            }
            let key = self.quoted(key);
            self.out.push_str(&format!("{key}:"));
            self.value(value, indent, false);
        }
    }
}

fn is_block(text: &str) -> bool {
    let body = text.strip_suffix('\n').unwrap_or(text);
    !text.starts_with([' ', '\t', '\n']) && !body.ends_with(['\n', ' ', '\t'])
}

fn by_hand(data: &Data, dice: &mut Dice) -> String {
    let Data::Map(members) = data else { panic!("{data:?}") };
    let mut hand = Hand { dice, out: String::from("# first\n") };
    if members.is_empty() {
        return "# first\n{}\n".to_owned();
    }
    hand.members(members, 0, false);
    match hand.dice.below(4) {
        0 => hand.out.replace('\n', "\r\n"),
        1 => hand.out.trim_end_matches('\n').to_owned(),
        2 => format!("---\n{}...\n", hand.out),
        _ => hand.out,
    }
}

fn meaning(text: &str) -> Option<[u8; 16]> {
    let tree = parse(text.as_bytes())?;
    tree.root.map(|root| tree.node(root).hash)
}

fn check(seed: u64, edits: usize) -> std::result::Result<(), TestCaseError> {
    let mut dice = Dice::of(seed);
    let old = dice.map(3);
    let mut new = old.clone();
    for _ in 0..edits {
        new = dice.edited(&new);
    }
    let source = by_hand(&old, &mut dice);
    let (before, after) = (by_writer(&old), by_writer(&new));
    prop_assert_eq!(meaning(&source), meaning(&before), "{}\n{}", source, before);
    for found in [in_memory(&source, &before, &after), by_parts(&source, &before, &after)] {
        let Some(found) = found else {
            return Err(TestCaseError::fail(format!("no result\n{source}\n{before}\n{after}")));
        };
        check_merged([&source, &before, &after, &found], edits)?;
    }
    Ok(())
}

fn in_memory(source: &str, before: &str, after: &str) -> Option<String> {
    let found = merged(source.as_bytes(), before.as_bytes(), after.as_bytes());
    Some(String::from_utf8(found?).expect("UTF-8"))
}

fn by_parts(source: &str, before: &str, after: &str) -> Option<String> {
    let opened = |text: &str| {
        let text = Rc::new(text.as_bytes().to_vec());
        move |at: u64| -> Result<Box<dyn Read>> {
            Ok(Box::new(Cursor::new(text[at as usize..].to_vec())))
        }
    };
    let (mut source, mut before, mut after) = (opened(source), opened(before), opened(after));
    let mut out = Vec::new();
    let merged = merge(&mut source, &mut before, &mut after, &mut out);
    merged.expect("no error").then(|| String::from_utf8(out).expect("UTF-8"))
}

/// Checks what a merge made of a source, and the texts before and after the edits.
fn check_merged(texts: [&str; 4], edits: usize) -> std::result::Result<(), TestCaseError> {
    let [source, before, after, found] = texts;
    let shown =
        || format!("source:\n{source}\nbefore:\n{before}\nafter:\n{after}\nfound:\n{found}");
    prop_assert_eq!(meaning(found), meaning(after), "{}", shown());
    if edits == 0 {
        prop_assert_eq!(found, source);
    }
    let [own, old, new, merged] = texts.map(|text| parse(text.as_bytes()).expect("YAML"));
    let roots = [&own, &old, &new, &merged].map(|tree| Some((tree, tree.node(tree.root?))));
    let [Some(own), Some(old), Some(new), Some(merged)] = roots else { panic!("no root") };
    check_members([own, old, new, merged], &shown)
}

/// Checks that each member that was not edited has the bytes that it had.
fn check_members(
    four: [(&Tree<'_>, &Node); 4],
    shown: &dyn Fn() -> String,
) -> std::result::Result<(), TestCaseError> {
    let [(own_tree, own), ..] = four;
    if four.iter().any(|(_, node)| !matches!(node.kind, Kind::Mapping(_))) {
        return Ok(());
    }
    for key in own.entries.iter().filter_map(|entry| entry.key) {
        let name = &own_tree.node(key).text;
        let members = four.map(|(tree, node)| {
            let mut entries = node.entries.iter();
            let entry = entries.find(|e| e.key.is_some_and(|key| tree.node(key).text == *name))?;
            Some((entry, tree, tree.value(entry)))
        });
        let [Some(own), Some(old), Some(new), Some(merged)] = members else { continue };
        if old.2.hash == new.2.hash {
            let bytes = |(entry, tree, node): (&Entry, &Tree<'_>, &Node)| {
                String::from_utf8_lossy(&tree.text[entry.start..node.end]).into_owned()
            };
            prop_assert_eq!(bytes(own), bytes(merged), "{}", shown());
        } else {
            check_members([own, old, new, merged].map(|(_, tree, node)| (tree, node)), shown)?;
        }
    }
    Ok(())
}

#[test]
fn edits_of_random_documents_change_what_was_edited_and_no_more() {
    let config = Config { cases: 2000, failure_persistence: None, ..Config::default() };
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(config, rng);
    let result =
        runner.run(&(any::<u64>().no_shrink(), 0..4usize), |(seed, edits)| check(seed, edits));
    result.unwrap_or_else(|error| panic!("{error}"));
}
