//! A JSON text as a list of its values, each found once.
//!
//! Values stand in the order of the text, a list or an object before what is in it. So what is
//! inside of a value are the entries right behind its own, and nothing is kept for a value but
//! where it stands.

use crate::ids::fingerprint;
use crate::json::{Cursor, Fault, Json, Span, text};
use bytes::Bytes;
use std::borrow::Cow;
use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;

/// How deep values are looked into.
pub const DEEPEST: usize = 24;

/// Most lines have no more values.
const USUAL: usize = 48;

/// So many values are gone through one by one.
const FEW: usize = 16;

/// Members of an object by the hashes of their names, those of one hash in their order.
type Index = Vec<(u64, usize)>;

/// A text and where its values stand.
pub struct Outline {
    text: Bytes,
    list: Vec<Entry>,
    /// Whether there is no white space anywhere between values.
    tight: bool,
    /// Whether no string has another spelling with fewer escapes, once that is asked for.
    simple: OnceCell<bool>,
    names_plain: bool,
    /// The members of objects with more than a few, once one of those is asked for: by how their names
    /// are spelled, and by what they are.
    spelled: RefCell<HashMap<usize, Index>>,
    named: RefCell<HashMap<usize, Index>>,
    /// What stands inside of values with more than a few, once the way to one of those is asked for.
    inner: RefCell<HashMap<usize, Vec<usize>>>,
}

/// Where a value stands.
#[derive(Clone, Copy)]
struct Entry {
    /// Its name, quotes included; empty for what has none.
    key: Span,
    value: Span,
    /// The entry behind the last one that is inside of it.
    after: usize,
    /// Whether there is no white space between its parts.
    tight: bool,
}

impl Outline {
    /// That of a text which was checked.
    pub fn of(text: Bytes) -> Self {
        let list = Vec::with_capacity(USUAL);
        let mut walk = Walk { cursor: Cursor::new(&text), list, tight: true };
        // The bytes are known to be JSON, so the walk ends where the value does.
        walk.value(Span { start: 0, end: 0 }, 0).unwrap_or_default();
        let Walk { list, tight, .. } = walk;
        let odd = |entry: &Entry| match entry.key.of(&text) {
            b"\"\"" => true,
            key => key.contains(&b'\\'),
        };
        Self {
            names_plain: !list.iter().any(odd),
            list,
            tight,
            simple: OnceCell::new(),
            spelled: RefCell::default(),
            named: RefCell::default(),
            inner: RefCell::default(),
            text,
        }
    }

    /// Whether every value that is looked into has its simplest spelling.
    pub fn is_plain(&self) -> bool {
        self.tight && *self.simple.get_or_init(|| text::is_simple(&self.text))
    }

    /// Whether this one has.
    pub fn is_simple(&self, at: usize) -> bool {
        self.is_plain() || self.tight && text::is_simple(self.bytes(at))
    }

    /// Whether a value may be this simplest spelling of it in another one, at a glance.
    pub fn is_respelled(&self, at: usize, simplest: &[u8]) -> bool {
        let bytes = self.bytes(at);
        let longer = bytes.len() > simplest.len() && bytes.first() == simplest.first();
        longer && !self.is_simple(at)
    }

    /// Whether every name is spelled as it is, and is not empty.
    pub fn has_plain_names(&self) -> bool {
        self.names_plain
    }

    /// The text.
    pub fn text(&self) -> &[u8] {
        &self.text
    }

    /// The spelling of a value; that of the whole text is the first.
    pub fn bytes(&self, at: usize) -> &[u8] {
        self.list.get(at).map(|entry| entry.value.of(&self.text)).unwrap_or_default()
    }

    /// A value.
    pub fn json(&self, at: usize) -> Json {
        let span = self.list.get(at).map_or(Span { start: 0, end: 0 }, |entry| entry.value);
        Json::checked(self.text.slice(span.start..span.end))
    }

    /// The spelling of a member's name, quotes included.
    pub fn key(&self, at: usize) -> &[u8] {
        self.list.get(at).map(|entry| entry.key.of(&self.text)).unwrap_or_default()
    }

