//! Any bytes through repair: no panic, and once is enough. That every record comes back is tested on
//! sessions (`tests/repair`).
#![no_main]

use copyist::diagnostic::Log;
use copyist::format::{Cx, Format, Options, Repaired, Wish};
use copyist::formats::FORMATS;
use copyist::memory::{Buffer, Bytes};
use copyist::repair::{self, QUARANTINE};
use libfuzzer_sys::fuzz_target;

fn repaired(format: &Format, session: &[u8], wish: &Wish) -> Option<(Buffer, Repaired)> {
    let (options, log, mut out) = (Options::default(), Log::default(), Buffer::default());
    let cx = Cx { options: &options, log: &log };
    let done = repair::run(format, &mut Bytes::new(session), &mut out, wish, &cx).ok()?;
    Some((out, done))
}

fuzz_target!(|session: &[u8]| {
    for format in FORMATS {
        for (resumable, salvage) in [(false, false), (true, false), (false, true)] {
            let wish = Wish { resumable, salvage, ..Wish::default() };
            let Some((once, _)) = repaired(format, session, &wish) else { continue };
            let main = once.main();
            let (twice, done) = repaired(format, &main, &wish).expect("records");
            let shown = main.escape_ascii().to_string();
            assert_eq!(twice.main().escape_ascii().to_string(), shown);
            assert!(!done.changed, "{shown}");
            assert!(twice.part(QUARANTINE).is_none(), "{shown}");
        }
    }
});
