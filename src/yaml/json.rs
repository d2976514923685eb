//! Conversion of YAML nodes to JSON, and of JSON to YAML.

use super::keys::{Keys, MERGE};
use super::read::{Budget, Event, Events, ScalarStyle, What, end_lines, restore_breaks};
use super::write::Emitter;
use super::{Text, is_number};
use crate::diagnostic::{Code, Diagnostic};
use crate::error::{Error, Result};
use crate::json::{Cursor, Fault, Json};
use crate::position::Position;
use std::collections::HashMap;
use std::io::Read;

/// Types of scalars without quotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scalars {
    /// The types of YAML 1.1: `null`, `true`, numbers in decimal; the rest is text.
    Typed,
    /// Text for all scalars except `null`.
    Text,
    /// Text for these members of the outermost mapping and for the scalars in lists under them,
    /// otherwise as typed. `a/b` is the member `b` of the mapping that is the member `a`, or of
    /// each mapping in a list that is.
    TextOf(&'static [&'static str]),
}

/// Reads nodes as JSON. Aliases are expanded, as far as a budget goes.
#[derive(Debug)]
pub struct Nodes {
    /// JSON of the nodes behind each anchor.
    anchors: HashMap<usize, Vec<u8>>,
    budget: Budget,
    /// End of the last node, without white space and the end of a block.
    pub end: Position,
    /// Whether the last node contained data that JSON cannot express: a tag, an alias, an anchor.
    pub beyond_json: bool,
    /// Places of the comments.
    pub comments: Vec<Position>,
    /// Keys that occur twice in a mapping, in JSON, with their second places. The mapping has the
    /// last value.
    pub twice: Vec<(Json, Position)>,
    keys: Keys,
}

impl Nodes {
    /// Begins; aliases may expand as far as `budget` allows.
    pub fn new(budget: Budget) -> Self {
        Self {
            anchors: HashMap::new(),
            budget,
            end: Position::default(),
            beyond_json: false,
            comments: Vec::new(),
            twice: Vec::new(),
            keys: Keys::default(),
        }
    }

    /// Returns the next event that is not a comment.
    ///
    /// # Errors
    /// The errors of [`Events::next`]; an end before the document's end is one, too.
    pub fn next<R: Read>(&mut self, events: &mut Events<R>) -> Result<Event> {
        loop {
            match events.next()? {
                None => {
                    let found = Diagnostic::new(Code::YamlCutShort, "the document is not closed");
                    return Err(Error::unfit(found.at(self.end)));
                }
                Some(Event { what: What::Comment { .. }, at, .. }) => self.comments.push(at),
                Some(event) => {
                    self.note_end(&event);
                    return Ok(event);
                }
            }
        }
    }

    fn note_end(&mut self, event: &Event) {
        // The end of a block is known only where another node begins.
        let bracket = event.end.byte.saturating_sub(event.at.byte) == 1;
        let ends = match event.what {
            What::Scalar(..) | What::Alias(_) => true,
            What::MappingEnd | What::SequenceEnd => bracket,
            _ => false,
        };
        if ends {
            self.end = event.end;
        }
    }

    /// Appends the node that begins with `first` as JSON.
    pub fn value<R: Read>(
        &mut self,
        events: &mut Events<R>,
        first: Event,
        scalars: Scalars,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        self.beyond_json = false;
        let mut open: Vec<Open> = Vec::new();
        let mut event = first;
        loop {
            self.node(event, scalars, &mut open, out)?;
            if open.is_empty() {
                return Ok(());
            }
            event = self.next(events)?;
        }
    }

