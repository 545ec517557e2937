//! Everything that decides whether a change may be merged, in the order in which it fails fastest.

use std::time::Instant;

use crate::process::{self, cargo};
use crate::{api, book, budget, node, requirements, soak, tidy, weigh};

/// One step: its name and what it does.
type Step = (&'static str, fn() -> Result<(), String>);

const STEPS: &[Step] = &[
    ("tidy", || tidy::run(&[])),
    ("requirements", || {
        requirements::run(&["check".to_owned(), "--strict".to_owned()])
    }),
    ("crates", weigh::within_limits),
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
        let mut tests = cargo(["test", "--workspace", "--quiet"]);
        if !has_official_schemas() {
            tests.env("TURNBUCKLE_SPEC_OPTIONAL", "1");
        }
        process::run(&mut tests)
    }),
    ("soak", soak::briefly),
    ("documentation", || {
        let mut doc = cargo(["doc", "--workspace", "--no-deps", "--quiet"]);
        process::run(doc.env("RUSTDOCFLAGS", "--deny=warnings"))
    }),
    ("public API", || api::run(&["--check".to_owned()])),
    ("book", || book::run(&[])),
    ("budget", || budget::run(&[])),
    ("conformance", || node::conformance(&[])),
    ("conformance-client", || node::conformance_client(&[])),
    ("interop", || node::interop(&[])),
    ("code of others", weigh::shown_code),
];

const WITHOUT_SCHEMAS: &str = "\
!! WITHOUT THE OFFICIAL SCHEMAS: no message is checked against them in this run.
!! Set TURNBUCKLE_SPEC to the directory that holds <revision>/schema.json of each revision.";

/// Whether the tests will find the official schemas, where they look for them.
fn has_official_schemas() -> bool {
    let beside = process::root().join("../shared/spec");
    std::env::var_os("TURNBUCKLE_SPEC")
        .map_or(beside, Into::into)
        .is_dir()
}

/// `cargo xtask ci`: stops at the first step that fails.
pub(crate) fn run(_: &[String]) -> Result<(), String> {
    if !has_official_schemas() {
        println!("{WITHOUT_SCHEMAS}");
    }
    for (name, step) in STEPS {
        println!("== {name}");
        let began = Instant::now();
        step().map_err(|error| format!("{name}: {error}"))?;
        println!("== {name}: {:.1} s", began.elapsed().as_secs_f64());
    }
    if !has_official_schemas() {
        println!("{WITHOUT_SCHEMAS}");
    }
    Ok(())
}
