//! Masks secrets in the texts of a session: keys, tokens, passwords, e-mail addresses, the folders
//! and names of users, and what the user's own patterns find.
//!
//! ```
//! use copyist::redact::{Custom, Redactor, Rules};
//! let rules = Rules::of(&Custom::default())?;
//! let redactor = Redactor::new(&rules);
//! let text = "ada@example.org wrote /home/ada/.env: API_KEY=x9y8z7";
//! let masked = "[masked e-mail 1] wrote ~/.env: API_KEY=[masked API key 1]";
//! assert_eq!(redactor.text(text), masked);
//! assert_eq!(redactor.text(masked), masked);
//! assert_eq!(redactor.counts().get("e-mail"), Some(&1));
//! # Ok::<(), String>(())
//! ```
//!
//! A search for the beginnings of all shapes finds the places, in one walk over a text, and a
//! function for each shape checks what is there. Each looks at a limited part of the text, so the
//! time is in proportion to its length.

mod assigned;
mod commands;
mod encoded;
mod files;
mod headers;
mod named;
mod names;
mod places;
mod private_keys;
mod records;
mod rules;
mod shapes;
mod spelled;
mod values;

pub use rules::{Custom, Pattern, Rules};

use crate::ids::hash;
use places::HOME;
use rules::Whole;
use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};

/// Kind of a user's name.
const USER: &str = "user name";

/// Beginning of the mark in the place of a secret; the kind, a number and a bracket follow.
const MARK: &str = "[masked ";

/// A secret in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Found<'r> {
    start: usize,
    end: usize,
    kind: &'r str,
}

/// Search for the secrets of one text.
struct Search<'t, 'r> {
    text: &'t str,
    found: Vec<Found<'r>>,
    /// Ends of the found secret that goes on longest.
    last: (usize, usize),
    /// End of the last long run of characters that was no token, and how often one was tried.
    failed: (usize, u32),
}

/// How often a token is looked for in a run of characters that contains none.
const TRIES: u32 = 16;

impl<'t, 'r> Search<'t, 'r> {
    fn new(text: &'t str) -> Self {
        Self { text, found: Vec::new(), last: (0, 0), failed: (0, 0) }
    }

    fn add(&mut self, found: Found<'r>) {
        if found.end > self.last.1 {
            self.last = (found.start, found.end);
        }
        self.found.push(found);
    }

    /// Whether this place is inside a secret that was found, or in a run that was tried often enough.
    fn is_done(&self, at: usize) -> bool {
        let (start, end) = self.last;
        start < at && at < end || at < self.failed.0 && self.failed.1 > TRIES
    }

    /// Notes that a run of characters from `at` to `end` is no token.
    fn fail(&mut self, at: usize, end: usize) {
        let tries = if at < self.failed.0 { self.failed.1 + 1 } else { 1 };
        self.failed = (end.max(self.failed.0), tries);
    }

    /// Whether the letter at this place is the second character of an escape such as `\n`.
    fn is_escape(&self, at: usize) -> bool {
        let bytes = self.text.as_bytes();
        let letter = matches!(bytes.get(at), Some(b'n' | b'r' | b't'));
        let before = bytes.get(..at).unwrap_or_default().iter().rev().take(16);
        letter && before.take_while(|byte| **byte == b'\\').count() % 2 == 1
    }

    /// Whether a word can begin at this place: no letter or digit precedes it, except in an escape.
    fn is_boundary(&self, at: usize) -> bool {
        let before = self.text.as_bytes().get(..at).unwrap_or_default();
        let Some(last) = before.last() else { return true };
        let is_hexadecimal = |digits: &[u8]| digits.iter().all(u8::is_ascii_hexdigit);
        let escape = match before {
            [.., b'%', a, b] => is_hexadecimal(&[*a, *b]),
            [.., b'\\', b'u', a, b, c, d] => is_hexadecimal(&[*a, *b, *c, *d]),
            _ => self.is_escape(at - 1),
        };
        escape || !(last.is_ascii_alphanumeric() || *last >= 0x80)
    }
}

/// Masks the secrets of one session. The same secret gets the same mark everywhere.
#[derive(Debug)]
pub struct Redactor<'r> {
    rules: &'r Rules,
    state: RefCell<State<'r>>,
}

/// Secrets and names that were met.
#[derive(Debug, Default)]
struct State<'r> {
    /// Numbers of secrets, by their kinds and hashes.
    numbers: HashMap<(&'r str, u64), u64>,
    /// How many secrets of each kind have a number.
    known: HashMap<&'r str, u64>,
    /// How often each kind was masked.
    counts: BTreeMap<&'r str, u64>,
    /// Names of the users in whose folders the session was held, also in capital letters.
    users: Vec<Whole>,
}

impl<'r> Redactor<'r> {
    /// Begins a session.
    pub fn new(rules: &'r Rules) -> Self {
        let users = rules.users().iter().flat_map(|name| spellings(name)).collect();
        Self { rules, state: RefCell::new(State { users, ..State::default() }) }
    }

    /// Adds the name of the user to whose folder a path leads. It is masked in all further texts.
    pub fn learn(&self, path: &str) {
        let Some(name) = places::user_of(path) else { return };
        let users = &mut self.state.borrow_mut().users;
        if !users.iter().any(|known| known.text() == name.as_bytes()) && rules::is_distinct(name) {
            users.extend(spellings(name));
        }
    }

