//! Members of objects and elements of lists as slices of their text, which may be damaged.

use super::{Cursor, Span, text};

/// Whether a text is one JSON value.
///
/// ```
/// use copyist::json::is_whole;
/// assert!(is_whole(b" [1] ") && !is_whole(b"[1") && !is_whole(b"[1] 2"));
/// ```
pub fn is_whole(text: &[u8]) -> bool {
    let mut cursor = Cursor::new(text);
    cursor.skip_value().is_ok() && cursor.end().is_ok()
}

/// Returns the members of an object, with key and value in their spelling, up to the first fault.
pub fn members(object: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    places(object).map(|(key, value)| (key.of(object), value.of(object)))
}

/// Returns the places of the members of an object, up to the first fault.
fn places(object: &[u8]) -> impl Iterator<Item = (Span, Span)> {
    let mut cursor = Cursor::new(object);
    let mut open = cursor.begin_object().is_ok();
    std::iter::from_fn(move || {
        let key = cursor.next_key().ok().flatten().filter(|_| open);
        let member = key.and_then(|key| Some((key, cursor.skip_value().ok()?)));
        open = member.is_some();
        member
    })
}

/// Returns the member of an object with this key, in its spelling; of several, the last.
pub fn member<'a>(object: &'a [u8], key: &str) -> Option<&'a [u8]> {
    member_place(object, key).map(|place| place.of(object))
}

/// Returns the place of the member of an object with this key; of several, the last.
pub fn member_place(object: &[u8], key: &str) -> Option<Span> {
    places(object).filter(|(name, _)| text::is(name.of(object), key)).last().map(|(_, place)| place)
}

/// Returns the elements of a list in their spelling, and their offsets in it.
pub fn elements(list: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let mut cursor = Cursor::new(list);
    let mut open = cursor.begin_array().is_ok();
    std::iter::from_fn(move || {
        open = open && cursor.next_element().unwrap_or(false);
        let element = if open { cursor.skip_value().ok() } else { None };
        open = element.is_some();
        element.map(|element| (element.start, element.of(list)))
    })
}
