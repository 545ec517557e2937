//! One echo server per mode, for `cargo xtask budget` to run under valgrind.
//!
//! A mode serves one client and returns when that client is gone, so that a run's totals are the
//! server's alone. An HTTP mode prints the port that it listens on as its first line; a stdio mode
//! talks on stdin and stdout. The client is the xtask process, outside the measurement.
//!
//! To add a mode: write a function like those in [`floor`], add it to [`MODES`], and give it a row
//! in `xtask/src/budget/modes.rs`.

mod echo;
mod floor;
mod ours;

use std::error::Error;
use std::io::Write;
use std::process::ExitCode;

/// What a mode's server returns when its client is gone.
type Served = Result<(), Box<dyn Error>>;

/// One client served, from its coming to its going.
type Serve = fn() -> Served;

/// Every mode by the name that stands on the command line.
const MODES: &[(&str, Serve)] = &[
    ("floor-http", floor::http::serve),
    ("ours-http-modern", ours::http),
    ("ours-http-session", ours::http),
    ("ours-http-legacy-stateless", ours::http_stateless),
    ("floor-stdio", floor::stdio::serve),
    ("ours-stdio-legacy", ours::stdio),
    ("ours-stdio-modern", ours::stdio),
];

fn main() -> ExitCode {
    let wanted = std::env::args().nth(1).unwrap_or_default();
    if wanted == "modes" {
        let names: Vec<_> = MODES.iter().map(|(name, _)| *name).collect();
        return done(
            &wanted,
            writeln!(std::io::stdout(), "{}", names.join("\n")).map_err(Into::into),
        );
    }
    match MODES.iter().find(|(name, _)| *name == wanted) {
        Some((_, serve)) => done(&wanted, serve()),
        None => done(&wanted, Err("no such mode; `modes` lists them".into())),
    }
}

fn done(wanted: &str, served: Served) -> ExitCode {
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{wanted}: {error}");
            ExitCode::FAILURE
        }
    }
}