    fn node(
        &mut self,
        event: Event,
        scalars: Scalars,
        open: &mut Vec<Open>,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let is_key = open.last_mut().is_some_and(Open::begin_item);
        let ends = matches!(event.what, What::MappingEnd | What::SequenceEnd);
        if !ends && let Some(level) = open.last_mut() {
            level.separate(out);
        }
        let start = out.len();
        match event.what {
            What::Scalar(text, spelling, node) => {
                let text = match spelling {
                    ScalarStyle::SingleQuoted => restore_breaks(text),
                    ScalarStyle::Literal => end_lines(text),
                    _ => text,
                };
                self.beyond_json |= node.tag.is_some() || node.anchor.is_some();
                match open.last_mut() {
                    Some(level) if is_key => {
                        level.key(&text, scalars);
                        text.write_json(out);
                        let merges = spelling == ScalarStyle::Plain && text == MERGE;
                        self.keys.add(start, merges, event.at, out);
                    }
                    level => {
                        let text_only = level.is_some_and(|level| level.text);
                        let typed = scalars != Scalars::Text && !text_only;
                        match node.tag.as_deref() {
                            Some("!!str" | "!") => text.write_json(out),
                            _ => scalar(&text, spelling, typed, out),
                        }
                    }
                }
                self.anchor(node.anchor, out.get(start..).unwrap_or_default())?;
            }
            What::Alias(anchor) => {
                self.beyond_json = true;
                let Some(value) = self.anchors.get(&anchor) else {
                    let message = "an alias of something that is not kept";
                    return Err(Error::unfit(
                        Diagnostic::new(Code::YamlLimit, message).at(event.at),
                    ));
                };
                self.budget.spend(value.len() as u64, event.at)?;
                out.extend_from_slice(value);
                if is_key {
                    self.keys.add(start, false, event.at, out);
                }
            }
            What::MappingStart(_, node) | What::SequenceStart(_, node) if is_key => {
                self.beyond_json |= node.tag.is_some();
                let found = Diagnostic::new(Code::YamlSyntax, "a key that is not a scalar");
                return Err(Error::unfit(found.at(event.at)));
            }
            What::MappingStart(_, node) => {
                self.beyond_json |= node.tag.is_some() || node.anchor.is_some();
                out.push(b'{');
                let path = open.last().map_or(Some(""), |level| level.inner);
                let keys = self.keys.len();
                open.push(Open { path, keys, ..Open::new(true, start, node.anchor) });
            }
            What::SequenceStart(_, node) => {
                self.beyond_json |= node.tag.is_some() || node.anchor.is_some();
                out.push(b'[');
                let (text, inner) =
                    open.last().map_or((false, None), |level| (level.text, level.inner));
                open.push(Open { text, inner, ..Open::new(false, start, node.anchor) });
            }
            What::MappingEnd | What::SequenceEnd => {
                if let Some(level) = open.pop() {
                    out.push(if level.mapping { b'}' } else { b']' });
                    if level.mapping {
                        self.twice.extend(self.keys.end(level.keys, level.start, out));
                    }
                    let value = out.get(level.start..).unwrap_or_default();
                    self.anchor(level.anchor, value)?;
                }
            }
            What::DocumentStart | What::DocumentEnd | What::Comment { .. } => {}
        }
        Ok(())
    }

    fn anchor(&mut self, anchor: Option<usize>, value: &[u8]) -> Result<()> {
        if let Some(anchor) = anchor {
            self.budget.spend(value.len() as u64, self.end)?;
            self.anchors.insert(anchor, value.to_vec());
        }
        Ok(())
    }
}

/// A collection that was begun.
#[derive(Debug)]
struct Open {
    mapping: bool,
    /// Whether the next node is a key.
    key: bool,
    first: bool,
    /// The path to this mapping and to the value that comes next, in the form of the names of text;
    /// `None` where none of them leads there.
    path: Option<&'static str>,
    inner: Option<&'static str>,
    /// Whether the value that comes next is always text.
    text: bool,
    /// Place at which its JSON begins.
    start: usize,
    /// Number of keys of the mappings around it.
    keys: usize,
    anchor: Option<usize>,
}

