//! Messages that one request showed to the model.
//!
//! A request refers to messages before it. The first pass over the records finds the request and
//! the messages that it refers to, by their identifiers; the second pass keeps only these.

use super::history::record_of;
use super::resolve::{Headers, Sources};
use super::wire::HEADER;
use crate::error::Result;
use crate::format::Prompt;
use crate::ids::hash;
use crate::json::Json;
use crate::record::{Field, Kind, Node, Record};
use std::collections::{HashMap, HashSet};
use std::io::Cursor;
use std::ops::ControlFlow;

/// Begins the search for a request.
pub fn open(run: &str, number: f64) -> Box<dyn Prompt> {
    Box::new(Shown {
        run: run.to_owned(),
        number,
        here: false,
        parents: HashMap::new(),
        wanted: HashSet::new(),
        references: None,
        headers: Headers::default(),
        sources: Sources::new(Box::new(Cursor::new(Vec::new()))),
    })
}

struct Shown {
    /// Identifier of the run, and number of the request.
    run: String,
    number: f64,
    /// Whether the next records are of that run.
    here: bool,
    /// Parent of each message, both as hashes of their identifiers.
    parents: HashMap<u64, u64>,
    /// Messages and labels that the request refers to, as hashes.
    wanted: HashSet<u64>,
    references: Option<Json>,
    headers: Headers,
    sources: Sources,
}

fn key(name: &Json) -> u64 {
    hash(name.as_bytes())
}

fn items(references: &Json) -> Vec<Json> {
    references.elements().collect()
}

impl Shown {
    /// Whether a record is the request. A header changes the run that the next records belong to.
    fn is_it(&mut self, record: &Record) -> bool {
        let node = &record.node;
        let of_run = |node: &Node| node.text(Field::Run).is_some_and(|run| run == self.run);
        match record.kind {
            Kind::Run if node.is(Field::Layout, HEADER) => self.here = of_run(node),
            Kind::Request => {
                let here = if node.json(Field::Run).is_some() { of_run(node) } else { self.here };
                return here && node.json(Field::Seq).and_then(Json::float) == Some(self.number);
            }
            _ => {}
        }
        false
    }

    /// Notes the messages and labels that the request refers to.
    fn want(&mut self, references: &Json) {
        for item in items(references) {
            match item.as_bytes().first() {
                Some(b'"') => drop(self.wanted.insert(key(&item))),
                Some(b'[') => {
                    if let [first, last] = items(&item).as_slice() {
                        self.want_path(key(first), key(last));
                    }
                }
                _ => self.wanted.extend(item.member("same").as_ref().map(key)),
            }
        }
    }

    fn want_path(&mut self, first: u64, last: u64) {
        let mut at = Some(last);
        while let Some(message) = at.filter(|message| self.wanted.insert(*message)) {
            at = self.parents.get(&message).copied().filter(|_| message != first);
        }
    }
}

impl Prompt for Shown {
    fn look(&mut self, record: &Record) -> ControlFlow<()> {
        if self.is_it(record) {
            let references = record.node.json(Field::Messages).cloned();
            references.iter().for_each(|references| self.want(references));
            self.references = references;
            self.here = false;
            return ControlFlow::Break(());
        }
        if let (Some(id), Some(parent)) =
            (record.node.json(Field::Id), record.node.json(Field::Parent))
        {
            self.parents.insert(key(id), key(parent));
        }
        ControlFlow::Continue(())
    }

    fn keep(&mut self, record: &Record) -> Result<ControlFlow<()>> {
        if self.is_it(record) {
            return Ok(ControlFlow::Break(()));
        }
        match record.kind {
            Kind::Session => self.headers.session(&record.node),
            Kind::Run if record.node.is(Field::Layout, HEADER) => {
                let mut header = record.node.clone();
                self.headers.fill(&mut header);
                self.sources.begin(&header);
            }
            Kind::Request => {
                for item in record.node.json(Field::Messages).iter().flat_map(|list| items(list)) {
                    let labelled = item.member("label").zip(item.member("message"));
                    if let Some((label, message)) = labelled
                        && self.wanted.contains(&key(&label))
                    {
                        self.sources.labelled(&label, &message)?;
                    }
                }
            }
            _ if record.node.json(Field::Id).is_some_and(|id| self.wanted.contains(&key(id))) => {
                self.sources.message(record)?;
            }
            _ => {}
        }
        Ok(ControlFlow::Continue(()))
    }

    fn messages(&mut self) -> Result<(Vec<Record>, u64)> {
        let Some(references) = self.references.take() else { return Ok((Vec::new(), 0)) };
        let found = self.sources.messages(&references)?;
        Ok((found.messages.iter().map(record_of).collect(), found.missing))
    }
}
