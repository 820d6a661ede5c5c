//! See [`pillion_fuzz::odd_text`].
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| pillion_fuzz::odd_text(data));
