//! Strings and documents that emitters get wrong, made from a seed.

use copyist::yaml::Text;
use copyist::yaml::write::Emitter;

/// A small generator of numbers: xorshift64*.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let high = self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33;
        usize::try_from(high).expect("31 bits") % n
    }

    pub fn pick<'a, T: ?Sized>(&mut self, from: &[&'a T]) -> &'a T {
        from[self.below(from.len())]
    }
}

const LOOKALIKES: &[&str] = &[
    "yes",
    "No",
    "on",
    "OFF",
    "y",
    "n",
    "true",
    "False",
    "null",
    "Null",
    "~",
    "",
    "=",
    "<<",
    "0",
    "-1",
    "+12",
    "0123",
    "089",
    "0o14",
    "0x1f",
    "0b11",
    "1_000",
    "1e3",
    "1.5",
    "1.5e+3",
    ".5",
    "1.",
    ".inf",
    "-.INF",
    ".nan",
    "12:30",
    "12:30:45",
    "1:2.5",
    "2024-01-01",
    "2024-1-1 1:02:03",
    "2024-01-01T10:00:00.5 +01:00",
    "---",
    "...",
    "--- a",
    "-",
    "?",
    ":",
    "NaN",
    "inf",
    "Infinity",
];

const PIECES: &[&str] = &[
    "word",
    "some words ",
    "a",
    "I",
    " ",
    "  ",
    "    ",
    "\n",
    "\n\n",
    "\n\n\n",
    "\n  ",
    " \n",
    "\n    if x:\n        return",
    ": ",
    ":",
    " #",
    "#",
    "- ",
    "-",
    "?",
    "? ",
    "'",
    "''",
    "\"",
    "\"quoted\"",
    "\\",
    "\\n",
    "\\ud83d",
    "\t",
    "\r",
    "\r\n",
    "{",
    "}",
    "[",
    "]",
    ", ",
    "&a",
    "*a",
    "!t",
    "|",
    ">",
    "%",
    "@",
    "`",
    "$",
    "=",
    "é",
    "日本語",
    "中",
    "😀",
    "\u{a0}",
    "\u{85}",
    "\u{2028}",
    "\u{2029}",
    "\u{feff}",
    "\u{fffe}",
    "\u{10ffff}",
    "\u{1fffe}",
    "\0",
    "\u{1b}[0m",
    "\u{7f}",
    "\u{9b}",
    "0",
    "12",
    "1.5",
    "://",
    "/usr/bin/env ",
    "{\"command\": \"ls -la\"}",
    "΢",
    "΢d800",
];

/// Text in WTF-8: looks like something else, or is pieced together, or is long.
pub fn string(random: &mut Random) -> Text<'static> {
    match random.below(10) {
        0 | 1 => random.pick(LOOKALIKES).to_owned().into(),
        2 => line(random).into(),
        n => {
            let count = 1 + random.below(if n == 3 { 60 } else { 8 });
            let plain = random.below(2) == 0;
            let mut json = b"\"".to_vec();
            for _ in 0..count {
                // Half of the strings hold nothing that only double quotes can hold.
                let piece = random.pick(if plain { &PIECES[..12] } else { PIECES });
                let quoted = Text::from(piece).to_json();
                json.extend_from_slice(&quoted[1..quoted.len() - 1]);
            }
            if !plain && random.below(4) == 0 {
                json.extend_from_slice(
                    random.pick(&["\\ud800", "\\udfff x", "\\uDBFF\\n"]).as_bytes(),
                );
            }
            json.push(b'"');
            Text::from_json(&json).expect("JSON").into_owned()
        }
    }
}

/// A line that ends around column 80.
fn line(random: &mut Random) -> String {
    let mut line = random.pick(&["", "\t", "it's ", "日本 ", "- ", "x"]).to_owned();
    let wanted = 70 + random.below(60);
    while line.len() < wanted {
        let word = random.pick(&["a", "of", "the", "words", "longer", "'", "日", "\u{1b}", "  "]);
        line.push_str(&word.repeat(1 + random.below(2)));
        line.push_str(random.pick(&[" ", " ", " ", "", "  "]));
    }
    line
}

