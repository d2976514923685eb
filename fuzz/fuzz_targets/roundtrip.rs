//! What a reader takes without error comes back byte for byte, through the records and as a copy.
#![no_main]

use copyist::convert;
use copyist::diagnostic::Log;
use copyist::error::Result;
use copyist::format::{Cx, Format, OnError, Options, Target};
use copyist::formats::{Spec, canonical, written};
use copyist::memory::{Buffer, Bytes};
use copyist::record::{Field, Kind};
use copyist_fuzz::{meeting, migrated};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|session: &[u8]| {
    // What a session carries of another one is taken out of it, used or refused.
    if session.windows(7).any(|part| part == b"copyist") {
        return;
    }
    let options = meeting(OnError::Stop);
    // The canonical format itself is laid out anew by its writer.
    let formats = written().filter(|f| f.name != canonical::FORMAT.name);
    for format in formats {
        if let Ok(Some(spec)) = read(format, session, &options) {
            let stream = converted(format, spec, CANONICAL, session, &options);
            let back = converted(&canonical::FORMAT, CANONICAL, spec, &stream, &options);
            assert_same(&back, session, "through the records");
        }
        if let Ok((copy, changed)) = migrated(format, session, Target::Same, &options) {
            assert!(!changed, "a copy");
            assert_same(&copy, session, "copy");
        }
    }
});

const CANONICAL: Spec = Spec { format: &canonical::FORMAT, version: None };

/// Reads the session whole; gives the format and version that its first session record names.
fn read(format: &Format, session: &[u8], options: &Options) -> Result<Option<Spec>> {
    let log = Log::default();
    let cx = Cx { options, log: &log };
    let mut source = None;
    for record in (format.read)(&mut Bytes::new(session), &cx)? {
        let record = record?.value;
        if record.kind == Kind::Session && source.is_none() {
            source = record.node.text(Field::Source);
        }
    }
    Ok(source.and_then(|source| Spec::parse(&source).ok()))
}

fn converted(
    from: &'static Format,
    version: Spec,
    to: Spec,
    bytes: &[u8],
    options: &Options,
) -> Vec<u8> {
    let log = Log::default();
    let cx = Cx { options, log: &log };
    let mut out = Buffer::default();
    let version = version.version().number;
    let done = convert::run(from, version, to, &mut Bytes::new(bytes), &mut out, &cx);
    if let Err(error) = done {
        let text = String::from_utf8_lossy(bytes);
        panic!("from {} to {}: {error}\n{text}", from.name, to.format.name);
    }
    // The one part that was written, whatever it is called.
    let name = out.names().next().unwrap_or_default().to_owned();
    out.part(&name).unwrap_or_default()
}

#[track_caller]
fn assert_same(found: &[u8], expected: &[u8], what: &str) {
    let (found, expected) = (found.escape_ascii(), expected.escape_ascii());
    assert_eq!(found.to_string(), expected.to_string(), "{what}");
}
