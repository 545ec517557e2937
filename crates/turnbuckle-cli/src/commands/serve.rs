//! `serve`: servers that are made of files.

use std::io::{self, IsTerminal as _, Write as _};
use std::path::PathBuf;

use clap::{Args, Subcommand};
use turnbuckle::Server;
use turnbuckle::skills::server::Skills;

use crate::error::CliError;
use crate::serving::{TransportArgs, listen, serve_http, serve_stdio};

/// A kind of server.
#[derive(Subcommand)]
pub(crate) enum ServeCommand {
    /// Serves the skills of folders: each folder in them that has a SKILL.md
    Skills(SkillsOptions),
}

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
    transport: TransportArgs,
}

/// Serves until the client or the user ends it.
pub(crate) async fn run(command: ServeCommand) -> Result<(), CliError> {
    let ServeCommand::Skills(options) = command;
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
        .extension(skills.watch(!options.no_watch))
        .build()
        .map_err(|error| CliError::new(error.to_string()))?;
    if options.transport.stdio {
        return serve_stdio(server, "serve skills").await;
    }
    let http = listen(server, &options.transport, true).await?;
    let skills = if count == 1 { "skill" } else { "skills" };
    let mut banner = format!("{count} {skills} at\n\n{url}\n", url = http.url());
    if io::stdout().is_terminal() {
        banner.push_str("\nCtrl-C ends it.\n");
    }
    serve_http(http, &banner).await
}
