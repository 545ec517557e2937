//! Everything that decides whether a change may be merged, in the order in which it fails fastest.

use std::time::Instant;

use crate::process::{self, cargo};
use crate::{node, requirements, tidy};

/// One step: its name and what it does.
type Step = (&'static str, fn() -> Result<(), String>);

const STEPS: &[Step] = &[
    ("tidy", || tidy::run(&[])),
    ("requirements", || requirements::run(&["check".to_owned()])),
    ("format", || {
        process::run(&mut cargo(["fmt", "--all", "--check"]))
    }),
    ("lints", || {
        process::run(&mut cargo([
            "clippy",
            "--workspace",
            "--all-targets",
            "--",
            "--deny=warnings",
        ]))
    }),
    ("tests", || {
        process::run(&mut cargo(["test", "--workspace", "--quiet"]))
    }),
    ("documentation", || {
        let mut doc = cargo(["doc", "--workspace", "--no-deps", "--quiet"]);
        process::run(doc.env("RUSTDOCFLAGS", "--deny=warnings"))
    }),
    ("conformance", || node::conformance(&[])),
    ("interop", || node::interop(&[])),
];

/// `cargo xtask ci`: stops at the first step that fails.
pub(crate) fn run(_: &[String]) -> Result<(), String> {
    for (name, step) in STEPS {
        println!("== {name}");
        let began = Instant::now();
        step().map_err(|error| format!("{name}: {error}"))?;
        println!("== {name}: {:.1} s", began.elapsed().as_secs_f64());
    }
    Ok(())
}
