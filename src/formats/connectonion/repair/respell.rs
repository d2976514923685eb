//! Spelling of text that PyYAML or a model refuses, although a parser of YAML 1.2 reads it.

use super::State;
use crate::diagnostic::{Code, Diagnostic};
use crate::error::{Error, Result};
use crate::format::{Cx, RepairIo, Repaired};
use crate::yaml::refused::Refused;
use std::io::{self, Read};

/// Gives the refused pieces of a file another spelling; all else stays. What else is wrong is
/// left to the next repair.
pub fn respell(
    io: &mut dyn RepairIo,
    state: &State,
    refused: &[Refused],
    cx: &Cx<'_>,
) -> Result<Repaired> {
    io.begin(refused.iter().any(changes_text))?;
    let mut part = io.parts().main()?;
    let mut out = io.create("")?;
    let mut at = 0;
    let failed = |error| Error::io("cannot write", error);
    for piece in refused {
        let Some(before) = piece.at.byte.checked_sub(at) else { continue };
        io::copy(&mut part.by_ref().take(before), &mut out).map_err(failed)?;
        let mut old = Vec::new();
        part.by_ref().take(piece.length).read_to_end(&mut old).map_err(failed)?;
        if changes_text(piece) {
            io.aside("", &old, piece.at, piece.code)?;
        }
        if piece.anchored {
            out.write_all(anchor(&old)).map_err(failed)?;
        }
        out.write_all(&piece.new).map_err(failed)?;
        // The place of a block of text includes the end of its last line.
        let kept = old.iter().rposition(|byte| !b" \t\r\n".contains(byte)).map_or(0, |at| at + 1);
        if kept > 0 {
            out.write_all(old.get(kept..).unwrap_or_default()).map_err(failed)?;
        }
        at = piece.at.byte + piece.length;
        let message = format!("{}: {}", piece.code.title(), piece.what);
        cx.report(Diagnostic::new(piece.code, message).at(piece.at));
    }
    io::copy(&mut part, &mut out).map_err(failed)?;
    out.flush().map_err(failed)?;
    let (records, reach) = (state.records, state.reach());
    Ok(Repaired { changed: true, records, ..Repaired::default() }.reaching(reach, reach))
}

/// Returns the anchor before a node, with the blank behind it.
fn anchor(node: &[u8]) -> &[u8] {
    let mut words = node.split_inclusive(|b| b.is_ascii_whitespace());
    words.find(|word| word.starts_with(b"&")).unwrap_or_default()
}

/// Whether the other spelling is that of another text.
fn changes_text(piece: &Refused) -> bool {
    piece.code == Code::SurrogateReplaced
}
