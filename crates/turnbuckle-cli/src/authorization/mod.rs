//! Authorization of the tool at servers over HTTP: which client it is, where it keeps credentials,
//! and how the user logs in.

mod checklist;
mod page_login;
mod profile;
mod store;
mod terminal_login;

use turnbuckle::auth::client::interaction::LoginUi;
use turnbuckle::auth::client::{AuthStatus, StepKind};
use turnbuckle::auth::{Challenge, OAuth};

use crate::args::{CommonArgs, ServerArgs};
use crate::ask::is_interactive;
use crate::error::CliError;
use crate::input::read_file;
use crate::output::Console;

pub(crate) use checklist::render_checklist;
pub(crate) use page_login::PageLogin;
pub(crate) use profile::{LoginProfile, store_error};
pub(crate) use store::UserStore;
pub(crate) use terminal_login::{StoredLoginOnly, TerminalLogin, has_browser};

/// The name that login pages show.
const CLIENT_NAME: &str = "turnbuckle";

/// Builds the authorization at the server at `url`, where the user logs in with `ui`. Nothing is
/// requested or read yet.
pub(crate) fn build_oauth(
    url: &str,
    store: UserStore,
    profile: &LoginProfile,
    server_args: &ServerArgs,
    ui: impl LoginUi,
) -> Result<OAuth, CliError> {
    let mut oauth = OAuth::builder(url, store)
        .client_name(CLIENT_NAME)
        .scopes(profile.scopes.iter().cloned())
        .login_ui(ui);
    if let Some(client_id) = &profile.client_id {
        oauth = oauth.client_id(client_id, profile.client_secret.clone());
    }
    if let Some(url) = &profile.client_metadata_url {
        oauth = oauth.client_metadata_url(url);
    }
    if profile.dpop {
        oauth = oauth.dpop();
    }
    if let Some(file) = &server_args.ca {
        oauth = oauth.ca_certificate_pem(read_file(file)?);
    }
    let built = oauth.build();
    built.map_err(|error| CliError::usage(error.to_string()))
}

/// Returns whether a command may ask the user to log in: somebody sits at a terminal, and no option
/// forbids it. Terminals of CI have nobody.
pub(crate) fn may_log_in(common: &CommonArgs) -> bool {
    let is_ci = std::env::var_os("CI").is_some_and(|value| !value.is_empty());
    !common.server.stored_auth_only && !common.protocol.no_input && !is_ci && is_interactive()
}

/// Logs the user in at a server that refused a request with `challenge`, the value of
/// `WWW-Authenticate`. The credentials are in the store then.
pub(crate) async fn log_in_after_challenge(
    url: &str,
    store: UserStore,
    common: &CommonArgs,
    challenge: Option<&str>,
    console: &Console,
) -> Result<(), CliError> {
    let profile = LoginProfile::load(&store, url).await?;
    let ui = TerminalLogin::new(console.clone(), profile.redirect_uri.clone(), false);
    let oauth = build_oauth(url, store, &profile, &common.server, ui)?;
    console.print_message("The server asks for a login.");
    log_in(&oauth, parse_challenge(challenge)).await?;
    console.print_note("logged in");
    Ok(())
}

/// Logs in because of a challenge, or asks the server for one. Fails also if the credentials could not
/// be stored.
pub(crate) async fn log_in(
    oauth: &OAuth,
    challenge: Option<Challenge>,
) -> Result<AuthStatus, CliError> {
    let status = match challenge {
        Some(challenge) => oauth.log_in_with(challenge).await?,
        None => oauth.log_in().await?,
    };
    let transcript = oauth.transcript();
    let mut steps = transcript.steps.iter();
    let unsaved = steps.find(|step| step.step == StepKind::Store && !step.succeeded);
    match unsaved {
        None => Ok(status),
        Some(step) => Err(CliError::new(format!(
            "the login succeeded, but its credentials could not be stored: {}",
            step.response
        ))),
    }
}

/// Returns the scopes that a `WWW-Authenticate` header names.
pub(crate) fn challenge_scopes(challenge: Option<&str>) -> Vec<String> {
    let challenge = parse_challenge(challenge);
    challenge
        .and_then(|challenge| challenge.scope())
        .unwrap_or_default()
}

/// Returns the challenge of a `WWW-Authenticate` header that a login answers.
fn parse_challenge(header: Option<&str>) -> Option<Challenge> {
    let challenges = Challenge::parse_all(header.into_iter());
    let is_oauth =
        |challenge: &Challenge| challenge.is_scheme("Bearer") || challenge.is_scheme("DPoP");
    challenges.into_iter().find(is_oauth)
}
