//! Copies the doc comments of the attributes, whose examples are doc tests of this package.

use std::path::Path;
use std::{env, fs, io};

const SOURCE: &str = "../../crates/turnbuckle-macros/src/lib.rs";

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed={SOURCE}");
    let source = fs::read_to_string(SOURCE)?;
    let lines = source.lines().filter_map(|line| line.strip_prefix("///"));
    let text: Vec<_> = lines
        .map(|line| line.strip_prefix(' ').unwrap_or(line))
        .collect();
    let folder = env::var_os("OUT_DIR").unwrap_or_default();
    fs::write(Path::new(&folder).join("attributes.md"), text.join("\n"))
}
