//! Attacks on a server and on a client: the memory, descriptors and tables that each takes and gives
//! back, and the service that an honest client gets meanwhile.
//!
//! `cargo xtask soak` builds and runs it. Every attack has a server process of its own, which is this
//! program in one of its roles ([`role`]).
#![allow(clippy::print_stdout, reason = "the table is the result")]

mod attacks;
mod hostile;
mod problem;
mod process;
mod random;
mod raw;
mod role;
mod route;
mod server;

use std::process::ExitCode;

/// glibc's allocator keeps what a burst of small requests has used.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let ended = match arguments.first() {
        Some(role) if !role.starts_with('-') => role::play(role),
        _ => attacks::run(&arguments),
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("turnbuckle-soak: {problem}");
            ExitCode::FAILURE
        }
    }
}
