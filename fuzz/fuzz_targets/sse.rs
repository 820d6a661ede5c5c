//! See [`pillion_fuzz::sse`].
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| pillion_fuzz::sse(data));
