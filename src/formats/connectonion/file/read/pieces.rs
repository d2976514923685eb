//! Pieces of a file as JSON, each with its place.

use super::super::super::message;
use super::super::top::Shape;
use super::open;
use crate::diagnostic::Log;
use crate::error::Result;
use crate::format::{Cx, Parts, Piece};
use crate::mapping::Spacing;
use crate::position::Located;
use crate::record::{Field, Kind};

/// Shows the top, the turns and the messages as JSON.
pub fn pieces(
    parts: &mut dyn Parts,
    shape: &'static Shape,
    cx: &Cx<'_>,
    show: Piece<'_>,
) -> Result<()> {
    let log = Log::default();
    let quiet = Cx { options: cx.options, log: &log };
    let mut out = Vec::new();
    for item in open(parts, shape, &quiet)? {
        let Ok(Located { value, at }) = item else { continue };
        out.clear();
        let written = match value.kind {
            _ if value.node.is_true(Field::Synthesized) => false,
            Kind::Session => shape.write(&value.node, &mut out),
            Kind::Turn => shape.turns.write(&value, None, &mut out),
            _ => message::write(&value, Spacing::None, true, &mut out),
        };
        if written && show(at, &out).is_break() {
            break;
        }
    }
    Ok(())
}
