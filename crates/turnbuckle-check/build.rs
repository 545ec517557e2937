//! Compresses the official schemas, so that programs with the checks are smaller.

use std::path::PathBuf;
use std::{env, fs, io};

/// The level of the best compression.
const LEVEL: u8 = 9;

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=schemas");
    let out = env::var_os("OUT_DIR").ok_or(io::ErrorKind::NotFound)?;
    let out = PathBuf::from(out);
    for folder in fs::read_dir("schemas")? {
        let folder = folder?;
        let schema = folder.path().join("schema.json");
        if schema.exists() {
            let text = fs::read(schema)?;
            let compressed = miniz_oxide::deflate::compress_to_vec_zlib(&text, LEVEL);
            fs::write(out.join(folder.file_name()), compressed)?;
        }
    }
    Ok(())
}
