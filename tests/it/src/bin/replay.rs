//! Runs a fuzz target on inputs: `replay TARGET FILE-OR-FOLDER…`. What it must not do, it does
//! here as it does under libFuzzer.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{env, fs, io};

use turnbuckle_it::fuzz::TARGETS;

fn main() -> ExitCode {
    let mut arguments = env::args_os().skip(1);
    let name = arguments.next().unwrap_or_default();
    let target = TARGETS.iter().find(|(target, _)| *target == name);
    let Some((_, run)) = target else {
        let names: Vec<_> = TARGETS.iter().map(|(target, _)| *target).collect();
        eprintln!(
            "usage: replay TARGET FILE-OR-FOLDER…; targets: {}",
            names.join(", ")
        );
        return ExitCode::from(2);
    };
    for path in arguments.map(PathBuf::from) {
        if let Err(error) = replay(*run, &path) {
            eprintln!("{}: {error}", path.display());
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

fn replay(run: fn(&[u8]), path: &Path) -> io::Result<()> {
    if path.is_dir() {
        for entry in fs::read_dir(path)? {
            replay(run, &entry?.path())?;
        }
        return Ok(());
    }
    run(&fs::read(path)?);
    Ok(())
}
