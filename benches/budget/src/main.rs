//! The servers that `cargo xtask budget` runs under valgrind: ours, and the floors that they are
//! compared with. Which of them a row of the budget is, and what is asked of it, stands in
//! `benches/report/src/budget/modes.rs`.
//!
//! One on HTTP prints the port that it listens on as its first line, and ends with its
//! input; one on stdio talks on stdin and stdout. Everything runs on the process's first thread,
//! so that all of it is seen and counts repeat.

mod asleep;
mod floor;
mod ours;
mod paced;
mod process;
mod texts;

use std::process::ExitCode;

use process::Ended;

/// A process, by the words that follow its name on the command line.
type Run = fn(&[String]) -> Ended;

const PROCESSES: &[(&str, Run)] = &[
    ("floor-http", floor::http::serve),
    ("floor-bare-http", floor::http::serve_blindly),
    ("floor-axum", floor::axum::serve),
    ("floor-stdio", floor::stdio::serve),
    ("floor-start", floor::stdio::serve_start),
    ("decode", floor::decode::run),
    ("http", ours::http::serve),
    ("http-auth", ours::http::serve_with_auth),
    ("http-stateless", ours::http::serve_stateless),
    ("http-sealed", ours::http::serve_sealed),
    ("http-stored", ours::http::serve_stored),
    ("http-left", ours::http::leave),
    ("axum", ours::http::serve_in_axum),
    ("stdio", ours::stdio::serve),
    ("paced-http", paced::http),
    ("paced-stdio", paced::stdio),
];

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let (name, rest) = match words.split_first() {
        Some((name, rest)) => (name.as_str(), rest),
        None => ("", &words[..]),
    };
    let ended = match PROCESSES.iter().find(|(known, _)| *known == name) {
        Some((_, run)) => run(rest),
        None => Err("no such process; they stand in the source".into()),
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{name}: {error}");
            ExitCode::FAILURE
        }
    }
}