impl Open {
    fn new(mapping: bool, start: usize, anchor: Option<usize>) -> Self {
        let (path, inner) = (None, None);
        let (text, keys) = (false, 0);
        Self { mapping, key: !mapping, first: true, path, inner, text, start, keys, anchor }
    }

    /// Notes the names of text that match a key.
    fn key(&mut self, key: &Text<'_>, scalars: Scalars) {
        (self.text, self.inner) = (false, None);
        let (Scalars::TextOf(names), Some(path), Some(key)) = (scalars, self.path, key.as_str())
        else {
            return;
        };
        for name in names {
            match name.strip_prefix(path).and_then(|name| name.strip_prefix(key)) {
                Some("") => self.text = true,
                Some(rest) if rest.starts_with('/') => {
                    self.inner = name.get(..=name.len() - rest.len());
                }
                _ => {}
            }
        }
    }

    /// Goes to the next node; returns whether it is a key.
    fn begin_item(&mut self) -> bool {
        self.key = self.mapping && !self.key;
        self.key
    }

    /// Writes the separator before the node.
    fn separate(&mut self, out: &mut Vec<u8>) {
        if self.mapping && !self.key {
            out.push(b':');
        } else if !std::mem::take(&mut self.first) {
            out.push(b',');
        }
    }
}

fn scalar(text: &Text<'_>, spelling: ScalarStyle, typed: bool, out: &mut Vec<u8>) {
    let bytes = text.as_bytes();
    let plain = spelling == ScalarStyle::Plain;
    let word = match bytes {
        b"" | b"~" | b"null" | b"Null" | b"NULL" if plain => Some(&b"null"[..]),
        b"true" | b"True" | b"TRUE" | b"yes" | b"Yes" | b"YES" | b"on" | b"On" | b"ON" => {
            Some(&b"true"[..])
        }
        b"false" | b"False" | b"FALSE" | b"no" | b"No" | b"NO" | b"off" | b"Off" | b"OFF" => {
            Some(&b"false"[..])
        }
        _ if is_number(bytes) => Some(bytes),
        _ => None,
    };
    match word {
        Some(b"null") if plain => out.extend_from_slice(b"null"),
        Some(word) if plain && typed => out.extend_from_slice(word),
        _ => text.write_json(out),
    }
}

/// Writes a JSON value as YAML.
pub fn emit(value: &[u8], yaml: &mut Emitter) -> Result<(), Fault> {
    let mut cursor = Cursor::new(value);
    let mut open = Vec::new();
    let mut text = Vec::new();
    loop {
        match cursor.peek() {
            Some(b'"') => {
                yaml.string(Text::of_wtf8(cursor.text(&mut text)?));
            }
            Some(b'{') => {
                cursor.begin_object()?;
                yaml.begin_mapping();
                open.push(true);
            }
            Some(b'[') => {
                cursor.begin_array()?;
                yaml.begin_sequence();
                open.push(false);
            }
            _ => {
                let span = cursor.skip_value()?;
                yaml.plain(&number(span.of(value)));
            }
        }
        // On to the next value: behind the next key, or of the next element.
        loop {
            let Some(mapping) = open.last() else { return Ok(()) };
            if *mapping {
                if let Some(key) = cursor.next_key()? {
                    let mut key = Cursor::new(key.of(value));
                    yaml.string(Text::of_wtf8(key.text(&mut text)?));
                    break;
                }
            } else if cursor.next_element()? {
                break;
            }
            yaml.end();
            open.pop();
        }
    }
}

