//! The fast walk through strings stops where the portable one does, from every place.
#![no_main]

use copyist::json::strings::{portable, stop};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    for at in 0..=bytes.len() {
        assert_eq!(stop(bytes, at), portable(bytes, at), "from {at}");
    }
});
