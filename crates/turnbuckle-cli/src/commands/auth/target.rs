//! The server that a command of `auth` is about.

use turnbuckle::auth::OAuth;
use turnbuckle::auth::client::interaction::LoginUi;
use turnbuckle_types::base::secrets::url_without_query;

use crate::args::CommonArgs;
use crate::authorization::{LoginProfile, StoredLoginOnly, UserStore, build_oauth};
use crate::commands::TargetArgs;
use crate::connection::{
    LoginLayer, Target, confirm_target, explain, is_unencrypted_remote, try_connection,
};
use crate::error::{CliError, ExitStatus};
use crate::observe::KnownSecrets;
use crate::output::Console;

/// The server that an `auth` command is about.
pub(super) struct AuthTarget {
    pub(super) common: CommonArgs,
    pub(super) target: Target,
    pub(super) url: String,
    pub(super) store: UserStore,
    pub(super) secrets: KnownSecrets,
    pub(super) console: Console,
}

impl AuthTarget {
    /// Resolves the server, which must have a URL that tokens may be sent to.
    pub(super) async fn resolve(mut args: TargetArgs) -> Result<Self, CliError> {
        let (target, words) = args.target()?;
        words.expect_end()?;
        let Target::Url { url, .. } = &target else {
            return Err(CliError::usage("a command needs no login").hint(
                "servers over standard input and output get credentials from their environment: \
                 `--env NAME=VALUE`",
            ));
        };
        if is_unencrypted_remote(url) {
            return Err(CliError::usage(format!(
                "a token for {} would be sent without encryption",
                url_without_query(url)
            ))
            .hint("use https"));
        }
        let secrets = KnownSecrets::default();
        let store = UserStore::new(secrets.clone());
        let console = Console::new(&args.common.output);
        confirm_target(&target, &args.common, &store, &console).await?;
        Ok(Self {
            url: url.clone(),
            store,
            secrets,
            console,
            target,
            common: args.common,
        })
    }

    /// Returns whether the options forbid to ask the user for a login.
    pub(super) fn forbids_login(&self) -> bool {
        self.common.server.stored_auth_only || self.common.protocol.no_input
    }

    pub(super) async fn profile(&self) -> Result<LoginProfile, CliError> {
        LoginProfile::load(&self.store, &self.url).await
    }

    /// Builds the authorization that works with stored credentials only.
    pub(super) fn oauth(&self, profile: &LoginProfile) -> Result<OAuth, CliError> {
        self.oauth_with(profile, StoredLoginOnly)
    }

    /// Builds the authorization with a user interface for logins.
    pub(super) fn oauth_with(
        &self,
        profile: &LoginProfile,
        ui: impl LoginUi,
    ) -> Result<OAuth, CliError> {
        let store = self.store.clone();
        build_oauth(&self.url, store, profile, &self.common.server, ui)
    }

    /// Connects to the server, with this layer, and closes the connection.
    pub(super) async fn try_connection(&self, layer: LoginLayer) -> Result<(), CliError> {
        try_connection(
            &self.common,
            &self.target,
            layer,
            &self.console,
            &self.secrets,
        )
        .await
    }

    /// Adds to an error how to go on.
    pub(super) fn explain(&self, error: CliError) -> CliError {
        explain(error, &self.target, &self.common, &self.console)
    }

    /// Returns the error for a user who is not logged in.
    pub(super) fn not_logged_in(&self) -> CliError {
        let words = self.target.words(&self.common.server).unwrap_or_default();
        CliError::new(format!("not logged in at {}", url_without_query(&self.url)))
            .status(ExitStatus::AuthNeeded)
            .hint(format!("`turnbuckle auth login {words}`"))
    }
}
