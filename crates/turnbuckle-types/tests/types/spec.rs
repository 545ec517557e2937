//! Where the official schemas and examples are.

use std::path::PathBuf;

/// A path below `$TURNBUCKLE_SPEC`, else below the directory beside the workspace. `None` if it is
/// not there and the environment says that this is fine.
pub(crate) fn path(below: &str) -> Option<PathBuf> {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/spec");
    let spec = std::env::var_os("TURNBUCKLE_SPEC").map_or_else(|| beside.into(), PathBuf::from);
    let path = spec.join(below);
    if path.exists() {
        return Some(path);
    }
    let optional = std::env::var_os("TURNBUCKLE_SPEC_OPTIONAL").is_some_and(|value| value == "1");
    assert!(
        optional,
        "{} is not there: set TURNBUCKLE_SPEC to the directory that holds the official schemas, one \
         directory for each revision, or TURNBUCKLE_SPEC_OPTIONAL=1 to go without",
        path.display()
    );
    eprintln!("NOT TESTED: {} is not there", path.display());
    None
}
