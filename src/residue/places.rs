//! The values of a target's records, to be found by what they are.

use super::forms::{self, FORMS, Form, TEXTS};
use super::outline::{DEEPEST, Outline};
use super::print::is_known_by;
use super::template::inside;
use crate::ids::fingerprint;
use crate::json::Json;
use bytes::Bytes;
use memchr::memmem::Finder;
use std::cell::OnceCell;

/// Values shorter than this are referred to only where what they say is content.
const LONG: usize = 24;
/// Contents shorter than this are not.
const SHORT: usize = 4;
/// So many places are looked through as fast as they are sorted.
const FEW: usize = 48;
/// The members that hold what is said. Others of the same value may mean something else.
const SAID: &[&[u8]] = &[
    b"text",
    b"thinking",
    b"content",
    b"output",
    b"input",
    b"result",
    b"summary",
    b"command",
    b"final",
];

/// Where a value stands.
pub struct Place {
    /// The number of its record.
    pub record: usize,
    /// Its number in the outline of that.
    pub at: usize,
    said: bool,
    normal: OnceCell<Bytes>,
}

impl Place {
    /// Whether what stands here is this value in the form of this number. Mostly a glance tells that
    /// it is not, and then the form is not made.
    fn is_so(&self, lines: &[Outline], number: usize, sought: &Json) -> bool {
        let Some(line) = lines.get(self.record) else { return false };
        let bytes = line.bytes(self.at);
        match FORMS.get(number) {
            Some(form) if number > 0 => {
                forms::may_be(number, bytes, sought.as_bytes())
                    && (number > 1 || !line.is_simple(self.at))
                    && form.other(&line.json(self.at)).as_ref() == Some(sought)
            }
            _ => bytes == sought.as_bytes(),
        }
    }
}

/// The places of all values, in their order.
pub struct Places {
    list: Vec<Place>,
    /// The places of all values in each of the forms, by their hashes.
    found: [OnceCell<Vec<(u64, usize)>>; FORMS.len()],
}

/// A value that is looked for.
pub struct Sought<'a> {
    /// The record that it is in.
    pub record: &'a Outline,
    /// Its number there.
    pub at: usize,
    /// The member that it is in.
    pub key: &'a [u8],
}

impl Sought<'_> {
    /// Whether it is long enough to be referred to wherever it stands; `None` if nothing can be
    /// said of it but itself.
    pub fn is_long(&self) -> Option<bool> {
        let bytes = self.record.bytes(self.at);
        let long = bytes.len() >= LONG;
        let told = long || bytes.len() >= SHORT && SAID.contains(&self.key);
        (told && matches!(bytes.first(), Some(b'"' | b'{' | b'['))).then_some(long)
    }
}

impl Places {
    /// Those of these records.
    pub fn of(lines: &[Outline]) -> Self {
        let mut list = Vec::new();
        for (record, line) in lines.iter().enumerate() {
            let mut add = |at, said| {
                list.push(Place { record, at, said, normal: OnceCell::new() });
            };
            step(line, 0, b"", 0, &mut add);
        }
        Self { list, found: Default::default() }
    }

    /// Where a value stands, or another form of it, and the form's name.
    pub fn find(&self, lines: &[Outline], sought: &Sought<'_>) -> Option<(&Place, &'static str)> {
        let long = sought.is_long()?;
        let value = sought.record.json(sought.at);
        let (container, python) = (forms::is_container(&value), OnceCell::new());
        let is_python = || !sought.record.is_simple(sought.at) && forms::is_python(&value);
        for (number, form) in FORMS.iter().enumerate() {
            if forms::is_of_containers(number) && !container
                || forms::is_of_python(number) && !*python.get_or_init(is_python)
            {
                continue;
            }
            if let Some(place) = self.made(lines, (number, &value), form, long, &value) {
                return Some((place, form.name));
            }
        }
        let held = forms::parsed(&value)?;
        TEXTS.iter().find_map(|(number, form)| {
            if forms::is_of_python(*number) && !forms::is_python(&held) {
                return None;
            }
            Some((self.made(lines, (*number, &held), form, long, &value)?, form.name))
        })
    }

    /// The place of what is sought in the form of this number, if `form` of that is the value.
    fn made(
        &self,
        lines: &[Outline],
        (number, sought): (usize, &Json),
        form: &Form,
        long: bool,
        value: &Json,
    ) -> Option<&Place> {
        if self.list.len() <= FEW {
            let is_so = |place: &&Place| place.is_so(lines, number, sought);
            return self.right(lines, self.list.iter().find(is_so)?, form, long, value);
        }
        let found = self.found.get(number)?.get_or_init(|| self.all(lines, number));
        if found.is_empty() {
            return None;
        }
        let print = fingerprint(sought.as_bytes());
        let first = found.partition_point(|(other, _)| *other < print);
        let (_, place) = found.get(first).filter(|(other, _)| *other == print)?;
        self.right(lines, self.list.get(*place)?, form, long, value)
    }

