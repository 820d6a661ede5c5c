//! See [`pillion_fuzz::nested_text`].
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| pillion_fuzz::nested_text(data));
