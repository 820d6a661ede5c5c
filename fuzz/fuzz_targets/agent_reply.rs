//! See [`pillion_fuzz::agent_reply`].
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| pillion_fuzz::agent_reply(data));
