//! The folder of the official schemas' structure and of the official examples.

use std::path::{Path, PathBuf};

/// Returns a path below `turnbuckle-check/schemas`, where `cargo xtask schemas` writes them.
pub(crate) fn path(below: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../turnbuckle-check/schemas")
        .join(below);
    assert!(path.exists(), "{} is missing", path.display());
    path
}
