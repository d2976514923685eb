//! Sessions about which something is odd, taken home at once, to see whether they come there.
//!
//! What nobody sees in a file may say nothing, so residue that does not fit what its file shows is
//! refused at home. Of a session that hangs together it fits. Where entries name each other in a
//! ring, a turn stands twice or a message is of no known shape, nobody can tell beforehand; and who
//! learns of it at home may have no other copy any more.

use super::is_shared;
use crate::diagnostic::{Code, Log};
use crate::error::{Error, Result};
use crate::format::{Cx, Format, Options, Parts, Sink};
use crate::formats::Spec;
use crate::parts::read_the_same;
use crate::residue::{Stage, Staged};
use std::io::BufReader;

/// What became of a session that went home.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Home {
    /// It came as it was, or as it was told to.
    Came,
    /// It came, but other bytes.
    Differs,
    /// What the file carries was refused, or nobody can read it.
    Refused,
}

/// Takes what was written of a session to the format and version that it comes from.
///
/// # Errors
/// If there is no room, or the session cannot be read any more.
pub fn come_home(
    (from, parts): (&'static Format, &mut dyn Parts),
    home: Spec,
    (to, there): (Spec, &mut Staged),
    sink: &mut dyn Sink,
    cx: &Cx<'_>,
) -> Result<Home> {
    let log = Log::default();
    let options = Options {
        compare: false,
        prove: false,
        ignore_residue: false,
        map_paths: Vec::new(),
        asked: None,
        ..cx.options.clone()
    };
    let quiet = Cx { options: &options, log: &log };
    let mut back = Stage::trial(sink);
    match super::run(to.format, to.version().number, home, there, &mut back, &quiet) {
        Err(error) if error.code() == Code::Io => return Err(error),
        Err(_) => return Ok(Home::Refused),
        Ok(_) => {}
    }
    if log.count_of(Code::ResidueRefused) > 0 {
        return Ok(Home::Refused);
    }
    // A stream comes home as what it is of, and with other paths it is another session.
    let other = from.name != home.format.name || !cx.options.map_paths.is_empty();
    let told = [cx.log, &log].iter().any(|log| TOLD.iter().any(|code| log.count_of(*code) > 0));
    let same = other || told || are_same(from, parts, &mut back.parts())?;
    Ok(if same { Home::Came } else { Home::Differs })
}

/// What says of a file already that it does not come back byte for byte.
const TOLD: &[Code] = &[
    Code::ByteOrderMark,
    Code::NoFinalNewline,
    Code::Relaid,
    Code::RunLayout,
    Code::YamlBeyondJson,
    Code::RawRefused,
    Code::ListClosed,
];

/// Whether a session has the same files, those apart that it shares with others. One of a single file
/// may have lost its name.
fn are_same(format: &Format, a: &mut dyn Parts, b: &mut dyn Parts) -> Result<bool> {
    let own = |parts: &dyn Parts| -> Vec<String> {
        let mut names = parts.names();
        names.retain(|name| !is_shared(format, name));
        names.sort();
        names
    };
    let (names, others) = (own(a), own(b));
    if names.len() != others.len() || names.len() > 1 && names != others {
        return Ok(false);
    }
    for (name, other) in names.iter().zip(&others) {
        let [a, b] = [a.open(name)?, b.open(other)?].map(BufReader::new);
        let same = read_the_same(a, b).map_err(|error| Error::io("cannot read", error))?;
        if !same {
            return Ok(false);
        }
    }
    Ok(true)
}
