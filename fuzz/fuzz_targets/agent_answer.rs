//! See [`pillion_fuzz::agent_answer`].
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| pillion_fuzz::agent_answer(data));
