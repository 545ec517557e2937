#![doc = include_str!("README.md")]

mod additions;
mod escape;
mod reader;
mod serializer;
mod skip;
mod text;

pub use additions::Additions;
pub(crate) use escape::write_escaped;
pub use escape::write_str;
pub use reader::{Reader, read_members};
pub use serializer::{WriteError, to_vec, write, write_object};

/// Appends raw JSON text on one line: a line break in it can only be white space between tokens.
pub(crate) fn write_raw(out: &mut Vec<u8>, json: &str) {
    let start = out.len();
    out.extend_from_slice(json.as_bytes());
    if memchr::memchr2(b'\n', b'\r', json.as_bytes()).is_some() {
        for byte in &mut out[start..] {
            if matches!(*byte, b'\n' | b'\r') {
                *byte = b' ';
            }
        }
    }
}
