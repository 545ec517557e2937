//! A backup server: copies a directory, tells how far it is, and stops when it is told to.
//!
//! ```text
//! backup ~/photos /mnt/disk/photos             serves the client that started it
//! backup ~/photos /mnt/disk/photos --limit 8   copies 8 MiB a second at most
//! backup ~/photos /mnt/disk/photos --http 127.0.0.1:8080
//! ```
//!
//! A file is either copied or not there: see [`copy`]. A backup that was stopped goes on where it
//! was when `run` is called again, and one that is complete has nothing to do.

mod copy;
mod plan;

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Parser;
use tokio::sync::Mutex;
use turnbuckle::prelude::*;

use copy::{Copied, Copy};
use plan::Plan;

/// Copies a directory into another, on demand.
#[derive(Parser)]
struct Options {
    /// What to copy.
    source: PathBuf,
    /// Where to; it is made if it is not there.
    target: PathBuf,
    /// How much to copy at most, in MiB a second.
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u32).range(1..))]
    limit: Option<u32>,
    /// Serves HTTP at this address instead of standard input and output.
    #[arg(long, value_name = "ADDRESS")]
    http: Option<String>,
}

#[tokio::main]
async fn main() -> Result {
    let options = Options::parse();
    let server = Server::new("backup", env!("CARGO_PKG_VERSION"))
        .logging()
        .group(Backup::new(&options)?)
        // A night's work; by default a call may take an hour.
        .timeout(Duration::from_secs(12 * 3600));
    match options.http {
        Some(address) => server.serve_http(&address).await,
        None => server.serve_stdio().await,
    }
}

struct Backup {
    source: PathBuf,
    target: PathBuf,
    copy: Copy,
    /// Held by whoever looks at the target or changes it: one call at a time.
    turn: Mutex<()>,
}

/// What a backup would do now.
#[data]
struct Outlook {
    /// Files that are there already.
    present: usize,
    /// Files to copy.
    missing: usize,
    /// Bytes to copy.
    bytes: u64,
}

/// What a backup did.
#[data]
struct Report {
    /// Files that were copied.
    copied: usize,
    /// Files that were there already.
    present: usize,
    /// What is neither a file nor a directory, such as links: it is left out.
    left_out: usize,
    /// Files that could not be copied, with the reason: a hundred at most.
    failed: Vec<String>,
}

/// Failures that are told.
const TOLD: usize = 100;

#[server]
impl Backup {
    /// See what a backup would copy, without copying it.
    #[tool(read_only, open_world = false)]
    async fn outlook(&self) -> Result<Outlook> {
        let _turn = self.turn.lock().await;
        let plan = self.plan().await?;
        Ok(Outlook {
            present: plan.present,
            missing: plan.missing.len(),
            bytes: plan.bytes(),
        })
    }

    /// Copy what is new or has changed. It takes as long as it takes, tells how far it is, and can be
    /// cancelled: the next run goes on from there.
    #[tool(destructive, idempotent, open_world = false)]
    async fn run(&self, progress: Progress, log: Log, cancel: Cancellation) -> Result<Report> {
        let _turn = self.turn.lock().await;
        let plan = self.plan().await?;
        let (files, total) = (plan.missing.len(), plan.bytes());
        log.info(format!("{files} files to copy, {total} bytes"))
            .await;
        let mut report = Report {
            copied: 0,
            present: plan.present,
            left_out: plan.left_out,
            failed: Vec::new(),
        };
        let mut done = 0;
        for file in &plan.missing {
            let (from, to) = (self.source.join(&file.path), self.target.join(&file.path));
            let name = file.path.display().to_string();
            let mut copying = self.copy.begin(&from, &to, &cancel);
            let copied = loop {
                progress.report_with_message(done, total, &name).await;
                match copying.step().await {
                    Ok(Copied::Some(bytes)) => done += bytes,
                    Ok(Copied::All) => break Ok(()),
                    Ok(Copied::Cancelled) => {
                        log.info(format!("cancelled after {done} bytes")).await;
                        return Err("the backup was cancelled; run it again to go on".into());
                    }
                    Err(error) => break Err(error),
                }
            };
            match copied {
                Ok(()) => report.copied += 1,
                Err(error) => {
                    log.warning(format!("{name}: {error}")).await;
                    if report.failed.len() < TOLD {
                        report.failed.push(format!("{name}: {error}"));
                    }
                }
            }
        }
        Ok(report)
    }
}

impl Backup {
    fn new(options: &Options) -> Result<Self> {
        let at = |path: &Path| {
            let found = path.canonicalize();
            found.map_err(|error| format!("{}: {error}", path.display()))
        };
        std::fs::create_dir_all(&options.target)?;
        let (source, target) = (at(&options.source)?, at(&options.target)?);
        if source.starts_with(&target) || target.starts_with(&source) {
            return Err("one of the directories is in the other".into());
        }
        Ok(Self {
            source,
            target,
            copy: Copy::new(options.limit),
            turn: Mutex::default(),
        })
    }

    async fn plan(&self) -> Result<Plan> {
        let (source, target) = (self.source.clone(), self.target.clone());
        Ok(tokio::task::spawn_blocking(move || plan::make(&source, &target)).await??)
    }
}
