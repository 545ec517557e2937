//! The `auth debug` command: a login whose steps are printed as a checklist.

use serde::Serialize;
use turnbuckle::auth::OAuth;
use turnbuckle::auth::client::{AuthStatus, Transcript, TranscriptStep};
use turnbuckle_types::base::secrets::url_without_query;

use super::login::Options;
use super::status::{StatusReport, render_status};
use super::target::AuthTarget;
use crate::authorization::{LoginProfile, TerminalLogin, log_in, may_log_in, render_checklist};
use crate::connection::LoginLayer;
use crate::error::CliError;
use crate::output::{Console, Style};

/// The outcome of the command.
#[derive(Default)]
struct Outcome {
    transcript: Transcript,
    /// The login, if the server demands one and it succeeded.
    status: Option<AuthStatus>,
    /// A sentence about a server that demands nothing, or accepts the token.
    conclusion: Option<&'static str>,
    error: Option<CliError>,
}

/// The outcome as JSON.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct DebugReport<'a> {
    server: String,
    succeeded: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    conclusion: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
    steps: &'a [TranscriptStep],
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<StatusReport<'a>>,
}

pub(super) async fn run(options: Options) -> Result<(), CliError> {
    let no_browser = options.no_browser;
    let (target, change) = options.split().await?;
    let profile = change.apply(target.profile().await?);
    let server = target.oauth(&profile)?.server_url().to_owned();
    let may_ask = may_log_in(&target.common) || (no_browser && !target.forbids_login());
    let outcome = match target.try_connection(LoginLayer::Absent).await {
        Ok(()) => Outcome {
            conclusion: Some("The server lets clients connect without a login."),
            ..Outcome::default()
        },
        Err(error) if !error.is_unauthorized() => return Err(error),
        Err(_) if may_ask => debug_login(&target, &profile, no_browser).await?,
        // Without a user the stored credentials are checked.
        Err(_) => debug_stored(&target, &profile).await?,
    };
    print_outcome(&target.console, &server, &outcome)?;
    match outcome.error {
        None => Ok(()),
        Some(error) if error.needs_login() => Err(target.explain(error)),
        Some(error) => Err(error),
    }
}

/// Logs in, and connects with the token.
async fn debug_login(
    target: &AuthTarget,
    profile: &LoginProfile,
    no_browser: bool,
) -> Result<Outcome, CliError> {
    let console = target.console.clone();
    let ui = TerminalLogin::new(console, profile.redirect_uri.clone(), no_browser);
    let oauth = target.oauth_with(profile, ui)?;
    if let Err(error) = log_in(&oauth, None).await {
        return Ok(Outcome::from_error(error, &oauth));
    }
    profile.save(&target.store).await?;
    Ok(connect_with_token(target, oauth).await)
}

/// Connects with the stored credentials.
async fn debug_stored(target: &AuthTarget, profile: &LoginProfile) -> Result<Outcome, CliError> {
    let oauth = target.oauth(profile)?;
    Ok(connect_with_token(target, oauth).await)
}

async fn connect_with_token(target: &AuthTarget, oauth: OAuth) -> Outcome {
    let layer = LoginLayer::Given(Box::new(oauth.clone()));
    match target.try_connection(layer).await {
        Ok(()) => Outcome {
            transcript: oauth.transcript(),
            status: oauth.status().await,
            conclusion: Some("The server accepts the token."),
            error: None,
        },
        Err(error) => Outcome::from_error(error, &oauth),
    }
}

impl Outcome {
    fn from_error(error: CliError, oauth: &OAuth) -> Self {
        let transcript = match error.auth_error() {
            Some(failure) => failure.transcript().clone(),
            None => oauth.transcript(),
        };
        Self {
            transcript,
            error: Some(error),
            ..Self::default()
        }
    }
}

fn print_outcome(console: &Console, server: &str, outcome: &Outcome) -> Result<(), CliError> {
    if !console.is_text() {
        let error = outcome.error.as_ref().map(CliError::text);
        let report = DebugReport {
            server: url_without_query(server),
            succeeded: error.is_none(),
            conclusion: outcome.conclusion,
            error,
            steps: &outcome.transcript.steps,
            status: outcome
                .status
                .as_ref()
                .map(|status| StatusReport::new(server, status)),
        };
        return console.print_json(&serde_json::to_string(&report)?);
    }
    let mut text = render_checklist(&outcome.transcript, |style, text| {
        console.style(style, text)
    });
    if let Some(conclusion) = outcome.conclusion {
        if !text.is_empty() {
            text += "\n\n";
        }
        text += &console.style(Style::Good, conclusion);
    }
    if let Some(status) = &outcome.status {
        text += &format!("\n\n{}", render_status(console, server, status));
    }
    console.print(&text)
}
