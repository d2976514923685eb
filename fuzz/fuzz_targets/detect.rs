//! Any bytes through detection: no panic, and a version that the format has.
#![no_main]

use copyist::detect::detect;
use copyist::format::Head;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    for whole in [true, false] {
        let name = "session.jsonl";
        let head = Head { name, bytes, whole, encoding: None };
        if let Some((format, sniffed)) = detect(&head) {
            let version = format.version(sniffed.version);
            assert!(version.is_some(), "{} {sniffed:?}", format.name);
        }
    }
});
