//! `serve skills`: folders of skills.

use std::io::{self, Write as _};
use std::path::PathBuf;

use clap::Args;
use turnbuckle::Server;
use turnbuckle::skills::server::Skills;

use super::program::serve;
use crate::error::CliError;
use crate::serving::ServingArgs;

/// Options of `serve skills`.
#[derive(Args)]
pub(crate) struct SkillsOptions {
    /// A folder of skills, or of one skill
    #[arg(required = true, value_name = "DIR")]
    dirs: Vec<PathBuf>,

    /// The name of the server
    #[arg(long, default_value = "skills")]
    name: String,

    /// Do not read the folders again when something in them changes
    #[arg(long)]
    no_watch: bool,

    #[command(flatten)]
    serving: ServingArgs,
}

/// Serves until the client or the user ends it.
pub(super) async fn run(options: SkillsOptions) -> Result<(), CliError> {
    let mut skills = Skills::new();
    for dir in &options.dirs {
        skills = skills
            .dir(dir)
            .map_err(|error| CliError::usage(error.to_string()))?;
    }
    // At a terminal, and in the log of a host.
    for fault in skills.faults() {
        let _ = writeln!(io::stderr(), "{fault}");
    }
    let count = skills.count();
    let server = Server::new(options.name, env!("CARGO_PKG_VERSION"))
        .extension(skills.watch(!options.no_watch));
    let skills = if count == 1 { "skill" } else { "skills" };
    let summary = format!("{count} {skills}");
    serve(server, &options.serving, "serve skills", &summary).await
}
