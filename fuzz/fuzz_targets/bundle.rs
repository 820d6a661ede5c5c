//! See [`pillion_fuzz::bundle`].
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| pillion_fuzz::bundle(data));
