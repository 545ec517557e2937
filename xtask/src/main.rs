//! `cargo xtask <command>`: the project's own chores.
#![allow(clippy::print_stdout, reason = "what a chore prints is what it is for")]

mod api;
mod bench;
mod book;
mod budget;
mod ci;
mod fuzz;
mod mutants;
mod node;
mod process;
mod programs;
mod requirements;
mod soak;
mod tidy;
mod tree;
mod weigh;

use std::process::ExitCode;

/// A chore: its name, what it does in one line, and the function.
struct Command {
    name: &'static str,
    about: &'static str,
    run: fn(&[String]) -> Result<(), String>,
}

const COMMANDS: &[Command] = &[
    Command {
        name: "tidy",
        about: "the walls between the rooms, checked",
        run: tidy::run,
    },
    Command {
        name: "budget",
        about: "instructions and allocations against the budget [ROW…] [--accept], or: start",
        run: budget::run,
    },
    Command {
        name: "bench",
        about: "floors, ours and other SDKs side by side [--rounds N] [--only NAME…] [--quick] [--write]",
        run: bench::run,
    },
    Command {
        name: "requirements",
        about: "the specification's sentences against the tests",
        run: requirements::run,
    },
    Command {
        name: "conformance",
        about: "the official suite against the demo server",
        run: node::conformance,
    },
    Command {
        name: "conformance-client",
        about: "the official suite against the everything-client [SCENARIO]",
        run: node::conformance_client,
    },
    Command {
        name: "interop",
        about: "other people's clients with our server, our client with every server",
        run: node::interop,
    },
    Command {
        name: "mutants",
        about: "each listed rule switched off must turn its test red [ID…]",
        run: mutants::run,
    },
    Command {
        name: "fuzz",
        about: "hostile inputs by libFuzzer, a minute each [TARGET…] [--seconds N | --coverage]",
        run: fuzz::run,
    },
    Command {
        name: "soak",
        about: "clients that behave badly, and what is left [--minutes N] [--seed S]",
        run: soak::run,
    },
    Command {
        name: "api",
        about: "the public API listed in docs/api, and its limits [--check]",
        run: api::run,
    },
    Command {
        name: "book",
        about: "the guide, built",
        run: book::run,
    },
    Command {
        name: "weigh",
        about: "crates and CPU seconds of a hello world beside the official SDK's, and sizes [--runs N] [--accept]",
        run: weigh::run,
    },
    Command {
        name: "ci",
        about: "all of the above that decides a merge",
        run: ci::run,
    },
];

fn main() -> ExitCode {
    if let Some(status) = api::in_its_place() {
        return status;
    }
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (name, rest) = match arguments.split_first() {
        Some((name, rest)) => (name.as_str(), rest),
        None => ("", &arguments[..]),
    };
    let Some(command) = COMMANDS.iter().find(|command| command.name == name) else {
        eprintln!("usage: cargo xtask <command>\n");
        for Command { name, about, .. } in COMMANDS {
            eprintln!("  {name:<13} {about}");
        }
        return ExitCode::FAILURE;
    };
    match (command.run)(rest) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("cargo xtask {name}: {message}");
            ExitCode::FAILURE
        }
    }
}
