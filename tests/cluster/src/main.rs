//! Instances of one server behind HAProxy, without affinity: clients of several SDKs call, ask, subscribe,
//! resume and run tasks, while instances are killed, told to stop and replaced. Before that, two gateways answer
//! each other's questions.
//!
//! `cargo xtask cluster` builds and runs it. Exits with 1 if anything was lost.

#![allow(clippy::print_stdout, reason = "the counts are the result")]

mod client;
mod fault;
mod faults;
mod gateways;
mod haproxy;
mod instance;
mod measure;
mod messages;
mod others;
mod outcome;
mod problem;
mod raw_http;
mod serve;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, Parser};
use tokio::task::JoinSet;
use tokio::time::Instant;
use turnbuckle::Revision;
use turnbuckle::client::EraPreference;
use turnbuckle_engines::RedisServer;

use crate::fault::Fault;
use crate::faults::Plan;
use crate::haproxy::Haproxy;
use crate::instance::{INSTANCES, Instances};
use crate::outcome::Tally;
use crate::problem::Problem;

#[derive(Parser)]
enum Command {
    /// Runs the test
    Run(Options),
    /// Measures sessions and questions
    Measure(measure::Options),
    /// Measures messages to all instances
    Messages(messages::Options),
    /// Serves as one of the instances
    Serve(serve::Options),
}

/// Options of a run.
#[derive(Args)]
struct Options {
    /// The seconds of work
    #[arg(long, default_value_t = 20)]
    seconds: u64,
    /// The faults that happen every 2 seconds, in turn
    #[arg(long, value_delimiter = ',', default_value = "kill,stop")]
    faults: Vec<Fault>,
    /// The seconds for which the store is halted, each time
    #[arg(long, default_value_t = 5)]
    pause: u64,
    /// Node.js, for the TypeScript SDK
    #[arg(long)]
    node: Option<PathBuf>,
    /// The folder of the Python SDK
    #[arg(long)]
    python: Option<PathBuf>,
    /// The command `turnbuckle`, whose gateways are tested first
    #[arg(long)]
    tool: Option<PathBuf>,
}

#[tokio::main]
async fn main() -> ExitCode {
    let done = match Command::parse() {
        Command::Serve(options) => serve::run(options).await.map(|()| true),
        Command::Measure(options) => measure::run(options).await.map(|()| true),
        Command::Messages(options) => messages::run(options).await.map(|()| true),
        Command::Run(options) => run(options).await,
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(problem) => {
            eprintln!("{problem}");
            ExitCode::FAILURE
        }
    }
}

async fn run(options: Options) -> Result<bool, Problem> {
    let folder = tempfile::tempdir()?;
    if let Some(tool) = &options.tool {
        // They have keys of their own, and so a store of their own.
        gateways::run(tool, &RedisServer::start().url(), folder.path()).await?;
    }
    let redis = RedisServer::start();
    let orders = folder.path().join("orders");
    let instances = Instances::start(redis.url(), orders.clone()).await?;
    let haproxy = Haproxy::start(folder.path(), &instances.ports()).await?;
    let url = haproxy.url();
    let tally = Arc::new(Tally::default());
    let end = Instant::now() + Duration::from_secs(options.seconds);

    let mut workers = JoinSet::new();
    for revision in Revision::ALL {
        let era = EraPreference::Only(revision);
        workers.spawn(client::work(url.clone(), era, revision, tally.clone(), end));
    }
    for command in others::commands(
        options.node.as_deref(),
        options.python.as_deref(),
        &url,
        options.seconds,
    ) {
        workers.spawn(others::work(command, tally.clone(), end));
    }
    let mut plan = Plan::new(
        options.faults,
        Duration::from_secs(options.pause),
        instances,
        redis,
    );
    plan.carry_out(end, &tally).await?;
    while let Some(done) = workers.join_next().await {
        done??;
    }
    let left = plan.finish().await?;
    drop(haproxy);
    tally.count_orders(&orders)?;
    tally.count_left(left);
    println!("{INSTANCES} instances, {} seconds", options.seconds);
    Ok(tally.print())
}
