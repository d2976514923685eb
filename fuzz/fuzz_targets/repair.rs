//! Any bytes through repair: no panic, and once is enough. That every record comes back is tested on
//! sessions (`tests/repair`).
#![no_main]

use copyist::diagnostic::Log;
use copyist::format::{Cx, Format, Options, Parts, RepairOptions, Repaired};
use copyist::formats::FORMATS;
use copyist::memory::{Buffer, Bytes};
use copyist::repair::{self, QUARANTINE};
use libfuzzer_sys::fuzz_target;

fn repaired(
    format: &Format,
    session: &mut dyn Parts,
    wanted: &RepairOptions,
) -> Option<(Vec<(String, Vec<u8>)>, Buffer, Repaired)> {
    let (options, log, mut out) = (Options::default(), Log::default(), Buffer::default());
    let cx = Cx { options: &options, log: &log };
    let done = repair::run(format, session, &mut out, wanted, &cx).ok()?;
    let names = out.names().filter(|name| *name != QUARANTINE);
    let part = |name: &str| (name.to_owned(), out.part(name).unwrap_or_default());
    let parts = names.map(part).collect();
    Some((parts, out, done))
}

fuzz_target!(|session: &[u8]| {
    for format in FORMATS {
        for (resumable, salvage) in [(false, false), (true, false), (false, true)] {
            let wanted = RepairOptions { resumable, salvage, ..RepairOptions::default() };
            let once = repaired(format, &mut Bytes::new(session), &wanted);
            let Some((once, ..)) = once else { continue };
            // What is put in beside the main part belongs to the session from then on.
            let parts = once.iter();
            let mut parts = parts.fold(Bytes::default(), |all, (name, part)| all.with(name, part));
            let (twice, out, done) = repaired(format, &mut parts, &wanted).expect("records");
            let shown = |parts: &[(String, Vec<u8>)]| -> Vec<String> {
                let part =
                    |(name, part): &(String, Vec<u8>)| format!("{name}: {}", part.escape_ascii());
                parts.iter().map(part).collect()
            };
            assert_eq!(shown(&twice), shown(&once));
            assert!(!done.changed, "{:?}", shown(&once));
            assert!(out.part(QUARANTINE).is_none(), "{:?}", shown(&once));
        }
    }
});
