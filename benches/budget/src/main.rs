//! The servers that `cargo xtask budget` runs under valgrind: ours, and the floors that they are
//! compared with. Which of them a row of the budget is, and what is asked of it, stands in
//! `xtask/src/budget/modes.rs`.
//!
//! One on HTTP prints the port that it listens on as its first line, and ends with its
//! input; one on stdio talks on stdin and stdout. Everything runs on the process's first thread,
//! so that all of it is seen and counts repeat.

mod asleep;
mod floor;
mod ours;
mod paced;
mod texts;

use std::error::Error;
use std::future::Future;
use std::io::{Read, Write};
use std::process::ExitCode;
use std::thread;

/// How a process ends.
type Ended = Result<(), Box<dyn Error>>;

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
    ("http-stateless", ours::http::serve_stateless),
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

/// The word at `index`.
fn word(words: &[String], index: usize) -> Result<&str, Box<dyn Error>> {
    let word = words.get(index).map(String::as_str);
    word.ok_or_else(|| "a word is missing on the command line".into())
}

/// Tells whoever started this process where it listens.
fn tell_port(port: u16) -> std::io::Result<()> {
    let mut output = std::io::stdout();
    writeln!(output, "{port}")?;
    output.flush()
}

/// Does something when the process's input has ended.
fn at_end_of_input(then: impl FnOnce() + Send + 'static) {
    thread::spawn(move || {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        then();
    });
}

fn on_one_thread<F: Future>(future: F) -> std::io::Result<F::Output> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    Ok(runtime.block_on(future))
}
