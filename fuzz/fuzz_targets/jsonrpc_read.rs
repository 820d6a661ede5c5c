//! See [`pillion_fuzz::jsonrpc_read`].
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| pillion_fuzz::jsonrpc_read(data));
