//! A record of the source, said by what the target's records say already.
//!
//! A template is the record as a line of the canonical stream in which values that the target
//! holds, too, are replaced by references: `{"^":0}` is the value at the same place of the first
//! of the target's records, `{"^":"1/content/0/text"}` the one at this place of the second. So an
//! edit of the target is an edit of what the template gives. `as` names another form of the
//! value, `cut` how much before and behind it is left out. What could be taken for a reference is
//! written as `{"^":null,"raw":"…"}`, with its spelling as text.

use super::fill::fill;
use super::outline::{DEEPEST, Outline};
use super::places::{Place, Places, Sought};
use super::print::is_known_by;
use crate::json::{Json, text};
use bytes::Bytes;
use memchr::memmem;
use std::cell::OnceCell;
use std::io::Write;

/// Strings of this length are looked for in longer ones.
const PART: usize = 48;
/// The members that say what an object is.
const NAMES: &[&[u8]] = &[b"kind", b"type"];
/// What a reference is called.
pub const REFERENCE: &str = "^";
/// The same as a member's name is spelled.
const SPELLED: &[u8] = b"\"^\"";
/// How one begins.
const REFER: &[u8] = b"{\"^\":";

/// The target's records that a record of the source is told by.
pub struct Base {
    lines: Vec<Outline>,
    /// Made for the first value that does not stand beside itself.
    places: OnceCell<Places>,
}

impl Base {
    /// These records, as lines of the canonical stream.
    pub fn new(lines: Vec<Bytes>) -> Self {
        Self { lines: lines.into_iter().map(Outline::of).collect(), places: OnceCell::new() }
    }

    /// The first of them.
    pub fn first(&self) -> Option<&Outline> {
        self.lines.first()
    }

    /// The record as a template. It is checked that the template gives the record again; if it does
    /// not, the record itself is the template.
    pub fn template(&self, record: &Outline, out: &mut Vec<u8>) {
        let start = out.len();
        let beside = (0..self.lines.len()).map(|line| Beside { line, at: 0, end: 0 }).collect();
        let mut writing = Writing { base: self, record, beside, out };
        writing.inner(0, 0, b"", 0);
        let given = |template: &[u8]| {
            let template = Json::checked(Bytes::copy_from_slice(template));
            let lines: Vec<_> = self.lines.iter().map(|line| line.json(0)).collect();
            fill(&template, &lines).as_deref() == Some(record.text())
        };
        let template = out.get(start..).unwrap_or_default();
        if self.is_sure_of(record) {
            debug_assert!(given(template), "{}", String::from_utf8_lossy(template));
        } else if !given(template) {
            out.truncate(start);
            out.extend_from_slice(record.text());
        }
    }

    /// Whether every template of the record gives it again. References can lead elsewhere only where
    /// names are odd or spelled in several ways, and nothing else of it can be taken for a reference
    /// than what is named like one.
    fn is_sure_of(&self, record: &Outline) -> bool {
        self.lines.iter().all(Outline::has_plain_names)
            && memmem::find(record.text(), SPELLED).is_none()
    }

    fn places(&self) -> &Places {
        self.places.get_or_init(|| Places::of(&self.lines))
    }
}

/// A template that is being written.
struct Writing<'a> {
    base: &'a Base,
    record: &'a Outline,
    /// What stands at the same place of the target's records, for each level that is open.
    beside: Vec<Beside>,
    out: &'a mut Vec<u8>,
}

/// A value of one of the target's records. A record that has none there is not carried along: a
/// message of very many blocks may be told by as many records.
#[derive(Clone, Copy)]
struct Beside {
    line: usize,
    at: usize,
    /// Where the list ends that it is in.
    end: usize,
}