    /// This place if what stands there may be referred to, and gives the value in this form.
    fn right<'a>(
        &self,
        lines: &[Outline],
        place: &'a Place,
        form: &Form,
        long: bool,
        value: &Json,
    ) -> Option<&'a Place> {
        let line = lines.get(place.record).filter(|_| long || place.said)?;
        let right = match form.name {
            "" => line.bytes(place.at) == value.as_bytes(),
            _ => (form.make)(&line.json(place.at)).as_ref() == Some(value),
        };
        right.then_some(place)
    }

    /// All values in one form, sorted by their hashes, those of one hash in their order.
    fn all(&self, lines: &[Outline], number: usize) -> Vec<(u64, usize)> {
        let mut found = Vec::new();
        for (number_of_place, place) in self.list.iter().enumerate() {
            let Some(line) = lines.get(place.record) else { continue };
            let print = match FORMS.get(number) {
                Some(form) if number > 0 => {
                    let other = number > 1 || !line.is_simple(place.at);
                    let made = other.then(|| form.other(&line.json(place.at))).flatten();
                    made.map(|made| fingerprint(made.as_bytes()))
                }
                _ => Some(fingerprint(line.bytes(place.at))),
            };
            found.extend(print.map(|print| (print, number_of_place)));
        }
        found.sort_unstable();
        found
    }

    /// A text that holds this one of a record, and how many bytes of its simplest spelling stand before and
    /// behind that.
    pub fn holding(
        &self,
        lines: &[Outline],
        record: &Outline,
        at: usize,
    ) -> Option<(&Place, (usize, usize))> {
        let bytes = record.bytes(at);
        if !record.is_simple(at) && FORMS[1].other(&record.json(at)).is_some() {
            return None;
        }
        let sought = Needle::new(inside(bytes));
        self.list.iter().find_map(|place| {
            let line = lines.get(place.record)?;
            let text = line.bytes(place.at);
            if text.first() != Some(&b'"') || text.len() <= bytes.len() {
                return None;
            }
            let whole = inside(simple(line, place));
            let at = sought.find(whole)?;
            Some((place, (at, whole.len() - at - (bytes.len() - 2))))
        })
    }
}

/// A text that is looked for. Mostly not even its beginning is found, and to look for that takes much
/// less to prepare.
struct Needle<'a> {
    text: &'a [u8],
    beginning: OnceCell<Finder<'a>>,
    whole: OnceCell<Finder<'a>>,
}

impl<'a> Needle<'a> {
    /// How much is looked for at first: what still fits into a register.
    const BEGINNING: usize = 32;

    fn new(text: &'a [u8]) -> Self {
        Self { text, beginning: OnceCell::new(), whole: OnceCell::new() }
    }

    fn find(&self, text: &[u8]) -> Option<usize> {
        let beginning = self.text.get(..Self::BEGINNING).unwrap_or(self.text);
        let start = self.beginning.get_or_init(|| Finder::new(beginning)).find(text)?;
        let whole = self.whole.get_or_init(|| Finder::new(self.text));
        whole.find(text.get(start..)?).map(|at| start + at)
    }
}

/// The text at a place in its simplest spelling.
fn simple<'a>(line: &'a Outline, place: &'a Place) -> &'a [u8] {
    if line.is_plain() {
        return line.bytes(place.at);
    }
    place.normal.get_or_init(|| {
        let value = line.json(place.at);
        FORMS[1].other(&value).unwrap_or(value).bytes().clone()
    })
}

/// Shows every value below this one that has a place of its own and is long enough to be referred
/// to, and whether it is what is said.
fn step(line: &Outline, at: usize, key: &[u8], depth: usize, show: &mut dyn FnMut(usize, bool)) {
    if depth >= DEEPEST {
        return;
    }
    let mut add = |inside: usize, key: &[u8]| {
        let length = line.bytes(inside).len();
        let said = length >= SHORT && SAID.contains(&key);
        if said || length >= LONG {
            show(inside, said);
        }
        step(line, inside, key, depth + 1, show);
    };
    if line.bytes(at).first() != Some(&b'{') {
        return line.inside(at).for_each(|inside| add(inside, key));
    }
    for inside in line.inside(at) {
        let name = line.name(inside);
        // A way cannot say such a name, and it leads to the first of those that are equal.
        let hidden = name.contains(&b'/') || line.is_again(at, inside);
        if !hidden && (depth > 0 || is_known_by(&name)) {
            add(inside, &name);
        }
    }
}
