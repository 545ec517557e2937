#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| turnbuckle_it::fuzz::web(input));