impl Writing<'_> {
    /// A value, and where it is noted what stands beside it.
    fn value(&mut self, at: usize, beside: usize, key: &[u8], depth: usize) {
        let bytes = self.record.bytes(at);
        if NAMES.contains(&key) || depth >= DEEPEST || (depth == 1 && !is_known_by(key)) {
            return self.out.extend_from_slice(bytes);
        }
        if let Some(record) = self.found(beside, |line, other| line.bytes(other) == bytes) {
            self.beside_in(record);
            return self.out.push(b'}');
        }
        let sought = Sought { record: self.record, at, key };
        if sought.is_long().is_some() {
            if let Some(record) = self.respelled(at, beside) {
                self.beside_in(record);
                return self.out.extend_from_slice(b",\"as\":\"normal\"}");
            }
            if let Some((place, form)) = self.base.places().find(&self.base.lines, &sought) {
                return self.refer(place, form, None);
            }
        }
        self.inner(at, beside, key, depth);
    }

    /// Begins a reference to what stands beside a value.
    fn beside_in(&mut self, record: usize) {
        self.out.extend_from_slice(REFER);
        match u8::try_from(record) {
            Ok(record @ 0..10) => self.out.push(b'0' + record),
            _ => put(self.out, format_args!("{record}")),
        }
    }

    /// The first of the target's records where the same value stands beside this one in another
    /// spelling: most of what a program spells in its own way stands where it stood.
    fn respelled(&self, at: usize, beside: usize) -> Option<usize> {
        let bytes = self.record.bytes(at);
        self.found(beside, |line, other| {
            line.is_respelled(other, bytes) && line.json(other).normal() == bytes
        })
    }

    /// The first of the target's records of which this is so, of those that have a value beside.
    fn found(&self, beside: usize, is_so: impl Fn(&Outline, usize) -> bool) -> Option<usize> {
        let mut beside = self.beside.get(beside..).unwrap_or_default().iter();
        let is_so =
            |one: &&Beside| self.base.lines.get(one.line).is_some_and(|line| is_so(line, one.at));
        beside.find(is_so).map(|one| one.line)
    }

    fn inner(&mut self, at: usize, beside: usize, key: &[u8], depth: usize) {
        let bytes = self.record.bytes(at);
        match bytes.first() {
            Some(b'{') if self.first_key(at) == Some(SPELLED) => {
                self.out.extend_from_slice(b"{\"^\":null,\"raw\":");
                text::quote(&String::from_utf8_lossy(bytes), self.out);
                self.out.push(b'}');
            }
            Some(b'{') if self.record.is_tight(at) => self.members(at, beside, depth),
            Some(b'[') if self.record.is_tight(at) => self.items(at, beside, key, depth),
            _ => self.whole(at),
        }
    }

    fn first_key(&self, at: usize) -> Option<&[u8]> {
        self.record.inside(at).next().map(|first| self.record.key(first))
    }

    fn members(&mut self, at: usize, beside: usize, depth: usize) {
        let record = self.record;
        let open = self.beside.len();
        self.out.push(b'{');
        for (i, member) in record.inside(at).enumerate() {
            separate(i, self.out);
            let key = record.key(member);
            self.out.extend_from_slice(key);
            self.out.push(b':');
            let name = record.name(member);
            // A way cannot say some names.
            let objects = if name.contains(&b'/') { open..open } else { beside..open };
            for object in objects {
                self.enter(object, |line, object| line.member(object, key));
            }
            self.value(member, open, &name, depth + 1);
            self.beside.truncate(open);
        }
        self.out.push(b'}');
    }

    fn items(&mut self, at: usize, beside: usize, key: &[u8], depth: usize) {
        let open = self.beside.len();
        for list in beside..open {
            self.enter(list, |line, list| {
                let is_list = line.bytes(list).first() == Some(&b'[');
                line.inside(list).next().filter(|_| is_list)
            });
        }
        self.out.push(b'[');
        for (i, item) in self.record.inside(at).enumerate() {
            separate(i, self.out);
            self.value(item, open, key, depth + 1);
            self.go_on(open);
        }
        self.beside.truncate(open);
        self.out.push(b']');
    }

    /// Notes what stands in one of the values beside, if there is such a thing.
    fn enter(&mut self, beside: usize, inner: impl Fn(&Outline, usize) -> Option<usize>) {
        let Some(Beside { line, at, .. }) = self.beside.get(beside).copied() else { return };
        let Some(outline) = self.base.lines.get(line) else { return };
        let inside =
            inner(outline, at).map(|inner| Beside { line, at: inner, end: outline.after(at) });
        self.beside.extend(inside);
    }

    /// Goes on to the next items of the lists beside, without those that have no more.
    fn go_on(&mut self, open: usize) {
        let mut left = open;
        for now in open..self.beside.len() {
            let Some(mut one) = self.beside.get(now).copied() else { continue };
            let Some(line) = self.base.lines.get(one.line) else { continue };
            one.at = line.after(one.at);
            if let Some(place) = self.beside.get_mut(left).filter(|_| one.at < one.end) {
                *place = one;
                left += 1;
            }
        }
        self.beside.truncate(left);
    }

    /// What a template does not look into.
    fn whole(&mut self, at: usize) {
        let bytes = self.record.bytes(at);
        let long = bytes.len() >= PART && bytes.first() == Some(&b'"');
        let found = long.then(|| self.base.places().holding(&self.base.lines, self.record, at));
        match found.flatten() {
            Some((place, cut)) => self.refer(place, "", Some(cut)),
            None => self.out.extend_from_slice(bytes),
        }
    }

    fn refer(&mut self, place: &Place, form: &str, cut: Option<(usize, usize)>) {
        let way = self.base.lines.get(place.record).map(|line| line.way(place.at));
        self.out.extend_from_slice(REFER);
        text::quote(&format!("{}{}", place.record, way.unwrap_or_default()), self.out);
        if !form.is_empty() {
            put(self.out, format_args!(",\"as\":\"{form}\""));
        }
        if let Some((before, behind)) = cut {
            put(self.out, format_args!(",\"cut\":[{before},{behind}]"));
        }
        self.out.push(b'}');
    }
}