    /// A member's name, in UTF-8.
    pub fn name(&self, at: usize) -> Cow<'_, [u8]> {
        let key = self.key(at);
        if !self.names_plain && key.contains(&b'\\') {
            return Cow::Owned(text::decode(key).unwrap_or_default().into_bytes());
        }
        Cow::Borrowed(key.get(1..key.len().saturating_sub(1)).unwrap_or_default())
    }

    /// Whether a value has no white space between its own parts.
    pub fn is_tight(&self, at: usize) -> bool {
        self.list.get(at).is_some_and(|entry| entry.tight)
    }

    /// The entry behind a value and all that is inside of it.
    pub fn after(&self, at: usize) -> usize {
        self.list.get(at).map_or(at + 1, |entry| entry.after)
    }

    /// What stands inside of a value, one level below it.
    pub fn inside(&self, at: usize) -> impl Iterator<Item = usize> {
        let (mut next, end) = (at + 1, self.after(at));
        std::iter::from_fn(move || {
            let inside = (next < end).then_some(next)?;
            next = self.after(next);
            Some(inside)
        })
    }

    /// The first member of an object whose name is spelled so.
    pub fn member(&self, at: usize, key: &[u8]) -> Option<usize> {
        self.first(at, &self.spelled, key, &|member| Cow::Borrowed(self.key(member)))
    }

    /// Whether a member of an object has the name of one before it.
    pub fn is_again(&self, object: usize, member: usize) -> bool {
        let first = if self.names_plain {
            self.member(object, self.key(member))
        } else {
            self.first(object, &self.named, &self.name(member), &|member| self.name(member))
        };
        first != Some(member)
    }

    /// The first member of an object that is called so.
    fn first<'a>(
        &'a self,
        at: usize,
        known: &RefCell<HashMap<usize, Index>>,
        key: &[u8],
        called: &dyn Fn(usize) -> Cow<'a, [u8]>,
    ) -> Option<usize> {
        let mut members = self.inside(at);
        if let Some(found) = members.by_ref().take(FEW).find(|member| *called(*member) == *key) {
            return Some(found);
        }
        // Who went through a long object for each of its members would do the square of the work.
        members.next()?;
        let mut known = known.borrow_mut();
        let index = known.entry(at).or_insert_with(|| {
            let print = |member| (fingerprint(&called(member)), member);
            let mut index: Vec<_> = self.inside(at).map(print).collect();
            index.sort_unstable();
            index
        });
        let print = fingerprint(key);
        let first = index.partition_point(|(other, _)| *other < print);
        let alike = index.get(first..)?.iter().take_while(|(other, _)| *other == print);
        alike.map(|(_, member)| *member).find(|member| *called(*member) == *key)
    }

    /// The way from the whole text to a value in it.
    pub fn way(&self, to: usize) -> String {
        let (mut way, mut at) = (String::new(), 0);
        while at < to {
            let Some((number, inside)) = self.step(at, to) else { break };
            way.push('/');
            if self.key(inside).is_empty() {
                way.push_str(&number.to_string());
            } else {
                way.push_str(&String::from_utf8_lossy(&self.name(inside)));
            }
            at = inside;
        }
        way
    }

    /// What stands inside of the value `at` and holds another one, and how many stand before it.
    fn step(&self, at: usize, to: usize) -> Option<(usize, usize)> {
        let holds = |(_, inside): &(usize, usize)| (*inside..self.after(*inside)).contains(&to);
        let mut few = self.inside(at).enumerate();
        if let Some(step) = few.by_ref().take(FEW).find(holds) {
            return Some(step);
        }
        // As with members: from the beginning for each would be the square of the work.
        few.next()?;
        let mut known = self.inner.borrow_mut();
        let inner = known.entry(at).or_insert_with(|| self.inside(at).collect());
        let number = inner.partition_point(|inside| *inside <= to).checked_sub(1)?;
        Some((number, *inner.get(number)?)).filter(holds)
    }
}

struct Walk<'a> {
    cursor: Cursor<'a>,
    list: Vec<Entry>,
    /// Whether all that was walked through is.
    tight: bool,
}

