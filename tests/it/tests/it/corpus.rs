//! The kept inputs of the fuzz targets, replayed, and inputs that are near them.

use std::collections::BTreeSet;
use std::fs;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};

use turnbuckle_it::fuzz::TARGETS;
use turnbuckle_it::wires::{Rng, seeds};

/// Pieces that mean something somewhere.
const PIECES: [&[u8]; 12] = [
    b"\n", b"\r", b"\"", b"\\", b"{", b"]", b"\\ud800", b"0", b"-1", b"1e999", b"null", b"\xff",
];

/// Largest number of changes to an input.
const CHANGES: usize = 4;

fn fuzz() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz")
}

/// Returns the names in a folder.
fn names(folder: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect()
}

/// Returns the kept inputs of a target, by name.
fn kept_inputs(target: &str) -> Vec<(String, Vec<u8>)> {
    let folder = fuzz().join("corpus").join(target);
    let read = |name: String| {
        let input = fs::read(folder.join(&name)).unwrap();
        (name, input)
    };
    names(&folder).into_iter().map(read).collect()
}

/// Returns a mutation of an input: a part is changed, cut out, doubled, inserted, or taken from
/// another input.
fn near(input: &[u8], other: &[u8], rng: &mut Rng) -> Vec<u8> {
    let mut near = input.to_vec();
    for _ in 0..rng.between(1, CHANGES) {
        let start = rng.between(0, near.len());
        let end = (start + rng.between(0, 16)).min(near.len());
        match rng.below(5) {
            0 if start < near.len() => near[start] ^= 1 << rng.below(8),
            1 => drop(near.drain(start..end)),
            2 => near.extend_from_within(start..end),
            3 => {
                let from = rng.between(0, other.len());
                let to = (from + rng.between(0, 64)).min(other.len());
                near.splice(start..end, other[from..to].iter().copied());
            }
            _ => {
                let piece = PIECES[rng.between(0, PIECES.len() - 1)];
                near.splice(start..start, piece.iter().copied());
            }
        }
    }
    near
}

#[test]
fn every_kept_input_does_as_it_must() {
    let mut failed = Vec::new();
    for (target, run) in TARGETS {
        let inputs = kept_inputs(target);
        assert!(!inputs.is_empty(), "{target} has no inputs");
        for (name, input) in inputs {
            if catch_unwind(|| run(&input)).is_err() {
                failed.push(format!("{target}/{name}"));
            }
        }
    }
    assert_eq!(failed, [""; 0]);
}

/// The short form of fuzzing: `TURNBUCKLE_SEEDS` has more tried, and `TURNBUCKLE_SEED` one again.
#[test]
fn inputs_near_the_kept_ones_do_as_they_must() {
    let mut failed = Vec::new();
    for seed in seeds(2) {
        for (target, run) in TARGETS {
            let inputs = kept_inputs(target);
            for (name, input) in &inputs {
                let mut rng = Rng::new(seed, &format!("{target}/{name}"));
                let (_, other) = &inputs[rng.between(0, inputs.len() - 1)];
                let input = near(input, other, &mut rng);
                if catch_unwind(|| run(&input)).is_err() {
                    let shown = input.escape_ascii();
                    failed.push(format!("TURNBUCKLE_SEED={seed} {target}/{name}: {shown}"));
                }
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
