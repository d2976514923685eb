//! Lines of a log while they are written: further versions of a message have their distance from
//! its first line, and a record with a list of messages is written when its list is complete.

use super::log::{self, SET, shortened};
use super::wire;
use crate::error::Result;
use crate::framing;
use crate::json::{Json, text};
use crate::parts::list::SpooledList;
use crate::record::Node;
use std::collections::{BTreeMap, HashMap};

/// Record whose list of messages is not complete.
struct Open {
    record: Json,
    items: Vec<Json>,
    /// Number of items that are known.
    filled: usize,
}

impl Open {
    /// Skips the items that are no new messages.
    fn skip(&mut self) {
        let known = self.items.iter().skip(self.filled).take_while(|item| item.as_bytes() != b"0");
        self.filled += known.count();
    }
}

/// Writer of lines.
pub struct Pen {
    pen: framing::Pen,
    /// Number of lines so far.
    count: usize,
    /// Lines that have a number.
    later: BTreeMap<usize, Vec<Vec<u8>>>,
    open: Option<Open>,
    /// Last versions of messages, and their numbers by identifier.
    texts: SpooledList,
    numbers: HashMap<String, usize>,
}

impl Pen {
    /// Begins a log.
    pub fn of(pen: framing::Pen, texts: SpooledList) -> Self {
        let (later, numbers) = (BTreeMap::new(), HashMap::new());
        Self { pen, count: 0, later, open: None, texts, numbers }
    }

    /// Applies the properties of the file.
    pub fn file(&mut self, session: &Node, first: bool) {
        self.pen.file(session, first);
    }

    /// Writes a line behind the last one.
    pub fn line(&mut self, line: &[u8]) -> Result<()> {
        self.close()?;
        self.put(line)
    }

    fn put(&mut self, line: &[u8]) -> Result<()> {
        self.due()?;
        self.pen.put(line)?;
        self.count += 1;
        self.due()
    }

    /// Writes the lines whose number has come.
    fn due(&mut self) -> Result<()> {
        while let Some(entry) = self.later.first_entry().filter(|own| *own.key() <= self.count) {
            for line in entry.remove() {
                self.pen.put(&line)?;
                self.count += 1;
            }
        }
        Ok(())
    }

    /// Writes a line at this number.
    pub fn at(&mut self, number: usize, line: Vec<u8>) {
        self.later.entry(number).or_default().push(line);
    }

    /// Begins a record, which may contain a list of messages.
    pub fn record(&mut self, record: &Json) -> Result<()> {
        let list = record.member(SET).as_ref().unwrap_or(record).member("messages");
        let is_list = Json::is_list;
        let Some(list) = list.filter(is_list) else { return self.line(record.as_bytes()) };
        self.close()?;
        let mut open = Open { record: record.clone(), items: list.elements().collect(), filled: 0 };
        open.skip();
        self.open = Some(open);
        Ok(())
    }

    /// Whether the list of the last record has a place for a message.
    pub fn is_open(&self) -> bool {
        self.open.as_ref().is_some_and(|open| open.filled < open.items.len())
    }

    /// Writes a message: in a list, or on a line, with its versions.
    pub fn message(&mut self, node: &Node, text: &Json, is_listed: bool) -> Result<()> {
        let kept = node.json(crate::record::Field::Extra);
        let forms = kept.and_then(|kept| kept.member(wire::VERSIONS)).unwrap_or_default();
        let last = text;
        let form = |form: &Json| match form.as_bytes().first() {
            Some(b'[') => shortened(last, form),
            Some(b'{') => form.clone(),
            _ => last.clone(),
        };
        let forms: Vec<Json> = forms.elements().collect();
        let first = forms.first().map_or_else(|| last.clone(), form);
        let is_listed = is_listed && self.is_open();
        if !is_listed {
            self.close()?;
        }
        if let Some(id) = last.text_of("id") {
            self.numbers.insert(id, self.texts.len());
            self.texts.add(text.as_bytes())?;
        }
        let number = self.count;
        for pair in forms.get(1..).unwrap_or_default().chunks_exact(2) {
            if let [gap, version] = pair {
                let gap = gap.float().unwrap_or(1.0).max(1.0) as usize;
                self.at(number.saturating_add(gap), form(version).as_bytes().to_vec());
            }
        }
        if let Some(open) = self.open.as_mut().filter(|_| is_listed) {
            if let Some(place) = open.items.get_mut(open.filled) {
                *place = first;
            }
            open.filled += 1;
            open.skip();
            return Ok(());
        }
        self.put(first.as_bytes())
    }

    /// Completes the last record with a list.
    fn close(&mut self) -> Result<()> {
        let Some(open) = self.open.take() else { return Ok(()) };
        let mut out = vec![b'['];
        for (number, item) in open.items.iter().enumerate() {
            let text = match item.as_bytes().first() {
                // A message that was deleted.
                Some(b'0') if number >= open.filled => continue,
                Some(b'"') => {
                    let known = item.text().and_then(|id| self.numbers.get(&id).copied());
                    let Some(known) = known else { continue };
                    self.texts.get(known)?
                }
                Some(b'[') => item.elements().next().unwrap_or_default().into_bytes(),
                _ => item.bytes().clone(),
            };
            if out.len() > 1 {
                out.push(b',');
            }
            out.extend_from_slice(&text);
        }
        out.push(b']');
        let record = match open.record.member(SET) {
            Some(set) if open.record.members().any(|(key, _)| text::is(key, SET)) => {
                let set = log::with_member(&set, "messages", &out);
                log::with_member(&open.record, SET, set.as_bytes())
            }
            _ => log::with_member(&open.record, "messages", &out),
        };
        self.put(record.as_bytes())
    }

    /// Writes the lines that are left.
    pub fn finish(mut self) -> Result<()> {
        self.close()?;
        for line in std::mem::take(&mut self.later).into_values().flatten() {
            self.pen.put(&line)?;
        }
        self.pen.finish()
    }
}
