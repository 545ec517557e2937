//! `cargo xtask <command>`: the commands for those who work on the project.
#![allow(clippy::print_stdout, reason = "a command prints its results")]

mod api;
mod book;
mod check;
mod ci;
mod cluster;
mod dist;
mod fuzz;
mod haproxy;
mod imports;
mod llms;
mod measure;
mod metadata;
mod mutants;
mod node;
mod page;
mod process;
mod programs;
mod references;
mod release;
mod requirements;
mod rustdoc;
mod schemas;
mod settings;
mod soak;
mod source;
mod tidy;
mod tree;
mod workspace;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// The command line.
#[derive(Parser)]
#[command(name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run what one runs while working: format, lints, rules, and the tests of what changed
    Check(check::Options),
    /// Run what decides a merge, but for what rarely fails: see apart and exhaustive
    Ci(ci::Options),
    /// Check the documentation, the public API and the packages, workspaces beside this one, and programs of others
    Apart,
    /// Run the tests that try every case of something, the whole page of the Inspector, and the attacks of soak, briefly
    Exhaustive,
    /// Check the rules about the source that the compiler does not check
    Tidy(tidy::Options),
    /// Count the lines of each package, and the circles of imports in it
    Measure(measure::Options),
    /// Hold the specification's requirements against the tests
    Requirements {
        #[command(subcommand)]
        command: requirements::Command,
    },
    /// List the public API in docs/api, and check its limits
    Api(api::Options),
    /// Write the tables of docs/security-tests.md from the settings in the sources
    Settings(settings::Options),
    /// Write the structure of the official schemas from TURNBUCKLE_SPEC
    Schemas(schemas::Options),
    /// Run the official conformance suite against the demo server
    Conformance { arguments: Vec<String> },
    /// Run the official conformance suite against the everything-client
    ConformanceClient { arguments: Vec<String> },
    /// Run clients of others with our server, then our client with every server, then their logins
    Interop { arguments: Vec<String> },
    /// Compare the servers of `turnbuckle serve` with the reference servers, field by field; --speed measures both
    References(Passed),
    /// Run logins between ours and the clients, servers and authorization servers of others
    InteropAuth { arguments: Vec<String> },
    /// Build the tool as it is given to people, and check its size
    Dist(dist::Options),
    /// Check the page of the Inspector: its sources, its built files, and the page in Chromium
    Page,
    /// Switch off rules of the source one by one: a test must fail each time
    Mutants(mutants::Options),
    /// Run the fuzz targets for a while each
    Fuzz(fuzz::Options),
    /// Run clients that behave badly, and look at what is left of them
    #[command(disable_help_flag = true)]
    Soak(Passed),
    /// Run instances of one server behind HAProxy, which end and begin while clients of several SDKs work
    #[command(disable_help_flag = true)]
    Cluster(Passed),
    /// Build the guide, with its texts for language models (llms.txt, llms-full.txt)
    Book,
    /// Run servers behind HAProxy, which has to be installed
    Haproxy,
    /// Check that a release can be made, and show its steps
    Release(release::Options),
    /// Measure our servers beside floors and other SDKs (benches/report)
    #[command(disable_help_flag = true)]
    Bench(Passed),
    /// Count instructions and allocations against the budget (benches/report)
    #[command(disable_help_flag = true)]
    Budget(Passed),
    /// Weigh a hello world beside the official SDK's (benches/report)
    #[command(disable_help_flag = true)]
    Weigh(Passed),
}

/// Arguments that are passed on to another program.
#[derive(clap::Args)]
struct Passed {
    #[arg(allow_hyphen_values = true, trailing_var_arg = true)]
    arguments: Vec<String>,
}

fn main() -> ExitCode {
    if let Some(status) = rustdoc::act_as_rustdoc().or_else(dist::act_as_linker) {
        return status;
    }
    let result = match Arguments::parse().command {
        Command::Check(options) => check::run(&options),
        Command::Ci(options) => ci::run(&options),
        Command::Apart => ci::run_apart(),
        Command::Exhaustive => ci::run_exhaustive(),
        Command::Tidy(options) => tidy::run(&options),
        Command::Measure(options) => measure::run(&options),
        Command::Requirements { command } => requirements::run(&process::root(), &command),
        Command::Api(options) => api::run(&options),
        Command::Settings(options) => settings::run(&options),
        Command::Schemas(options) => schemas::run(&process::root(), &options),
        Command::Conformance { arguments } => node::conformance(&arguments),
        Command::ConformanceClient { arguments } => node::conformance_client(&arguments),
        Command::Interop { arguments } => node::interop(&arguments),
        Command::References(Passed { arguments }) => references::run(&arguments),
        Command::InteropAuth { arguments } => node::logins(&arguments),
        Command::Dist(options) => dist::run(&options),
        Command::Page => page::run(),
        Command::Mutants(options) => mutants::run(&options),
        Command::Fuzz(options) => fuzz::run(&options),
        Command::Soak(Passed { arguments }) => soak::run(&arguments),
        Command::Cluster(Passed { arguments }) => cluster::run(&arguments),
        Command::Book => book::run(),
        Command::Haproxy => haproxy::run(),
        Command::Release(options) => release::run(&options),
        Command::Bench(Passed { arguments }) => programs::report("bench", &arguments),
        Command::Budget(Passed { arguments }) => programs::report("budget", &arguments),
        Command::Weigh(Passed { arguments }) => programs::report("weigh", &arguments),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
