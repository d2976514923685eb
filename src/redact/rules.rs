//! The rules by which secrets are found: those of the program, and those of the user.

use super::commands::{COMMANDS, Command};
use super::names::{WORDS, Word};
use super::places::FOLDERS;
use super::shapes::{SHAPES, Shape};
use super::spelled::{Read, SIGNS};
use super::{Found, Search, encoded, files, headers, named, names, places, private_keys, shapes};
use aho_corasick::{AhoCorasick, AhoCorasickKind};
use memchr::{memchr3_iter, memmem};
use regex::Regex;
use std::borrow::Cow;

/// A pattern of the user.
#[derive(Clone, Debug)]
pub struct Pattern {
    /// Kind of what it finds, as the mark names it.
    pub name: String,
    /// Regular expression.
    pub regex: String,
}

/// The user's own rules.
#[derive(Clone, Debug, Default)]
pub struct Custom {
    /// Patterns, each with the kind of what it finds.
    pub patterns: Vec<Pattern>,
    /// Words that are masked wherever they occur as whole words.
    pub words: Vec<String>,
    /// Names of users.
    pub users: Vec<String>,
}

/// Kind of what begins at a place.
#[derive(Clone, Copy, Debug)]
enum Anchor {
    Shape(&'static Shape),
    /// The beginning of a token as base64 spells it, with its place in a group.
    Encoded(usize),
    Named(Word),
    Authorization(&'static str),
    Cookie,
    Command(&'static Command),
    Netrc(&'static str),
    KeyBegin,
    KeyEnd,
    Home(&'static str),
    /// An `@` as an escape.
    At(usize),
    /// A sign by which the text can be read in another way.
    Sign,
}

/// Rules by which secrets are found, ready for many sessions.
#[derive(Debug)]
pub struct Rules {
    /// Search for the beginnings, each of which is an anchor.
    beginnings: AhoCorasick,
    anchors: Vec<Anchor>,
    patterns: Vec<(String, Regex)>,
    words: Vec<Whole>,
    users: Vec<String>,
}

/// Kind of the user's own words.
const WORD: &str = "word";

/// An `@` as JSON, and as the address of a page, spells it.
const ESCAPED_AT: &[&str] = &["\\u0040", "%40"];

/// Names that many machines give their user, and that are words of many texts.
const COMMON: &[&str] = &[
    "user",
    "users",
    "username",
    "root",
    "admin",
    "administrator",
    "home",
    "test",
    "dev",
    "developer",
    "runner",
    "ubuntu",
    "debian",
    "node",
    "app",
    "work",
    "workspace",
    "vscode",
    "codespace",
    "build",
    "git",
    "docker",
    "guest",
    "default",
    "public",
    "shared",
    "agent",
    "claude",
    "name",
    "you",
    "python",
    "www",
    "data",
    "project",
    "projects",
    "src",
    "sandbox",
    "coder",
    "vagrant",
    "demo",
    "example",
    "null",
    "text",
    "message",
    "your",
    "yourname",
    "someone",
    "model",
    "tool",
    "content",
];

/// Whether a user's name is a word that means this user wherever it occurs.
pub(super) fn is_distinct(name: &str) -> bool {
    name.chars().count() >= 3 && !COMMON.contains(&name.to_ascii_lowercase().as_str())
}

impl Rules {
    /// Prepares the rules of the program and of the user.
    pub fn of(custom: &Custom) -> Result<Self, String> {
        let mut beginnings: Vec<Cow<'static, str>> = Vec::new();
        let mut anchors = Vec::new();
        let mut add = |text: &'static str, anchor| {
            beginnings.push(text.into());
            anchors.push(anchor);
        };
        SHAPES.iter().for_each(|shape| add(shape.prefix, Anchor::Shape(shape)));
        WORDS.iter().for_each(|word| add(word.text, Anchor::Named(*word)));
        for word in [headers::BEARER, headers::AUTHORIZATION] {
            add(word, Anchor::Authorization(word));
        }
        add(headers::COOKIE, Anchor::Cookie);
        COMMANDS.iter().for_each(|command| add(command.name, Anchor::Command(command)));
        files::ENTRIES.iter().for_each(|entry| add(entry, Anchor::Netrc(entry)));
        SIGNS.iter().for_each(|sign| add(sign, Anchor::Sign));
        add(private_keys::BEGIN, Anchor::KeyBegin);
        add(private_keys::END, Anchor::KeyEnd);
        FOLDERS.iter().for_each(|folder| add(folder, Anchor::Home(folder)));
        ESCAPED_AT.iter().for_each(|at| add(at, Anchor::At(at.len())));
        for (text, place) in SHAPES.iter().flat_map(|shape| encoded::spellings(shape.prefix)) {
            beginnings.push(text.into());
            anchors.push(Anchor::Encoded(place));
        }
        let beginnings = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .kind(Some(AhoCorasickKind::DFA))
            .build(beginnings.iter().map(|text| text.as_bytes()))
            .map_err(|error| error.to_string())?;
        let patterns = custom.patterns.iter().map(pattern).collect::<Result<_, _>>()?;
        let filled = |list: &[String]| -> Vec<String> {
            list.iter().filter(|word| !word.is_empty()).cloned().collect()
        };
        let words = filled(&custom.words).iter().map(|word| Whole::of(word)).collect();
        let users = filled(&custom.users);
        Ok(Self { beginnings, anchors, patterns, words, users })
    }

    /// Names of users that the user gave.
    pub(super) fn users(&self) -> &[String] {
        &self.users
    }

    /// Whether marks have this kind.
    pub(super) fn knows(&self, kind: &str) -> bool {
        let own = |known: &str| known == kind;
        let known = shapes::kinds().chain(names::kinds()).chain(headers::kinds());
        known.chain(places::kinds()).any(own)
            || kind == WORD
            || self.patterns.iter().any(|(name, _)| name == kind)
    }

    /// Searches a text for everything but the names of users.
    pub(super) fn search<'r>(&'r self, search: &mut Search<'_, 'r>) {
        if self.search_as_spelled(search) {
            let read = Read::of(search.text);
            let mut inner = Search::new(&read.text);
            self.search_as_spelled(&mut inner);
            inner.found.iter().for_each(|one| search.add(read.original(*one)));
        }
    }

    /// Searches a text as it is spelled, and returns whether it can be read in another way.
    fn search_as_spelled<'r>(&'r self, search: &mut Search<'_, 'r>) -> bool {
        let signs = self.beginnings(search, |_| true);
        let text = search.text;
        for at in memchr3_iter(b'@', b':', b'.', text.as_bytes()) {
            match text.as_bytes().get(at) {
                Some(b'@') => places::email(search, at, 1),
                Some(b':') => {
                    places::credentials(search, at);
                    shapes::around_colon(search, at);
                    files::pgpass(search, at);
                }
                _ => shapes::around_dot(search, at),
            }
        }
        shapes::others(search);
        for (kind, regex) in &self.patterns {
            let found = regex.find_iter(text).filter(|found| !found.is_empty());
            found.for_each(|one| search.add(Found { start: one.start(), end: one.end(), kind }));
        }
        self.words.iter().for_each(|own| own.find(search, WORD));
        signs
    }

    /// Searches a text only for keys and tokens that their shapes show.
    pub(super) fn search_shapes<'r>(&'r self, search: &mut Search<'_, 'r>) {
        self.beginnings(search, |anchor| {
            matches!(anchor, Anchor::Shape(_) | Anchor::KeyBegin | Anchor::Authorization(_))
        });
    }

    /// Searches a text only for tokens that have beginnings.
    pub(super) fn search_tokens<'r>(&'r self, search: &mut Search<'_, 'r>) {
        self.beginnings(search, |anchor| matches!(anchor, Anchor::Shape(_)));
    }