/// Spells a word, or a number in the form of YAML 1.1: with a point in it where it has an exponent.
fn number(value: &[u8]) -> String {
    let spelled = String::from_utf8_lossy(value).into_owned();
    match spelled.split_once(['e', 'E']) {
        Some((digits, exponent)) if Json::trusted(value.to_vec().into()).float().is_some() => {
            let point = if digits.contains('.') { "" } else { ".0" };
            let sign = if exponent.starts_with(['+', '-']) { "" } else { "+" };
            format!("{digits}{point}e{sign}{exponent}")
        }
        _ => spelled,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml::read::Limits;
    use crate::yaml::write::Style;

    fn read(yaml: &str, scalars: Scalars) -> String {
        let mut events = Events::new(yaml.as_bytes(), Limits::default());
        let mut nodes = Nodes::new(Budget::for_input(yaml.len() as u64));
        let mut out = Vec::new();
        nodes.next(&mut events).expect("a document");
        let first = nodes.next(&mut events).expect("a node");
        nodes.value(&mut events, first, scalars, &mut out).expect("a value");
        String::from_utf8(out).expect("UTF-8")
    }

    #[test]
    fn nodes_become_json_and_json_nodes() {
        let yaml = "a: 1\nb:\n- x\n- y: ''\n  z: []\n- - 1.5\n  - null\nc: {}\nd: 'yes'\ne: true\n";
        let json = r#"{"a":1,"b":["x",{"y":"","z":[]},[1.5,null]],"c":{},"d":"yes","e":true}"#;
        assert_eq!(read(yaml, Scalars::Typed), json);
        let mut emitter = Emitter::new(Style::PyYaml);
        emit(json.as_bytes(), &mut emitter).expect("JSON");
        assert_eq!(String::from_utf8(emitter.finish()).expect("UTF-8"), yaml);
    }

    #[test]
    fn words_and_numbers_are_those_of_yaml_1_1() {
        let yaml = "[yes, 0123, 1e3, 2024-01-01, ~, 0x1f, -2.5, 1_000, .5, 12:30:45, 1.0e+5]";
        let typed =
            r#"[true,"0123","1e3","2024-01-01",null,"0x1f",-2.5,"1_000",".5","12:30:45",1.0e+5]"#;
        assert_eq!(read(yaml, Scalars::Typed), typed);
        let text = r#"["yes","0123","1e3","2024-01-01",null,"0x1f","-2.5","1_000",".5","12:30:45","1.0e+5"]"#;
        assert_eq!(read(yaml, Scalars::Text), text);
    }

    #[test]
    fn members_can_be_text_by_name_at_any_depth() {
        let yaml = "{a: 1, b: [yes, [2]], c: {a: 3, d: {a: no}, b: 4}, d: {a: 5}}";
        let json = r#"{"a":"1","b":["yes",["2"]],"c":{"a":3,"d":{"a":false},"b":"4"},"d":{"a":5}}"#;
        assert_eq!(read(yaml, Scalars::TextOf(&["a", "b", "c/b"])), json);
    }

    #[test]
    fn keys_that_occur_twice_have_the_last_value() {
        assert_eq!(read("{a: 1, b: 2, a: {c: 3, c: 4}}", Scalars::Typed), r#"{"a":{"c":4},"b":2}"#);
        let many: Vec<_> = (0..40).map(|key| format!("k{}: {key}", key % 39)).collect();
        let many = read(&format!("{{{}}}", many.join(", ")), Scalars::Typed);
        assert!(many.starts_with(r#"{"k0":39,"k1":1"#) && many.ends_with(r#""k38":38}"#), "{many}");
    }

    #[test]
    fn merge_keys_add_the_members_that_a_mapping_lacks() {
        let yaml = "- &a {x: 1, y: 2}\n- &b {y: 3, z: 4}\n- {y: 5, <<: *a}\n- <<: [*a, *b]\n- {<<: 1, '<<': 2}\n";
        let json = r#"[{"x":1,"y":2},{"y":3,"z":4},{"x":1,"y":5},{"y":2,"z":4,"x":1},{"<<":2}]"#;
        assert_eq!(read(yaml, Scalars::Typed), json);
    }

    #[test]
    fn aliases_are_expanded() {
        assert_eq!(read("- &a {x: 1}\n- *a\n", Scalars::Typed), r#"[{"x":1},{"x":1}]"#);
    }
}
