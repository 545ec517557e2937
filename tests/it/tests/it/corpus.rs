//! The kept inputs of the fuzz targets, replayed.

use std::collections::BTreeSet;
use std::fs;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};

use turnbuckle_it::fuzz::TARGETS;

fn fuzz() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz")
}

/// The names in a folder.
fn names(folder: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect()
}

#[test]
fn every_kept_input_does_as_it_must() {
    let mut failed = Vec::new();
    for (target, run) in TARGETS {
        let folder = fuzz().join("corpus").join(target);
        let inputs = names(&folder);
        assert!(!inputs.is_empty(), "{target} has no inputs");
        for name in inputs {
            let input = fs::read(folder.join(&name)).unwrap();
            if catch_unwind(|| run(&input)).is_err() {
                failed.push(format!("{target}/{name}"));
            }
        }
    }
    assert_eq!(failed, [""; 0]);
}

#[test]
fn targets_binaries_and_corpora_are_the_same() {
    let targets: BTreeSet<String> = TARGETS.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(names(&fuzz().join("corpus")), targets);
    let binaries = names(&fuzz().join("fuzz_targets"));
    let stems = binaries
        .iter()
        .map(|name| name.trim_end_matches(".rs").to_owned());
    assert_eq!(stems.collect::<BTreeSet<_>>(), targets);
}