impl Walk<'_> {
    /// Walks over the value that begins here, and gives its length.
    fn value(&mut self, key: Span, depth: usize) -> Result<usize, Fault> {
        let first = self.cursor.peek();
        let (place, start) = (self.list.len(), self.cursor.at());
        let (value, after) = (Span { start, end: start }, place + 1);
        self.list.push(Entry { key, value, after, tight: true });
        let inside = match first {
            Some(b'{') if depth < DEEPEST => self.members(depth),
            Some(b'[') if depth < DEEPEST => self.items(depth),
            Some(b'{' | b'[') => self.cursor.skip_value().map(|_| None),
            _ => {
                let end = self.cursor.skip_value()?.end;
                self.ended(place, end, true);
                return Ok(end - start);
            }
        };
        let length = self.cursor.at() - start;
        self.ended(place, self.cursor.at(), inside.ok() == Some(Some(length)));
        Ok(length)
    }

    fn ended(&mut self, place: usize, end: usize, tight: bool) {
        let after = self.list.len();
        self.tight &= tight;
        let Some(entry) = self.list.get_mut(place) else { return };
        (entry.value.end, entry.after, entry.tight) = (end, after, tight);
    }

    /// Walks through an object. Gives the length that it has without white space between its parts.
    fn members(&mut self, depth: usize) -> Result<Option<usize>, Fault> {
        self.cursor.begin_object()?;
        let mut length: usize = 0;
        while let Some(key) = self.cursor.next_key()? {
            length += key.end - key.start + self.value(key, depth + 1)? + 2;
        }
        Ok(Some(length.max(1) + 1))
    }

    /// The same for a list.
    fn items(&mut self, depth: usize) -> Result<Option<usize>, Fault> {
        self.cursor.begin_array()?;
        let mut length: usize = 0;
        while self.cursor.next_element()? {
            length += self.value(Span { start: 0, end: 0 }, depth + 1)? + 1;
        }
        Ok(Some(length.max(1) + 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outline(text: &str) -> Outline {
        Outline::of(Bytes::from(text.to_owned()))
    }

    #[test]
    fn every_value_is_found_where_it_stands() {
        let outline = outline(r#"{"a":[1,{"b":"x"},[]],"c": null}"#);
        let found: Vec<_> = (1..7).map(|at| outline.bytes(at)).collect();
        let wanted: [&[u8]; 6] =
            [br#"[1,{"b":"x"},[]]"#, b"1", br#"{"b":"x"}"#, b"\"x\"", b"[]", b"null"];
        assert_eq!(found, wanted);
        assert_eq!(outline.bytes(0), outline.text());
        assert_eq!(outline.inside(0).collect::<Vec<_>>(), [1, 6]);
        assert_eq!(outline.inside(1).collect::<Vec<_>>(), [2, 3, 5]);
        assert_eq!(outline.member(0, b"\"c\""), Some(6));
        let ways: Vec<_> = (0..7).map(|at| outline.way(at)).collect();
        assert_eq!(ways, ["", "/a", "/a/0", "/a/1", "/a/1/b", "/a/2", "/c"]);
        assert!(!outline.is_tight(0) && outline.is_tight(1) && outline.is_tight(5));
    }

    #[test]
    fn the_ways_to_many_values_take_no_time() {
        let many = 100_000;
        let outline = outline(&format!("[{}[0]]", "[0],".repeat(many)));
        for at in 0..=many {
            assert_eq!(outline.way(2 * at + 2), format!("/{at}/0"));
        }
    }

    #[test]
    fn what_is_plain_has_its_simplest_spelling() {
        for text in [r#"{"a":"\n\"","b":[{},[]]}"#, "12", r#""é""#, r#""\u001b[0m""#] {
            assert!(outline(text).is_plain(), "{text}");
            assert_eq!(outline(text).json(0).normal(), text.as_bytes());
        }
        let deep = format!("{}{}", "[".repeat(30), "]".repeat(30));
        for text in [
            r#"{"a": 1}"#,
            r#"["\u00e9"]"#,
            r#""a\/b""#,
            r#""\u001B""#,
            r#""\u0009""#,
            "[ ]",
            "{ }",
            &deep,
        ] {
            assert!(!outline(text).is_plain(), "{text}");
        }
        assert!(outline(r#"{"a":"\n"}"#).has_plain_names());
        assert!(!outline(r#"{"a\n":1}"#).has_plain_names());
        assert!(!outline(r#"[{"":1}]"#).has_plain_names());
    }
}