/// A document.
#[derive(Clone, Debug, PartialEq)]
pub enum Node {
    Text(Text<'static>),
    Plain(&'static str),
    List(Vec<Node>),
    Map(Vec<(Text<'static>, Node)>),
}

impl Node {
    /// A random document of at most some levels.
    pub fn random(random: &mut Random, depth: usize) -> Self {
        match random.below(if depth == 0 { 3 } else { 8 }) {
            0 | 1 => Self::Text(string(random)),
            2 => Self::Plain(random.pick(&["1", "-2.5", "true", "null"])),
            3 | 4 => Self::list(random, depth),
            _ => Self::map(random, depth),
        }
    }

    fn list(random: &mut Random, depth: usize) -> Self {
        let count = random.below(4);
        Self::List((0..count).map(|_| Self::random(random, depth - 1)).collect())
    }

    fn map(random: &mut Random, depth: usize) -> Self {
        let mut members: Vec<(Text<'static>, Node)> = Vec::new();
        for _ in 0..random.below(4) {
            let key = if random.below(2) == 0 { string(random) } else { "key".into() };
            if members.iter().all(|(known, _)| *known != key) {
                members.push((key, Self::random(random, depth - 1)));
            }
        }
        Self::Map(members)
    }

    /// A chain of collections; from 40 levels on indentation passes column 80.
    pub fn deep(random: &mut Random, levels: usize) -> Self {
        let mut node = Self::Text(string(random));
        for _ in 0..levels {
            let beside = Self::Text(string(random));
            node = match random.below(3) {
                0 => Self::List(vec![node, beside]),
                _ => Self::Map(vec![("k".into(), beside), ("in".into(), node)]),
            };
        }
        node
    }

    pub fn emit(&self, yaml: &mut Emitter) {
        match self {
            Self::Text(text) => drop(yaml.string(text)),
            Self::Plain(spelling) => drop(yaml.plain(spelling)),
            Self::List(items) => {
                yaml.begin_sequence();
                items.iter().for_each(|item| item.emit(yaml));
                yaml.end();
            }
            Self::Map(members) => {
                yaml.begin_mapping();
                for (key, value) in members {
                    yaml.string(key);
                    value.emit(yaml);
                }
                yaml.end();
            }
        }
    }

    /// The same with every scalar as the text that it is.
    pub fn as_text(&self) -> Self {
        match self {
            Self::Plain(spelling) => Self::Text(Text::from(*spelling)),
            Self::Text(text) => Self::Text(text.clone()),
            Self::List(items) => Self::List(items.iter().map(Self::as_text).collect()),
            Self::Map(members) => {
                Self::Map(members.iter().map(|(k, v)| (k.clone(), v.as_text())).collect())
            }
        }
    }

    /// Whether it holds no lone half of a surrogate pair.
    pub fn is_unicode(&self) -> bool {
        match self {
            Self::Text(text) => text.as_str().is_some(),
            Self::Plain(_) => true,
            Self::List(items) => items.iter().all(Self::is_unicode),
            Self::Map(members) => {
                members.iter().all(|(key, value)| key.as_str().is_some() && value.is_unicode())
            }
        }
    }

    pub fn to_json(&self) -> Vec<u8> {
        match self {
            Self::Text(text) => text.to_json(),
            Self::Plain(spelling) => spelling.as_bytes().to_vec(),
            Self::List(items) => {
                let items: Vec<_> = items.iter().map(Self::to_json).collect();
                [b"[", items.join(&b',').as_slice(), b"]"].concat()
            }
            Self::Map(members) => {
                let member = |(key, value): &(Text<'_>, Self)| {
                    [key.to_json().as_slice(), b":", &value.to_json()].concat()
                };
                let members: Vec<_> = members.iter().map(member).collect();
                [b"{", members.join(&b',').as_slice(), b"}"].concat()
            }
        }
    }
}
