//! JSON that says the same in other words, or nearly.

use super::chance::Chance;
use copyist::json::Json;

/// A value with the spelling of everything in it.
#[derive(Clone, Debug)]
pub enum Value {
    /// A number, a word or a string, as it is spelled.
    Plain(String),
    List(Vec<Value>),
    Object(Vec<(String, Value)>),
}

/// The value that a text is; `None` if it is none, or no object.
pub fn parse(text: &str) -> Option<Value> {
    let json = Json::string(text).parsed()?;
    json.as_bytes().starts_with(b"{").then(|| value(&json))
}

fn value(json: &Json) -> Value {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    match json.as_bytes().first() {
        Some(b'{') => {
            let member = |(key, inner): (&[u8], &[u8])| {
                (text(key), value(&Json::trusted(inner.to_vec().into())))
            };
            Value::Object(json.members().map(member).collect())
        }
        Some(b'[') => Value::List(json.elements().map(|element| value(&element)).collect()),
        _ => Value::Plain(text(json.as_bytes())),
    }
}

/// What stands between the parts of a text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Spaces {
    None,
    /// As Python has them.
    Python,
    /// Anywhere.
    Any,
    /// Each part on a line of its own, with so many spaces before it for each level, or a tab.
    Lines(usize),
}

impl Value {
    pub fn spell(&self, spaces: Spaces, chance: &mut Chance) -> String {
        let mut out = String::new();
        self.put(spaces, 0, chance, &mut out);
        out
    }

    fn put(&self, spaces: Spaces, depth: usize, chance: &mut Chance, out: &mut String) {
        let (open, close, count) = match self {
            Self::Plain(text) => return out.push_str(text),
            Self::List(list) => ('[', ']', list.len()),
            Self::Object(members) => ('{', '}', members.len()),
        };
        out.push(open);
        for n in 0..count {
            if n > 0 {
                space(spaces, None, chance, out);
                out.push(',');
                space(spaces, Some(depth + 1), chance, out);
            } else {
                space(spaces, Some(depth + 1).filter(|_| spaces != Spaces::Python), chance, out);
            }
            match self {
                Self::Object(members) => {
                    out.push_str(&members[n].0);
                    space(spaces, None, chance, out);
                    out.push(':');
                    out.push_str(if spaces == Spaces::None { "" } else { " " });
                    members[n].1.put(spaces, depth + 1, chance, out);
                }
                Self::List(list) => list[n].put(spaces, depth + 1, chance, out),
                Self::Plain(_) => {}
            }
        }
        if count > 0 {
            space(spaces, Some(depth).filter(|_| spaces != Spaces::Python), chance, out);
        }
        out.push(close);
    }

    /// All values in it, itself first.
    fn each<'v>(&'v mut self, found: &mut Vec<&'v mut Self>, wanted: fn(&Self) -> bool) {
        if wanted(self) {
            found.push(self);
            return;
        }
        match self {
            Self::Plain(_) => {}
            Self::List(list) => list.iter_mut().for_each(|inner| inner.each(found, wanted)),
            Self::Object(members) => {
                members.iter_mut().for_each(|(_, inner)| inner.each(found, wanted));
            }
        }
    }

    /// One of the objects in it.
    fn object(&mut self, chance: &mut Chance) -> Option<&mut Vec<(String, Value)>> {
        let mut inner = self;
        loop {
            let deeper = chance.one_in(2) && inner.has_objects();
            if !deeper {
                return match inner {
                    Self::Object(members) => Some(members),
                    _ => None,
                };
            }
            let below: Vec<&mut Self> = match inner {
                Self::Object(members) => members.iter_mut().map(|(_, inner)| inner).collect(),
                Self::List(list) => list.iter_mut().collect(),
                Self::Plain(_) => return None,
            };
            let mut below: Vec<_> = below.into_iter().filter(|inner| inner.is_object()).collect();
            let one = chance.below(below.len());
            inner = below.swap_remove(one).first_object()?;
        }
    }

    /// Whether this is an object or a list that begins with one.
    fn is_object(&self) -> bool {
        match self {
            Self::Object(_) => true,
            Self::List(list) => list.first().is_some_and(Self::is_object),
            Self::Plain(_) => false,
        }
    }

    fn first_object(&mut self) -> Option<&mut Self> {
        match self {
            Self::List(list) => list.first_mut()?.first_object(),
            other => Some(other),
        }
    }

    fn has_objects(&self) -> bool {
        match self {
            Self::Object(members) => members.iter().any(|(_, inner)| inner.is_object()),
            Self::List(list) => list.iter().any(Self::is_object),
            Self::Plain(_) => false,
        }
    }
}

