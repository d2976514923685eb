//! Outline of a JSON text: the places of its values, and how they are nested. It replaces a parsed
//! value, and its memory is used again for the next text.

use crate::json::{Cursor, Span};

/// Sort of a value, one bit for each.
pub mod sorts {
    /// `null`.
    pub const NULL: u8 = 1;
    /// `true` or `false`.
    pub const BOOLEAN: u8 = 1 << 1;
    /// A number.
    pub const NUMBER: u8 = 1 << 2;
    /// A string.
    pub const STRING: u8 = 1 << 3;
    /// An array.
    pub const ARRAY: u8 = 1 << 4;
    /// An object.
    pub const OBJECT: u8 = 1 << 5;
    /// All sorts.
    pub const ANY: u8 = (1 << 6) - 1;
}

/// A value, or the name of a member.
#[derive(Clone, Copy, Debug, Default)]
pub struct Item {
    /// Bit of its sort.
    pub sort: u8,
    start: u32,
    end: u32,
    /// Place behind the items in it.
    next: u32,
}

impl Item {
    /// Returns the spelling of the value.
    pub fn of<'t>(&self, text: &'t [u8]) -> &'t [u8] {
        Span { start: self.start as usize, end: self.end as usize }.of(text)
    }
}

/// Maximum depth of nesting, and maximum number of values. Texts with more are few, and their
/// outlines would be several times as long as they are.
const LIMITS: (usize, usize) = (64, 1 << 18);

/// The values of a text, each before those in it; a member is its name and its value.
#[derive(Debug, Default)]
pub struct Outline(Vec<Item>);

impl Outline {
    /// Reads a text; returns false if it is not one JSON value in UTF-8, too deep, or has too many
    /// values.
    pub fn read(&mut self, text: &[u8]) -> bool {
        self.0.clear();
        if u32::try_from(text.len()).is_err() || simdutf8::basic::from_utf8(text).is_err() {
            return false;
        }
        let mut cursor = Cursor::new(text);
        self.value(&mut cursor, 0).is_some() && cursor.end().is_ok()
    }

    /// Adds the value that begins here.
    fn value(&mut self, cursor: &mut Cursor<'_>, depth: usize) -> Option<()> {
        let sort = match cursor.peek()? {
            b'{' => sorts::OBJECT,
            b'[' => sorts::ARRAY,
            b'"' => sorts::STRING,
            b'n' => sorts::NULL,
            b't' | b'f' => sorts::BOOLEAN,
            _ => sorts::NUMBER,
        };
        let (place, start) = (self.0.len(), cursor.at());
        self.0.push(Item { sort, start: start as u32, ..Item::default() });
        match sort {
            _ if depth > LIMITS.0 || place > LIMITS.1 => return None,
            sorts::OBJECT => {
                cursor.begin_object().ok()?;
                while let Some(Span { start, end }) = cursor.next_key().ok()? {
                    let next = self.0.len() as u32 + 1;
                    let (start, end) = (start as u32, end as u32);
                    self.0.push(Item { sort: sorts::STRING, start, end, next });
                    self.value(cursor, depth + 1)?;
                }
            }
            sorts::ARRAY => {
                cursor.begin_array().ok()?;
                while cursor.next_element().ok()? {
                    self.value(cursor, depth + 1)?;
                }
            }
            _ => drop(cursor.skip_value().ok()?),
        }
        let next = self.0.len() as u32;
        let item = self.0.get_mut(place)?;
        (item.end, item.next) = (cursor.at() as u32, next);
        Some(())
    }

    /// Returns a value.
    pub fn item(&self, place: usize) -> Item {
        self.0.get(place).copied().unwrap_or_default()
    }

    /// Returns the places of the elements of an array.
    pub fn elements(&self, array: usize) -> impl Iterator<Item = usize> {
        let end = self.item(array).next as usize;
        let mut at = array + 1;
        std::iter::from_fn(move || {
            let place = at;
            at = self.item(place).next as usize;
            (place < end).then_some(place)
        })
    }

    /// Returns the names of an object's members and the places of their values.
    pub fn members(&self, object: usize) -> impl Iterator<Item = (Item, usize)> {
        let end = self.item(object).next as usize;
        let mut at = object + 1;
        std::iter::from_fn(move || {
            let place = at;
            at = self.item(place + 1).next as usize;
            (place < end).then(|| (self.item(place), place + 1))
        })
    }
}
