//! Any bytes to the newest version of each format that has steps: no panic, and once is enough.
#![no_main]

use copyist::format::Target;
use copyist::formats::FORMATS;
use copyist_fuzz::{WAYS, meeting, migrated};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|session: &[u8]| {
    for format in FORMATS.iter().filter(|f| !f.steps.is_empty()) {
        let Some(newest) = format.versions.last() else {
            continue;
        };
        let target = Target::Version(newest.number);
        for on_error in WAYS {
            let options = meeting(on_error);
            let Ok((once, _)) = migrated(format, session, target, &options) else {
                continue;
            };
            match migrated(format, &once, target, &options) {
                Ok((twice, changed)) => {
                    let (once, twice) = (once.escape_ascii(), twice.escape_ascii());
                    assert_eq!(twice.to_string(), once.to_string(), "{on_error:?}");
                    assert!(!changed, "{on_error:?}");
                }
                Err(error) => panic!("{on_error:?}: {error}: {}", once.escape_ascii()),
            }
        }
    }
});
