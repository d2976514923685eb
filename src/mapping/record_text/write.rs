//! Writer of records.

use crate::json::{self, Json};
use crate::record::{Field, Node, Record, Value};

/// Appends one record and its line ending.
pub fn line(record: &Record, out: &mut Vec<u8>) {
    line_of(record, &|_| true, out);
}

/// Appends one record and its line ending, with only the fields that `counts` accepts.
pub fn line_of(record: &Record, counts: &dyn Fn(Field) -> bool, out: &mut Vec<u8>) {
    only(record, counts, as_it_is, out);
    out.push(b'\n');
}

/// Appends one record as [`Json::normal`] spells it, with only the fields that `counts` accepts.
pub fn normal_line_of(record: &Record, counts: &dyn Fn(Field) -> bool, out: &mut Vec<u8>) {
    only(record, counts, Json::normal_into, out);
}

/// Appends one record as an object.
pub fn object_of(record: &Record, out: &mut Vec<u8>) {
    only(record, &|_| true, as_it_is, out);
}

/// Function that appends a value in a certain spelling.
type Put = fn(&Json, &mut Vec<u8>);

fn as_it_is(json: &Json, out: &mut Vec<u8>) {
    json::put(json.as_bytes(), out);
}

fn only(record: &Record, counts: &dyn Fn(Field) -> bool, put: Put, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"kind\":\"");
    out.extend_from_slice(record.kind.name().as_bytes());
    out.push(b'"');
    for (field, value) in record.node.iter().filter(|(field, _)| counts(*field)) {
        out.push(b',');
        member(field, value, put, out);
    }
    out.push(b'}');
}

fn member(field: Field, value: &Value, put: Put, out: &mut Vec<u8>) {
    out.push(b'"');
    out.extend_from_slice(field.name().as_bytes());
    out.extend_from_slice(b"\":");
    match value {
        Value::Json(json) => put(json, out),
        Value::Node(node) => object(node, put, out),
        Value::Nodes(nodes) => {
            for (i, node) in nodes.iter().enumerate() {
                out.push(if i == 0 { b'[' } else { b',' });
                object(node, put, out);
            }
            out.extend_from_slice(if nodes.is_empty() { b"[]" } else { b"]" });
        }
    }
}

fn object(node: &Node, put: Put, out: &mut Vec<u8>) {
    out.push(b'{');
    for (i, (field, value)) in node.iter().enumerate() {
        if i > 0 {
            out.push(b',');
        }
        member(field, value, put, out);
    }
    out.push(b'}');
}