    /// Returns the words of secrets that a name contains, each with its last place, in the order of
    /// their list.
    pub(super) fn words_of(&self, name: &str) -> Vec<(Word, usize)> {
        let mut found: Vec<(usize, usize, Word)> = Vec::new();
        for one in self.beginnings.find_overlapping_iter(name) {
            let number = one.pattern().as_usize();
            if let Some(Anchor::Named(word)) = self.anchors.get(number) {
                found.retain(|(known, ..)| *known != number);
                found.push((number, one.start(), *word));
            }
        }
        found.sort_unstable_by_key(|(number, ..)| *number);
        found.into_iter().map(|(_, at, word)| (word, at)).collect()
    }

    /// Searches a text for what the wanted beginnings introduce, and returns whether it contains a
    /// sign by which it can be read in another way. One beginning may be a part of another.
    fn beginnings<'r>(
        &'r self,
        search: &mut Search<'_, 'r>,
        wanted: impl Fn(&Anchor) -> bool,
    ) -> bool {
        let mut signs = false;
        for one in self.beginnings.find_overlapping_iter(search.text) {
            let anchor = self.anchors.get(one.pattern().as_usize());
            let Some(anchor) = anchor.filter(|anchor| wanted(anchor)) else { continue };
            let at = one.start();
            match *anchor {
                Anchor::Shape(shape) => shape.find(search, at),
                Anchor::Encoded(place) => {
                    encoded::find(search, at, place, |inner| self.search_tokens(inner));
                }
                Anchor::Named(word) => named::find(search, at, word),
                Anchor::Authorization(word) => headers::authorization(search, at, word),
                Anchor::Cookie => headers::cookies(search, at),
                Anchor::Command(command) => command.find(search, at),
                Anchor::Netrc(entry) => files::netrc(search, at, entry),
                Anchor::KeyBegin => private_keys::from_begin(search, at),
                Anchor::KeyEnd => private_keys::from_end(search, at),
                Anchor::Home(folder) => places::home(search, at, folder),
                Anchor::At(length) => places::email(search, at, length),
                Anchor::Sign => signs = true,
            }
        }
        signs
    }
}

/// Prepares a pattern of the user.
fn pattern(pattern: &Pattern) -> Result<(String, Regex), String> {
    let Pattern { name, regex } = pattern;
    if name.trim().is_empty() || name.contains(['[', ']', '\n']) {
        return Err(format!("`{name}` is no name for a pattern"));
    }
    let regex = Regex::new(regex).map_err(|error| format!("pattern `{name}`: {error}"))?;
    Ok((name.clone(), regex))
}

/// Text that is searched for as a whole word.
#[derive(Clone, Debug)]
pub(super) struct Whole(memmem::Finder<'static>);

impl Whole {
    pub(super) fn of(word: &str) -> Self {
        Self(memmem::Finder::new(word).into_owned())
    }

    /// Returns the text.
    pub(super) fn text(&self) -> &[u8] {
        self.0.needle()
    }

    pub(super) fn find<'r>(&self, search: &mut Search<'_, 'r>, kind: &'r str) {
        let text = search.text;
        for start in self.0.find_iter(text.as_bytes()) {
            let end = start + self.text().len();
            let after = text.get(end..).and_then(|rest| rest.chars().next());
            if search.is_boundary(start) && !after.is_some_and(char::is_alphanumeric) {
                search.add(Found { start, end, kind });
            }
        }
    }
}
