//! Reader of the events of a session.

use super::images::Assets;
use super::starts::Calls;
use super::{SOURCE, line, wire};
use crate::diagnostic::{Code, Diagnostic};
use crate::error::{Error, Result};
use crate::format::{Cx, Parts, Reader, no_header};
use crate::framing::{Chain, Framing, ParseLines, each_line_by};
use crate::json::Json;
use crate::record::{Field, Kind, Node, Record};

/// Opens a session for reading.
pub fn open<'a>(parts: &'a mut dyn Parts, cx: &'a Cx<'a>) -> Result<Reader<'a>> {
    each_line_by(parts.main()?, cx, Events { cx, lineage: None })
}

struct Events<'a> {
    cx: &'a Cx<'a>,
    /// The conversation, behind the session's record.
    lineage: Option<Lineage>,
}

impl ParseLines for Events<'_> {
    fn line(&mut self, frame: &Framing) -> Result<Record> {
        let line = frame.line();
        let value = Json::read(&frame.bytes);
        let Some(lineage) = &mut self.lineage else {
            let start = value.ok().filter(line::is_start);
            let start = start.ok_or_else(|| no_header(&line, NOT_A_START))?;
            let mut record = line::read(&start, true, &Assets::new());
            record.node.set(Field::Source, Json::constant(SOURCE));
            self.lineage = Some(Lineage::of(&record.node, self.cx));
            return Ok(record);
        };
        let value = value.map_err(|fault| Error::json(fault, line.bytes, line.at))?;
        if !value.is_object() {
            let found = Diagnostic::of(Code::NotObject).at(line.at).showing(line.bytes, 0);
            return Err(Error::damaged(found));
        }
        Ok(lineage.read(&value))
    }

    fn leaf(&self) -> Option<Json> {
        self.lineage.as_ref()?.chain.leaf().cloned()
    }
}

const NOT_A_START: &str = "the first line is not an event `session.start`";

/// The order of the conversation, which is that of the lines: parents of events do not tell it.
#[derive(Debug)]
pub struct Lineage {
    chain: Chain,
    /// The nodes behind the beginning of a compaction, if one has begun.
    compacting: Option<Vec<Json>>,
    calls: Calls,
    assets: Assets,
    /// Bytes of the assets.
    size: usize,
}

/// Largest size of the images that are held for messages that refer to them.
const LARGEST: usize = 64 << 20;

impl Lineage {
    /// Begins behind the session's record.
    pub fn of(session: &Node, cx: &Cx<'_>) -> Self {
        let key = session.json(Field::Id).map_or(&b""[..], Json::as_bytes);
        Self {
            chain: Chain::of(key, cx),
            compacting: None,
            calls: Calls::default(),
            assets: Assets::new(),
            size: 0,
        }
    }

    /// Reads an event behind those before it.
    pub fn read(&mut self, event: &Json) -> Record {
        let mut record = line::read(event, false, &self.assets);
        self.link(&mut record);
        record
    }

    fn keep(&mut self, asset: &Json) {
        let id = asset.text_of("assetId");
        let data = wire::member_of(asset, "data").map(|data| data.detached());
        let Some((id, data)) = id.zip(data) else { return };
        self.size += data.as_bytes().len();
        if self.size <= LARGEST {
            self.assets.insert(id, data);
        }
    }

    /// Links a record behind those before it. A sub-agent's messages are a branch of their own.
    pub fn link(&mut self, record: &mut Record) {
        self.calls.note(record);
        let node = &mut record.node;
        match record.kind {
            Kind::Message if node.get(Field::ParentCall).is_some() => {
                self.chain.link_by_agent(node)
            }
            Kind::Compaction => {
                let kept = self.compacting.take().unwrap_or_default();
                node.set(Field::Kept, Json::list(kept));
                self.chain.link(node);
            }
            Kind::Message | Kind::ModelChange => {
                self.chain.link(node);
                if let Some(kept) = &mut self.compacting {
                    kept.extend(self.chain.last().cloned());
                }
            }
            Kind::Event => {
                let repeats = node.json(Field::Data).is_some_and(|data| self.calls.repeats(data));
                node.put(Field::Derived, repeats.then(|| Json::constant("true")));
            }
            Kind::Notice if node.is(Field::Subtype, wire::COMPACTION_START) => {
                self.compacting = Some(Vec::new());
            }
            Kind::Notice if node.is(Field::Subtype, wire::BINARY_ASSET) => {
                node.json(Field::Data).cloned().iter().for_each(|asset| self.keep(asset));
            }
            _ => {}
        }
    }
}
