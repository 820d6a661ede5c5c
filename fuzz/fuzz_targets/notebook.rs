//! See [`pillion_fuzz::notebook`].
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| pillion_fuzz::notebook(data));
