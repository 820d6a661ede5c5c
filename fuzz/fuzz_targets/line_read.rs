//! See [`pillion_fuzz::line_read`].
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| pillion_fuzz::line_read(data));
