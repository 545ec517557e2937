//! The `inspect` command: serves the page of the Inspector to the user's browser.

mod access;
mod body;
mod events;
mod listener;
mod opener;
mod reply;
mod routes;
mod server;

use std::io::{self, IsTerminal as _};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use serde_json::json;
use turnbuckle_inspector::api::OpenSource;
use turnbuckle_session::internal::ShutdownSignals;

use super::TargetArgs;
use crate::authorization::has_browser;
use crate::connection::TargetLogin;
use crate::error::CliError;
use crate::input::read_typed_line;
use crate::output::{Console, Style};
use access::CODE_LIFETIME;
use opener::Opener;
use server::PageServer;

/// The time that the ends of all connections may take.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(6);

/// Options of `inspect`.
#[derive(Args)]
pub(crate) struct Options {
    #[command(flatten)]
    pub(crate) target_args: TargetArgs,

    /// The port of the page at 127.0.0.1 [default: any that is free]
    #[arg(long, default_value_t = 0, hide_default_value = true)]
    port: u16,

    /// Open the page in a browser, also where none is expected
    #[arg(long, conflicts_with = "no_open")]
    open: bool,

    /// Print the address of the page only
    #[arg(long)]
    no_open: bool,
}

pub(crate) async fn run(mut options: Options) -> Result<(), CliError> {
    let mut given = None;
    if !options.target_args.is_server_missing() {
        let (target, words) = options.target_args.target()?;
        words.expect_end()?;
        let login = TargetLogin::new(&options.target_args.common, &target)?;
        login.confirm_target().await?;
        given = Some(target);
    }
    let common = options.target_args.common;
    let console = Console::new(&common.output);
    let mut signals = ShutdownSignals::new()
        .map_err(|error| CliError::new(format!("cannot catch signals: {error}")))?;
    let has_target = given.is_some();
    let opener = Opener {
        common,
        given,
        console: console.clone(),
        secrets: Default::default(),
    };
    let server = PageServer::bind(options.port, Arc::new(opener)).await;
    let server = server.map_err(|error| cannot_listen(options.port, &error))?;
    if has_target {
        let opened = server.inspector().open(OpenSource::Given);
        opened.map_err(|error| CliError::new(error.to_string()))?;
    }
    let url = new_url(&server)?;
    print_url(&console, &url)?;
    if options.open || (!options.no_open && io::stdout().is_terminal() && has_browser()) {
        open_browser(url, console.clone());
    }
    tokio::select! {
        never = server.serve() => match never {},
        failed = print_urls_on_demand(&server, &console) => failed?,
        () = signals.recv() => {}
    }
    tokio::select! {
        _ = tokio::time::timeout(CLOSE_TIMEOUT, server.inspector().close_all()) => {}
        () = signals.recv() => {}
    }
    Ok(())
}

/// Opens an address in the user's browser, on a thread of its own: a browser in the terminal blocks.
fn open_browser(url: String, console: Console) {
    tokio::task::spawn_blocking(move || {
        if let Err(error) = webbrowser::open(&url) {
            console.print_warning(&format!("no browser could be started: {error}"));
        }
    });
}

/// Prints a new address for each line that the user types.
async fn print_urls_on_demand(server: &PageServer, console: &Console) -> Result<(), CliError> {
    while is_in_foreground() && read_typed_line().await.is_some() {
        print_url(console, &new_url(server)?)?;
    }
    std::future::pending().await
}

/// Returns whether the program may read its standard input. A job in the background of a shell is stopped
/// when it reads from the terminal.
#[cfg(unix)]
fn is_in_foreground() -> bool {
    let group = rustix::termios::tcgetpgrp(io::stdin());
    group.map_or(true, |group| group == rustix::process::getpgrp())
}

#[cfg(not(unix))]
fn is_in_foreground() -> bool {
    true
}

fn new_url(server: &PageServer) -> Result<String, CliError> {
    let url = server.new_url();
    url.map_err(|error| CliError::new(error.to_string()))
}

fn print_url(console: &Console, url: &str) -> Result<(), CliError> {
    let minutes = CODE_LIFETIME.as_secs() / 60;
    if !console.is_text() {
        return console.print_json(&json!({ "url": url }).to_string());
    }
    console.print(&format!("\n  {}\n", console.style(Style::Strong, url)))?;
    console.print_note(&format!(
        "The address works once, within {minutes} minutes. Enter prints a new one, Ctrl-C ends."
    ));
    Ok(())
}

fn cannot_listen(port: u16, error: &io::Error) -> CliError {
    let failure = CliError::new(format!("cannot listen on 127.0.0.1:{port}: {error}"));
    match error.kind() {
        io::ErrorKind::AddrInUse => failure.hint("leave `--port` out to take any that is free"),
        _ => failure,
    }
}
