//! The `inspect` command: serves the page of the Inspector to the user's browser.

mod access;
mod body;
mod events;
mod listener;
mod login;
pub(super) mod names;
mod opener;
mod reply;
mod routes;
mod server;
mod watch;

use std::ffi::OsString;
use std::io::{self, IsTerminal as _};
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
use crate::output::{Console, Style, sanitize};
use access::CODE_LIFETIME;
use opener::Opener;
use server::PageServer;
use watch::{POLL_INTERVAL, Watch};

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

    /// Restart the program when its executable, a file among its arguments, or a file below PATH changes
    #[arg(long, value_name = "PATH", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    watch: Vec<OsString>,
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
    let watch = match (&given, options.watch.is_empty()) {
        (_, true) => None,
        (Some(target), false) => Some(Watch::new(target, &options.watch)?),
        (None, false) => {
            return Err(CliError::usage("`--watch` needs the command of a server"));
        }
    };
    let has_target = given.is_some();
    let opener = Opener::new(common, given, console.clone());
    let server = PageServer::bind(options.port, opener).await;
    let server = server.map_err(|error| cannot_listen(options.port, &error))?;
    let mut session = String::new();
    if has_target {
        let opened = server.inspector().open(OpenSource::Given);
        session = opened.map_err(|error| CliError::new(error.to_string()))?;
    }
    let url = new_url(&server)?;
    print_url(&console, &url)?;
    if options.open || (!options.no_open && io::stdout().is_terminal() && has_browser()) {
        open_browser(url, console.clone());
    }
    tokio::select! {
        never = server.serve() => match never {},
        failed = print_urls_on_demand(&server, &console) => failed?,
        () = restart_on_change(&server, session, watch, &console) => {}
        () = signals.recv() => {}
    }
    tokio::select! {
        _ = tokio::time::timeout(CLOSE_TIMEOUT, server.inspector().close_all()) => {}
        () = signals.recv() => {}
    }
    Ok(())
}

/// Restarts the program of a session whenever its files change.
async fn restart_on_change(
    server: &PageServer,
    session: String,
    watch: Option<Watch>,
    console: &Console,
) {
    let Some(mut watch) = watch else {
        return std::future::pending().await;
    };
    loop {
        tokio::time::sleep(POLL_INTERVAL).await;
        let polling = tokio::task::spawn_blocking(move || {
            let changed = watch.poll();
            (watch, changed)
        });
        let Ok((polled, changed)) = polling.await else {
            return std::future::pending().await;
        };
        watch = polled;
        let Some(changed) = changed else { continue };
        let changed = changed.display().to_string();
        console.print_note(&format!("restarted: {} has changed", sanitize(&changed)));
        // The user may have closed the session.
        let _ = server.inspector().restart(&session).await;
    }
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