fn space(spaces: Spaces, line: Option<usize>, chance: &mut Chance, out: &mut String) {
    match (spaces, line) {
        (Spaces::Python, Some(_)) => out.push(' '),
        (Spaces::Any, _) => out.push_str(["", "", " ", "  ", "\t"][chance.below(5)]),
        (Spaces::Lines(0), Some(depth)) => {
            out.push('\n');
            out.push_str(&"\t".repeat(depth));
        }
        (Spaces::Lines(width), Some(depth)) => {
            out.push('\n');
            out.push_str(&" ".repeat(width * depth));
        }
        _ => {}
    }
}

/// What may be done to a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed {
    Escapes,
    Numbers,
    Order,
    Unknown,
    Twice,
    Null,
    Absent,
}

pub const DEEDS: [Deed; 7] = [
    Deed::Escapes,
    Deed::Numbers,
    Deed::Order,
    Deed::Unknown,
    Deed::Twice,
    Deed::Null,
    Deed::Absent,
];

const UNKNOWN: [&str; 8] =
    ["x_new", "details", "timestamp", "content", "meta", "name", "é", "__proto__"];
const VALUES: [&str; 9] =
    ["null", "1", "1.50", "\"\\u00e9\"", "[]", "{}", "{\"a\": [1e2]}", "true", "\"\""];

/// Does it somewhere in the value.
pub fn change(value: &mut Value, deed: Deed, chance: &mut Chance) {
    match deed {
        Deed::Escapes | Deed::Numbers => plain(value, deed, chance),
        _ => {
            let Some(members) = value.object(chance) else { return };
            let place = chance.below(members.len() + 1);
            let some = chance.below(members.len().max(1));
            match deed {
                Deed::Order => {
                    for n in (1..members.len()).rev() {
                        members.swap(n, chance.below(n + 1));
                    }
                }
                Deed::Unknown => {
                    let name = format!("\"{}\"", UNKNOWN[chance.below(UNKNOWN.len())]);
                    members.insert(place, (name, Value::Plain(any(chance))));
                }
                Deed::Twice if !members.is_empty() => {
                    let (key, old) = members[some].clone();
                    let new = if chance.one_in(2) { old } else { Value::Plain(any(chance)) };
                    members.insert(place, (key, new));
                }
                Deed::Null if !members.is_empty() => {
                    members[some].1 = Value::Plain("null".to_owned());
                }
                Deed::Absent if !members.is_empty() => drop(members.remove(some)),
                _ => {}
            }
        }
    }
}

fn any(chance: &mut Chance) -> String {
    VALUES[chance.below(VALUES.len())].to_owned()
}

fn plain(value: &mut Value, deed: Deed, chance: &mut Chance) {
    let mut found = Vec::new();
    value.each(&mut found, |value| matches!(value, Value::Plain(_)));
    let is_string = |text: &str| text.starts_with('"');
    for inner in found {
        let Value::Plain(text) = inner else { continue };
        match deed {
            Deed::Escapes if is_string(text) && chance.one_in(3) => *text = escaped(text, chance),
            Deed::Numbers if text.starts_with(|c: char| c.is_ascii_digit()) && chance.one_in(3) => {
                *text = number(text, chance);
            }
            _ => {}
        }
    }
}

/// A number that JavaScript takes for the same.
fn number(text: &str, chance: &mut Chance) -> String {
    let whole = text.bytes().all(|b| b.is_ascii_digit());
    match chance.below(4) {
        0 if whole => format!("{text}.0"),
        1 if !text.contains(['e', 'E']) => format!("{text}e0"),
        2 if !text.contains(['e', 'E']) => format!("{text}E+00"),
        _ if text == "0" => "-0".to_owned(),
        _ if whole => format!("{text}.00"),
        _ => text.to_owned(),
    }
}

/// A string with some characters as escapes, or without.
fn escaped(text: &str, chance: &mut Chance) -> String {
    let how = chance.below(4);
    let mut out = String::new();
    let mut chars = text[1..text.len() - 1].chars();
    while let Some(c) = chars.next() {
        match (how, c) {
            (_, '\\') => {
                out.push('\\');
                out.extend(chars.next());
            }
            (0, '/') => out.push_str("\\/"),
            (0 | 1, c) if !c.is_ascii() => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    out.push_str(&match how {
                        0 => format!("\\u{unit:04x}"),
                        _ => format!("\\u{unit:04X}"),
                    });
                }
            }
            (2, c) if c.is_ascii_alphabetic() && chance.one_in(9) => {
                out.push_str(&format!("\\u{:04x}", u32::from(c)));
            }
            _ => out.push(c),
        }
    }
    format!("\"{out}\"")
}
