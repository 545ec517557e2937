//! [`OAuthBuilder`]: the settings of a client's authorization.

use std::fmt;
use std::sync::Arc;

use url::Url;

use super::OAuth;
use super::grant::{ClientCredentials, EnterpriseIdp, Grant, WorkloadIdentity};
use super::interaction::{Browser, LoginUi, NoLogin};
use super::session::AuthSession;
use super::settings::{RegisteredClient, Settings};
use super::store::CredentialStore;
use crate::clock::Clock;
use crate::error::{AuthError, AuthErrorKind};
use crate::outbound::OutboundSettings;
use crate::secret::Secret;

/// The settings of an [`OAuth`], from [`OAuth::builder`].
///
/// The user logs in with a browser, unless [`login_ui`](Self::login_ui) or a grant without a user is
/// set.
#[must_use = "a builder does nothing until `build`"]
pub struct OAuthBuilder(Result<Settings, AuthError>);

impl OAuthBuilder {
    pub(super) fn new(url: &str, store: impl CredentialStore) -> Self {
        Self(parse_server(url).map(|(server_text, server)| Settings {
            server_text,
            server,
            store: Arc::new(store),
            ui: Arc::new(Browser::new()),
            client_name: "MCP client".to_owned(),
            client_metadata_url: None,
            registered: Vec::new(),
            scopes: Vec::new(),
            grant: Grant::default(),
            uses_dpop: false,
            outbound: OutboundSettings::default(),
        }))
    }

    /// Creates the authorization.
    ///
    /// # Errors
    /// Fails when the URL of the server is no `http` or `https` URL, or has a user name or a password;
    /// and for a certificate or an origin that cannot be read.
    pub fn build(self) -> Result<OAuth, AuthError> {
        AuthSession::new(self.0?, Clock::system()).map(OAuth::from_session)
    }

    /// Sets the name of the client, which the login page shows. Default `MCP client`.
    pub fn client_name(self, name: impl Into<String>) -> Self {
        let name = name.into();
        self.with(|settings| settings.client_name = name)
    }

    /// Sets the `https` URL of the client's metadata document, which serves as its id where the
    /// authorization server supports that.
    ///
    /// Specification: basic/authorization/client-registration, "Client ID Metadata Documents"
    /// (2026-07-28).
    pub fn client_metadata_url(self, url: impl Into<String>) -> Self {
        let url = url.into();
        self.with(|settings| settings.client_metadata_url = Some(url))
    }

    /// Adds a client id that was registered by hand with the authorization server `issuer`. It is
    /// never shown to another one.
    pub fn registered_client(
        self,
        issuer: impl Into<String>,
        client_id: impl Into<String>,
        client_secret: Option<Secret>,
    ) -> Self {
        let issuer = Some(issuer.into());
        self.add_client(client_id.into(), client_secret, issuer)
    }

    /// Adds a client id that was registered by hand, without its issuer: it is bound to the first
    /// authorization server that the MCP server names, and stays bound in the store.
    pub fn client_id(self, client_id: impl Into<String>, client_secret: Option<Secret>) -> Self {
        self.add_client(client_id.into(), client_secret, None)
    }

    /// Adds scopes that every login asks for. Without any, a login asks for those that the server
    /// names.
    pub fn scopes<T: Into<String>>(self, scopes: impl IntoIterator<Item = T>) -> Self {
        let scopes: Vec<String> = scopes.into_iter().map(Into::into).collect();
        self.with(|settings| settings.scopes.extend(scopes))
    }

    /// Sets how the user gets to the login page, and how the redirect comes back. Default
    /// [`Browser`].
    pub fn login_ui(self, ui: impl LoginUi) -> Self {
        self.with(|settings| settings.ui = Arc::new(ui))
    }

    /// Uses stored credentials only: where the user would have to log in, requests fail with
    /// [`AuthErrorKind::LoginRequired`].
    pub fn stored_only(self) -> Self {
        self.login_ui(NoLogin::new())
    }

    /// Logs in without a user, with credentials of the client itself.
    ///
    /// Specification: extensions/auth/oauth-client-credentials.
    pub fn client_credentials(self, credentials: ClientCredentials) -> Self {
        self.with(|settings| settings.grant = Grant::ClientCredentials(credentials))
    }

    /// Logs in through the identity provider of an enterprise.
    ///
    /// Specification: extensions/auth/enterprise-managed-authorization.
    pub fn enterprise(self, idp: EnterpriseIdp) -> Self {
        self.with(|settings| settings.grant = Grant::Enterprise(idp))
    }

    /// Logs in with assertions of the platform that the program runs on (RFC 7523).
    pub fn workload_identity(self, identity: WorkloadIdentity) -> Self {
        self.with(|settings| settings.grant = Grant::WorkloadIdentity(identity))
    }

    /// Binds tokens to a key of this client, so that nobody else can use them (RFC 9449).
    pub fn dpop(self) -> Self {
        self.with(|settings| settings.uses_dpop = true)
    }

    /// Trusts the certificates in this PEM text, beside those of the system, for requests to the
    /// authorization server.
    pub fn ca_certificate_pem(self, pem: impl Into<Vec<u8>>) -> Self {
        let pem = pem.into();
        self.with(|settings| settings.outbound.extra_roots_pem.push(pem))
    }

    /// Allows requests over plain HTTP to an origin such as `http://10.0.0.7:8080`, for development.
    /// This machine needs no such exception.
    pub fn allow_plain_http(mut self, origin: &str) -> Self {
        let origin = Url::parse(origin).ok().filter(|url| url.scheme() == "http");
        match (&mut self.0, origin) {
            (Ok(settings), Some(origin)) => settings.outbound.plain_http_origins.push(origin),
            (Ok(_), None) => {
                let message = "allow_plain_http takes an origin that begins with http://";
                self.0 = Err(AuthError::new(AuthErrorKind::Settings, message));
            }
            (Err(_), _) => {}
        }
        self
    }

    fn add_client(
        self,
        client_id: String,
        client_secret: Option<Secret>,
        issuer: Option<String>,
    ) -> Self {
        self.with(|settings| {
            settings.registered.push(RegisteredClient {
                client_id,
                client_secret,
                issuer,
            });
        })
    }

    fn with(mut self, change: impl FnOnce(&mut Settings)) -> Self {
        if let Ok(settings) = &mut self.0 {
            change(settings);
        }
        self
    }
}

/// Returns the URL of a server as text, without its fragment, and parsed.
fn parse_server(url: &str) -> Result<(String, Url), AuthError> {
    let refused = |reason: &str| {
        let message = format!("no authorization for this URL: {reason}");
        AuthError::new(AuthErrorKind::UrlRefused, message)
    };
    let mut server = Url::parse(url.trim()).map_err(|error| refused(&error.to_string()))?;
    if !matches!(server.scheme(), "http" | "https") {
        return Err(refused("it is neither http nor https"));
    }
    if !server.username().is_empty() || server.password().is_some() {
        return Err(refused("it has a user name or a password"));
    }
    server.set_fragment(None);
    let text = match server.path() {
        "/" if server.query().is_none() => server.as_str().trim_end_matches('/'),
        _ => server.as_str(),
    };
    Ok((text.to_owned(), server))
}

/// Shows the server and the client's name, and no secret.
impl fmt::Debug for OAuthBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self.0.as_ref();
        let shown = shown.map(|settings| (&settings.server_text, &settings.client_name));
        f.debug_tuple("OAuthBuilder").field(&shown).finish()
    }
}
