//! `check --client`: judges a client by scripted servers.

use turnbuckle_check::script::visit;
use turnbuckle_check::{ClientChecker, relay};
use turnbuckle_session::internal::ShutdownSignals;

use super::files::Files;
use super::{Options, judge, reports};
use crate::connection::{check_error, unless_interrupted};
use crate::error::{CliError, ExitStatus};
use crate::output::Console;

/// The words of this command that relay standard input and output to a scripted server.
const RELAY: [&str; 2] = ["check", "--relay"];

/// The words of this command that open a login page of a scripted server.
const VISIT: [&str; 2] = ["check", "--visit"];

/// Runs the client that the command line names with each server, and reports what it did wrong.
pub(super) async fn run(options: &Options, files: &Files) -> Result<(), CliError> {
    let (target, args) = (&options.target_args, &options.args);
    if target.command.is_empty() || !target.words.is_empty() {
        return Err(CliError::usage("a client is a command after `--`")
            .hint("`{url}` in it stands for the server's URL: `turnbuckle check --client -- ./my-client {url}`"));
    }
    let words = target.command.iter().map(|word| {
        let word = word.to_str().map(str::to_owned);
        word.ok_or_else(|| CliError::usage("the words of a client are UTF-8"))
    });
    let words = words.collect::<Result<Vec<_>, _>>()?;
    let own = std::env::current_exe();
    let own = own.map_err(|error| CliError::new(format!("this program has no path: {error}")))?;
    let own = own.to_string_lossy().into_owned();
    let with_own = |words: [&str; 2]| [&*own, words[0], words[1]].map(str::to_owned);
    let mut checker = ClientChecker::new(words)
        .relay_command(with_own(RELAY))
        .visit_command(with_own(VISIT))
        .login(args.login)
        .selection(args.selection());
    if let Some(limit) = target.common.protocol.timeout {
        checker = checker.time_limit(limit);
    }
    let console = Console::new(&target.common.output);
    let mut signals = ShutdownSignals::new()
        .map_err(|error| CliError::new(format!("signals cannot be caught: {error}")))?;
    let run = async { checker.run().await.map_err(|error| check_error(&error)) };
    let mut report = unless_interrupted(&mut signals, run).await?;
    files.apply(&mut report)?;
    reports::write(&report, &args.reports, &console)?;
    judge(&report, args.strict)
}

/// Relays standard input and output to the scripted server at `place`.
pub(super) async fn relay_to(place: &str) -> Result<(), CliError> {
    let relayed = relay(
        place,
        tokio::io::stdin(),
        tokio::io::stdout(),
        tokio::io::stderr(),
    );
    relayed.await.map_err(|error| {
        CliError::new(format!("the scripted server cannot be reached: {error}"))
            .status(ExitStatus::Unreachable)
    })
}

/// Opens the login page at `url` and follows it back to the client.
pub(super) async fn visit_page(url: &str) -> Result<(), CliError> {
    visit(url).await.map_err(|error| {
        CliError::new(format!("the login page cannot be opened: {error}"))
            .status(ExitStatus::Unreachable)
    })
}