    /// Returns a text with its secrets masked.
    pub fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut search = Search::new(text);
        self.rules.search(&mut search);
        for user in &self.state.borrow().users {
            user.find(&mut search, USER);
        }
        match search.found.is_empty() {
            true => Cow::Borrowed(text),
            false => self.masked(text, search.found),
        }
    }

    /// Returns the text of an identifier, in which only keys and tokens are masked.
    fn identifier<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut search = Search::new(text);
        self.rules.search_shapes(&mut search);
        match search.found.is_empty() {
            true => Cow::Borrowed(text),
            false => self.masked(text, search.found),
        }
    }

    /// Returns the mark in the place of a whole text, whose kind its shape shows, or else its name.
    fn whole(&self, text: &str, kind: &'r str) -> String {
        let mut search = Search::new(text);
        self.rules.search(&mut search);
        let whole = |one: &&Found<'r>| one.start == 0 && one.end == text.len();
        let shown = search.found.iter().filter(whole).map(|one| one.kind);
        self.mark(text, shown.max_by_key(|kind| rank(kind)).unwrap_or(kind))
    }

    /// Returns the mark in the place of a secret.
    fn mark(&self, text: &str, kind: &'r str) -> String {
        let state = &mut *self.state.borrow_mut();
        *state.counts.entry(kind).or_default() += 1;
        match kind {
            HOME => return "~".to_owned(),
            USER => return "[user]".to_owned(),
            _ => {}
        }
        let number = state.numbers.entry((kind, hash(text.as_bytes()))).or_insert_with(|| {
            let known = state.known.entry(kind).or_default();
            *known += 1;
            *known
        });
        format!("{MARK}{kind} {number}]")
    }

    fn masked<'t>(&self, text: &'t str, found: Vec<Found<'r>>) -> Cow<'t, str> {
        let found = self.joined(text, found);
        if found.is_empty() {
            return Cow::Borrowed(text);
        }
        let mut out = String::with_capacity(text.len());
        let mut at = 0;
        for Found { start, end, kind } in found {
            out.push_str(text.get(at..start).unwrap_or_default());
            out.push_str(&self.mark(text.get(start..end).unwrap_or_default(), kind));
            at = end;
        }
        out.push_str(text.get(at..).unwrap_or_default());
        Cow::Owned(out)
    }

    /// Returns what was found in the order of the text. What overlaps is one secret; marks of an
    /// earlier run stay.
    fn joined(&self, text: &str, mut found: Vec<Found<'r>>) -> Vec<Found<'r>> {
        let marks = self.marks(text);
        found.retain(|one| {
            let after = marks.partition_point(|(_, end)| *end <= one.start);
            marks.get(after).is_none_or(|(start, _)| *start >= one.end)
        });
        found.sort_by_key(|one| (one.start, std::cmp::Reverse(one.end)));
        let mut out: Vec<Found<'r>> = Vec::with_capacity(found.len());
        for one in found {
            match out.last_mut().filter(|last| one.start < last.end) {
                Some(last) => {
                    let same = one.start == last.start && one.end == last.end;
                    let weak = same || rank(last.kind) <= rank(HOME);
                    // Of two shapes, the later one has the longer beginning.
                    let shaped = rank(one.kind) == SHAPED && rank(last.kind) == SHAPED;
                    if weak && (shaped || rank(one.kind) > rank(last.kind)) {
                        last.kind = one.kind;
                    }
                    last.end = last.end.max(one.end);
                }
                None => out.push(one),
            }
        }
        out
    }

    /// Returns the places of the marks in a text.
    fn marks(&self, text: &str) -> Vec<(usize, usize)> {
        let mark = |(at, _): (usize, &str)| {
            let inside = text.get(at + MARK.len()..)?;
            let inside = inside.get(..inside.find(']')?)?;
            let (kind, number) = inside.rsplit_once(' ')?;
            let known = number.bytes().all(|b| b.is_ascii_digit()) && self.rules.knows(kind);
            known.then_some((at, at + MARK.len() + inside.len() + 1))
        };
        let user = text.match_indices("[user]").map(|(at, user)| (at, at + user.len()));
        let mut marks: Vec<_> = text.match_indices(MARK).filter_map(mark).chain(user).collect();
        marks.sort_unstable();
        marks
    }

    /// Returns how many texts were masked, by their kinds.
    pub fn counts(&self) -> BTreeMap<String, u64> {
        let state = self.state.borrow();
        state.counts.iter().map(|(kind, count)| ((*kind).to_owned(), *count)).collect()
    }
}

/// Returns the ways to write the name of a user.
fn spellings(name: &str) -> [Whole; 2] {
    [Whole::of(name), Whole::of(&name.to_uppercase())]
}

/// Rank of a kind that the shape of a secret shows.
const SHAPED: u8 = 3;

/// Rank of a kind where two were found at one place: names, paths, values that only their names
/// show, and then what its shape shows.
fn rank(kind: &str) -> u8 {
    match kind {
        USER => 0,
        HOME => 1,
        "password" | "secret" | "token" | shapes::API_KEY => 2,
        _ => SHAPED,
    }
}

#[cfg(test)]
mod tests;
