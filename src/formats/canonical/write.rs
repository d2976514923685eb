//! Writing the stream: one record a line, `kind` first, the fields in the model's order.

use crate::error::{Error, Result};
use crate::format::{Cx, Sink, Version, Writer};
use crate::position::Located;
use crate::record::{Node, Record, Value};
use std::io::Write;

/// Opens a stream for writing.
///
/// # Errors
/// If the part cannot be created.
pub fn open<'a>(
    sink: &'a mut dyn Sink,
    _version: &'static Version,
    _cx: &'a Cx<'a>,
) -> Result<Box<dyn Writer + 'a>> {
    Ok(Box::new(Stream { to: sink.create("")?, out: Vec::new() }))
}

/// Output is handed on in pieces of this size.
const CHUNK: usize = 256 << 10;

struct Stream {
    to: Box<dyn Write>,
    out: Vec<u8>,
}

impl Stream {
    fn flush(&mut self) -> Result<()> {
        self.to.write_all(&self.out).map_err(|error| Error::io("cannot write", error))?;
        self.out.clear();
        Ok(())
    }
}

impl Writer for Stream {
    fn record(&mut self, record: &Located<Record>) -> Result<()> {
        line(&record.value, &mut self.out);
        if self.out.len() >= CHUNK { self.flush() } else { Ok(()) }
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        self.flush()?;
        self.to.flush().map_err(|error| Error::io("cannot write", error))
    }
}

/// Appends one record and its line ending.
pub fn line(record: &Record, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"kind\":\"");
    out.extend_from_slice(record.kind.name().as_bytes());
    out.push(b'"');
    members(&record.node, b',', out);
    out.extend_from_slice(b"}\n");
}

/// Writes members, the first behind `before`.
fn members(node: &Node, before: u8, out: &mut Vec<u8>) {
    let mut separator = before;
    for (field, value) in node.iter() {
        out.push(separator);
        separator = b',';
        out.push(b'"');
        out.extend_from_slice(field.name().as_bytes());
        out.extend_from_slice(b"\":");
        match value {
            Value::Json(json) => out.extend_from_slice(json.as_bytes()),
            Value::Node(node) => object(node, out),
            Value::Nodes(nodes) => {
                for (i, node) in nodes.iter().enumerate() {
                    out.push(if i == 0 { b'[' } else { b',' });
                    object(node, out);
                }
                out.extend_from_slice(if nodes.is_empty() { b"[]" } else { b"]" });
            }
        }
    }
}

fn object(node: &Node, out: &mut Vec<u8>) {
    if node.is_empty() {
        out.push(b'{');
    } else {
        members(node, b'{', out);
    }
    out.push(b'}');
}
