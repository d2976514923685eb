//! The values of a target's records, to be found by what they are.

use super::forms::{self, FORMS, Form, TEXTS};
use super::template::{inside, walk};
use crate::ids::fingerprint;
use crate::json::Json;
use bytes::Bytes;
use std::cell::OnceCell;
use std::collections::HashMap;

/// Values shorter than this are referred to only where what they say is content.
const LONG: usize = 24;
/// Contents shorter than this are not.
const SHORT: usize = 4;
/// The members that hold what is said. Others of the same value may mean something else.
const SAID: &[&str] =
    &["text", "thinking", "content", "output", "input", "result", "summary", "command", "final"];

/// Where a value stands.
pub struct Place {
    /// The number of its record.
    pub record: usize,
    /// The way to it.
    pub path: String,
    value: Json,
    said: bool,
    normal: OnceCell<Bytes>,
}

impl Place {
    /// The text here in its simplest spelling.
    fn simple(&self) -> &Bytes {
        self.normal.get_or_init(|| {
            FORMS[1].other(&self.value).unwrap_or_else(|| self.value.clone()).bytes().clone()
        })
    }
}

/// The places of all values, in their order.
pub struct Places {
    list: Vec<Place>,
    /// The first place of each value in each of the forms, by its hash.
    found: [OnceCell<HashMap<u64, usize>>; FORMS.len()],
}

impl Places {
    /// Those of these records.
    pub fn of(lines: &[Json]) -> Self {
        let mut list = Vec::new();
        for (record, line) in lines.iter().enumerate() {
            walk(line, &mut |path, key, value| {
                let said = SAID.contains(&key);
                if value.as_bytes().len() >= if said { SHORT } else { LONG } {
                    let (path, value) = (path.to_owned(), value.clone());
                    list.push(Place { record, path, value, said, normal: OnceCell::new() });
                }
            });
        }
        Self { list, found: Default::default() }
    }

    /// Where a value stands under this member, or another form of it, and the form's name.
    pub fn find(&self, value: &Json, key: &str) -> Option<(&Place, &'static str)> {
        let bytes = value.as_bytes();
        let long = bytes.len() >= LONG;
        if !long && (bytes.len() < SHORT || !SAID.contains(&key))
            || !matches!(bytes.first(), Some(b'"' | b'{' | b'['))
        {
            return None;
        }
        let (container, python) = (forms::is_container(value), OnceCell::new());
        for (number, form) in FORMS.iter().enumerate() {
            if forms::is_of_containers(number) && !container
                || forms::is_of_python(number) && !*python.get_or_init(|| forms::is_python(value))
            {
                continue;
            }
            if let Some(place) = self.made(number, value, form, long, value) {
                return Some((place, form.name));
            }
        }
        let held = forms::parsed(value)?;
        TEXTS.iter().find_map(|(number, form)| {
            if forms::is_of_python(*number) && !forms::is_python(&held) {
                return None;
            }
            Some((self.made(*number, &held, form, long, value)?, form.name))
        })
    }

    /// The place of what is `sought` in the form of this number, if `form` of that is the value.
    fn made(
        &self,
        number: usize,
        sought: &Json,
        form: &Form,
        long: bool,
        value: &Json,
    ) -> Option<&Place> {
        let found = self.found.get(number)?.get_or_init(|| self.all(number));
        let place = self.list.get(*found.get(&fingerprint(sought.as_bytes()))?)?;
        let right = (long || place.said) && (form.make)(&place.value).as_ref() == Some(value);
        right.then_some(place)
    }

    /// All values in one form.
    fn all(&self, number: usize) -> HashMap<u64, usize> {
        let mut found = HashMap::new();
        for (at, place) in self.list.iter().enumerate() {
            let made = match FORMS.get(number) {
                Some(form) if number > 0 => form.other(&place.value),
                _ => Some(place.value.clone()),
            };
            if let Some(made) = made {
                found.entry(fingerprint(made.as_bytes())).or_insert(at);
            }
        }
        found
    }

    /// A text that holds this one, and how many bytes of its simplest spelling stand before and
    /// behind that.
    pub fn holding(&self, value: &Json) -> Option<(&Place, (usize, usize))> {
        let bytes = value.as_bytes();
        if bytes.first() != Some(&b'"') || FORMS[1].other(value).is_some() {
            return None;
        }
        let sought = memchr::memmem::Finder::new(inside(bytes));
        self.list.iter().find_map(|place| {
            let text = place.value.as_bytes();
            if text.first() != Some(&b'"') || text.len() <= bytes.len() {
                return None;
            }
            let whole = inside(place.simple());
            let at = sought.find(whole)?;
            Some((place, (at, whole.len() - at - (bytes.len() - 2))))
        })
    }
}