fn put(out: &mut Vec<u8>, what: std::fmt::Arguments<'_>) {
    // Memory takes everything.
    out.write_fmt(what).unwrap_or_default();
}

/// Separates what stands here from what stands before it.
pub fn separate(place: usize, out: &mut Vec<u8>) {
    if place > 0 {
        out.push(b',');
    }
}

/// A string's spelling without its quotes.
pub fn inside(string: &[u8]) -> &[u8] {
    string.get(1..string.len().saturating_sub(1)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> Json {
        Json::checked(text.to_owned().into())
    }

    fn there_and_back(source: &str, target: &[&str]) -> String {
        let lines = target.iter().map(|line| Bytes::from(line.to_string())).collect();
        let mut template = Vec::new();
        let source_line = Outline::of(Bytes::from(source.to_owned()));
        Base::new(lines).template(&source_line, &mut template);
        let target: Vec<_> = target.iter().map(|line| json(line)).collect();
        let template = Json::checked(template.into());
        assert_eq!(fill(&template, &target).as_deref(), Some(source.as_bytes()), "{template:?}");
        format!("{template:?}")
    }

    #[test]
    fn what_the_target_says_is_not_said_again() {
        let source = r#"{"kind":"message","id":"a1","content":[{"type":"text","text":"yes"}]}"#;
        let target = r#"{"kind":"message","id":"m1","content":"yes"}"#;
        let template = there_and_back(source, &[target]);
        assert_eq!(
            template,
            r#"{"kind":"message","id":"a1","content":[{"type":"text","text":{"^":"0/content"}}]}"#
        );
        let edited = json(r#"{"kind":"message","id":"m1","content":"no"}"#);
        assert_eq!(
            fill(&json(&template), &[edited]).as_deref(),
            Some(&br#"{"kind":"message","id":"a1","content":[{"type":"text","text":"no"}]}"#[..])
        );
    }

    #[test]
    fn other_forms_and_parts_are_found() {
        let arguments = r#"{"command": "cargo test --locked"}"#;
        let long = "what was said before, in so many words that it is worth a reference";
        let source = format!(
            r#"{{"kind":"message","content":[{{"arguments":{arguments}}}],"summary":"{long}"}}"#
        );
        let spelled = Json::string(arguments);
        let target = format!(
            r#"{{"kind":"message","content":[{{"arguments":{spelled:?}}},"<summary>\n{long}\n"]}}"#
        );
        let template = there_and_back(&source, &[&target]);
        assert!(template.contains(r#""as":"parsed""#), "{template}");
        assert!(template.contains(r#""cut":[11,2]"#), "{template}");
        assert!(!template.contains("cargo"), "{template}");
    }

    #[test]
    fn what_stands_there_in_another_spelling_is_told_by_its_place() {
        let source =
            r#"{"kind":"message","content":[{"arguments":{"path":"/tmp/näh"},"text":"nä\n"}]}"#;
        let target = r#"{"kind":"message","content":[{"arguments":{"path": "/tmp/n\u00e4h"},"text":"n\u00e4\n"}]}"#;
        let template = there_and_back(source, &[target]);
        assert_eq!(template, r#"{"kind":"message","content":{"^":0,"as":"normal"}}"#);
        let edited = source.replace("näh", "anders");
        let template = there_and_back(&edited, &[target]);
        assert!(template.contains(r#""text":{"^":0,"as":"normal"}"#), "{template}");
    }

    #[test]
    fn names_like_references_are_themselves() {
        for source in [r#"{"^":0}"#, r#"{"a":{"b":[{"^":{"^":1}}]}}"#, r#"{"a": {"^": 1}}"#] {
            there_and_back(source, &[r#"{"^":5,"a":1}"#]);
        }
    }
}
