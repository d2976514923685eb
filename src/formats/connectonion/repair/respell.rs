//! Spelling of text that PyYAML refuses, although a parser of YAML 1.2 reads it.

use super::State;
use crate::diagnostic::{Code, Diagnostic};
use crate::error::{Error, Result};
use crate::format::{Cx, RepairIo, Repaired};
use crate::yaml::refused::Refused;
use std::io::{self, Read};

/// Spells the refused pieces of a file as PyYAML reads them; all else stays. What else is wrong is
/// left to the next repair.
///
/// # Errors
/// If reading or writing fails.
pub fn respell(
    bench: &mut dyn RepairIo,
    state: &State,
    refused: &[Refused],
    cx: &Cx<'_>,
) -> Result<Repaired> {
    bench.begin(false)?;
    let mut part = bench.parts().main()?;
    let mut out = bench.create("")?;
    let mut at = 0;
    let failed = |error| Error::io("cannot write", error);
    for piece in refused {
        let Some(before) = piece.at.byte.checked_sub(at) else { continue };
        io::copy(&mut part.by_ref().take(before), &mut out).map_err(failed)?;
        io::copy(&mut part.by_ref().take(piece.length), &mut io::sink()).map_err(failed)?;
        out.write_all(&piece.new).map_err(failed)?;
        at = piece.at.byte + piece.length;
        let message = format!("{}: {}", Code::Respelled.title(), piece.what);
        cx.report(Diagnostic::new(Code::Respelled, message).at(piece.at));
    }
    io::copy(&mut part, &mut out).map_err(failed)?;
    out.flush().map_err(failed)?;
    let (records, reach) = (state.records, state.reach());
    Ok(Repaired { changed: true, records, ..Repaired::default() }.reaching(reach, reach))
}
