//! A report server: counts the lines, words and bytes of a directory, which takes minutes for a large one.
//! It shows a task: the client can leave, and fetch the report later, also if the server was restarted in
//! between.
//!
//! Run it with `cargo run -p turnbuckle-examples --bin report -- DIRECTORY --state FILE`.
//!
//! ```text
//! export TURNBUCKLE_KEYS=$(turnbuckle keys generate)
//! report ~/mail --state report.db --http 127.0.0.1:8080
//!
//! turnbuckle call --detach http://127.0.0.1:8080/mcp report      prints a handle, and ends
//! turnbuckle task wait http://127.0.0.1:8080/mcp HANDLE          prints the report, now or tomorrow
//! ```
//!
//! Tasks, reports and what was counted so far are in the state file, encrypted with the keys. When the server
//! starts again, a report that was under way goes on: what `ask.once` has returned is not counted again.

mod count;

use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;
use turnbuckle::prelude::*;
use turnbuckle::sqlite::SqliteStore;
use turnbuckle::{AskError, RunArgs, Tasks};

use count::{Counter, Counts};

/// The time for which a report is kept.
const TTL: Duration = Duration::from_secs(7 * 24 * 3600);

/// A report that takes no longer than this is the answer to the call.
const QUICK: Duration = Duration::from_secs(2);

/// The number of parts in which a directory is counted. The counts of a part that is finished outlive the
/// process.
const PARTS: usize = 32;

/// Counts the lines, words and bytes of a directory.
#[derive(Parser)]
struct Options {
    /// The directory to count.
    directory: PathBuf,
    /// The file that keeps tasks and reports.
    #[arg(long, value_name = "FILE")]
    state: PathBuf,
    /// Waits so many milliseconds after each file, to spare a disk that others use.
    #[arg(long, value_name = "MILLISECONDS", default_value_t = 0)]
    pause: u64,
    #[command(flatten)]
    run: RunArgs,
}

#[tokio::main]
async fn main() -> turnbuckle::Result {
    let options = Options::parse();
    let counter = Counter::new(options.directory, Duration::from_millis(options.pause))?;
    let server = Server::new("report", env!("CARGO_PKG_VERSION"))
        .group(ReportServer { counter })
        .extension(Tasks::new().ttl(TTL))
        .store(SqliteStore::open(options.state)?);
    server.run_with(options.run).await
}

/// The report server.
struct ReportServer {
    counter: Counter,
}

#[server]
impl ReportServer {
    /// Count the lines, words and bytes of the directory. This takes minutes for a large one.
    #[tool(read_only, task(after = QUICK, resumable))]
    async fn report(&self, progress: Progress, ask: Ask) -> Result<Counts> {
        let parts = self.counter.parts(PARTS).await?;
        let mut total = Counts::default();
        for (n, part) in parts.iter().enumerate() {
            let message = format!("{} files so far", total.files);
            progress.report_with_message(n, parts.len(), message).await;
            let name = format!("part {n}");
            total += match ask.once(&name, self.counter.count(part)).await {
                // The server ended in the middle of this part. To count again does no harm.
                Err(AskError::OutcomeUnknown(_)) => self.counter.count(part).await?,
                counts => counts?,
            };
        }
        Ok(total)
    }
}
