//! The `auth login` and `auth logout` commands.

use clap::Args;
use turnbuckle::auth::Secret;
use turnbuckle::auth::{AuthError, AuthErrorKind};
use turnbuckle_types::base::secrets::url_without_query;

use super::status::print_status;
use super::target::AuthTarget;
use crate::authorization::{LoginProfile, TerminalLogin, log_in, render_checklist};
use crate::commands::TargetArgs;
use crate::connection::LoginLayer;
use crate::error::CliError;
use crate::input::read_variable;

/// Options of `auth login` and `auth debug`.
#[derive(Args)]
pub(crate) struct Options {
    /// Print the URL of the login page, and accept the address that the browser ends at
    #[arg(long)]
    pub(super) no_browser: bool,

    /// The id of a client that was registered by hand
    #[arg(long, value_name = "ID", allow_hyphen_values = true)]
    client_id: Option<String>,

    /// The environment variable that holds the client's secret
    #[arg(long, value_name = "VAR", requires = "client_id")]
    client_secret_env: Option<String>,

    /// The https URL of a client metadata document, which serves as the client's id
    #[arg(long, value_name = "URL", conflicts_with = "client_id")]
    client_metadata_url: Option<String>,

    /// Ask for this scope; may be repeated
    #[arg(long = "scope", value_name = "SCOPE")]
    scopes: Vec<String>,

    /// Bind the token to a key of this machine (DPoP)
    #[arg(long)]
    dpop: bool,

    /// The port of the redirect URI http://127.0.0.1:PORT/callback [default: any free port]
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    callback_port: Option<u16>,

    #[command(flatten)]
    pub(crate) target_args: TargetArgs,
}

/// The options that a login is remembered by.
pub(super) struct ProfileChange {
    client_id: Option<String>,
    client_secret: Option<Secret>,
    client_metadata_url: Option<String>,
    scopes: Vec<String>,
    dpop: bool,
    redirect_uri: Option<String>,
}

impl Options {
    /// Splits the options into the server and what the login is remembered by.
    pub(super) async fn split(self) -> Result<(AuthTarget, ProfileChange), CliError> {
        let secret = self.client_secret_env.as_deref().map(read_variable);
        let change = ProfileChange {
            client_id: self.client_id,
            client_secret: secret.transpose()?.map(Secret::new),
            client_metadata_url: self.client_metadata_url,
            scopes: self.scopes,
            dpop: self.dpop,
            redirect_uri: self
                .callback_port
                .map(|port| format!("http://127.0.0.1:{port}/callback")),
        };
        Ok((AuthTarget::resolve(self.target_args).await?, change))
    }
}

impl ProfileChange {
    /// Returns the profile with the options that were given.
    pub(super) fn apply(self, mut profile: LoginProfile) -> LoginProfile {
        if self.client_id.is_some() {
            profile.client_id = self.client_id;
            profile.client_secret = self.client_secret;
            profile.client_metadata_url = None;
        }
        if self.client_metadata_url.is_some() {
            profile.client_metadata_url = self.client_metadata_url;
            (profile.client_id, profile.client_secret) = (None, None);
        }
        if !self.scopes.is_empty() {
            profile.scopes = self.scopes;
        }
        profile.dpop |= self.dpop;
        profile.redirect_uri = self.redirect_uri.or(profile.redirect_uri);
        profile
    }
}

pub(crate) async fn run(options: Options) -> Result<(), CliError> {
    let no_browser = options.no_browser;
    let (target, change) = options.split().await?;
    if target.forbids_login() {
        return Err(CliError::usage(
            "a login asks the user, which `--stored-auth-only` and `--no-input` forbid",
        ));
    }
    let previous = target.profile().await?;
    let profile = change.apply(previous.clone());
    let ui = TerminalLogin::new(
        target.console.clone(),
        profile.redirect_uri.clone(),
        no_browser,
    );
    let oauth = target.oauth_with(&profile, ui)?;
    let status = match log_in(&oauth, None).await {
        Ok(status) => status,
        Err(error) => return Err(explain_failure(&target, error).await),
    };
    if target.common.output.verbose {
        let style = |style, text: &str| target.console.style_stderr(style, text);
        let checklist = render_checklist(&oauth.transcript(), style);
        target.console.print_message(&checklist);
    }
    profile.save(&target.store).await?;
    if previous.client_id != profile.client_id {
        // Another client has credentials of its own: the old ones are of no use any more.
        target.oauth(&previous)?.log_out().await?;
    }
    target.console.print_note(&format!(
        "logged in at {}",
        url_without_query(oauth.server_url())
    ));
    print_status(&target.console, oauth.server_url(), &status)
}

/// Returns the error of a login that failed. A server without authorization has no metadata either,
/// which is not what the user has to mend.
async fn explain_failure(target: &AuthTarget, error: CliError) -> CliError {
    let kind = error.auth_error().map(AuthError::kind);
    let lacks_metadata = matches!(
        kind,
        Some(AuthErrorKind::Discovery | AuthErrorKind::Registration)
    );
    if lacks_metadata && target.try_connection(LoginLayer::Absent).await.is_ok() {
        let url = url_without_query(&target.url);
        return CliError::new(format!("{url} needs no login: clients connect without one"));
    }
    target.explain(error)
}

/// Removes the credentials of a server and the options of its login.
pub(super) async fn log_out(args: TargetArgs) -> Result<(), CliError> {
    let target = AuthTarget::resolve(args).await?;
    let mut had_credentials = false;
    let mut url = target.url.clone();
    // Without a store there is nothing to remove, and none has to be made for that.
    if target.store.exists() {
        let profile = target.profile().await?;
        let oauth = target.oauth(&profile)?;
        had_credentials = oauth.log_out().await?;
        profile.remove(&target.store).await?;
        oauth.server_url().clone_into(&mut url);
    }
    let url = url_without_query(&url);
    target.console.print_note(&if had_credentials {
        format!("logged out at {url}")
    } else {
        format!("there were no credentials for {url}")
    });
    Ok(())
}
