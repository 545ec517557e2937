//! The packages of the workspace, as cargo describes them.

use serde_json::Value;

use crate::process::{cargo, output};

/// Returns what cargo says about the packages of the workspace.
pub(crate) fn metadata() -> Result<Value, String> {
    let text = output(&mut cargo([
        "metadata",
        "--format-version",
        "1",
        "--no-deps",
        "--offline",
    ]))?;
    serde_json::from_str(&text).map_err(|error| error.to_string())
}
