//! Any bytes through every reader, however damage is met and however short lines must be: no panic.
#![no_main]

use copyist::diagnostic::Log;
use copyist::format::{Cx, Options};
use copyist::formats::FORMATS;
use copyist::memory::Bytes;
use copyist_fuzz::{WAYS, meeting};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|session: &[u8]| {
    for format in FORMATS {
        for on_error in WAYS {
            for max_line in [64, usize::MAX] {
                let options = Options { max_line, ..meeting(on_error) };
                let log = Log::default();
                let cx = Cx { options: &options, log: &log };
                let mut parts = Bytes::new(session);
                if let Ok(records) = (format.read)(&mut parts, &cx) {
                    records.for_each(drop);
                }
            }
        }
    }
});
