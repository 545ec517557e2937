//! Logins of a host at the servers of its configuration files, by one call.

use turnbuckle_auth::OAuth;
use turnbuckle_auth::client::OAuthBuilder;
use turnbuckle_auth::client::store::CredentialStore;
use turnbuckle_servers::ServersBuilder;

/// Hosts that log in at the servers at URLs of an `mcp.json`.
///
/// ```no_run
/// use turnbuckle::LogIn;
/// use turnbuckle::auth::client::store::FileStore;
/// use turnbuckle::servers::Servers;
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let store = FileStore::open("credentials")?;
/// let servers = Servers::builder("my-app", "1.0.0").config_file("mcp.json")?.oauth(store);
/// let servers = servers.connect().await?;
/// # Ok(())
/// # }
/// ```
///
/// Specification: basic/authorization (2026-07-28).
pub trait LogIn: Sized {
    /// Logs in, with the user's browser, at each server at a URL that asks for it. The name of the
    /// host is the name of the client; the store holds the credentials of all servers.
    ///
    /// Servers with an `Authorization` header in their entry, and those behind Unix sockets, are
    /// reached without a login.
    #[must_use]
    fn oauth(self, store: impl CredentialStore + Clone) -> Self {
        self.oauth_with(store, |_, oauth| oauth)
    }

    /// Logs in as [`oauth`](Self::oauth) does, with settings for each server: `configure` gets its
    /// name. Where the user must not be asked, set
    /// [`stored_only`](turnbuckle_auth::client::OAuthBuilder::stored_only).
    #[must_use]
    fn oauth_with(
        self,
        store: impl CredentialStore + Clone,
        configure: impl Fn(&str, OAuthBuilder) -> OAuthBuilder + Send + Sync + 'static,
    ) -> Self;
}

impl LogIn for ServersBuilder {
    fn oauth_with(
        self,
        store: impl CredentialStore + Clone,
        configure: impl Fn(&str, OAuthBuilder) -> OAuthBuilder + Send + Sync + 'static,
    ) -> Self {
        let client_name = self.name().to_owned();
        self.http_connectors(move |server, connector| {
            let Some(url) = connector.url() else {
                return Ok(connector);
            };
            let oauth = OAuth::builder(url, store.clone()).client_name(&*client_name);
            let oauth = configure(server, oauth).build()?;
            Ok::<_, turnbuckle_auth::AuthError>(connector.layer(oauth))
        })
    }
}
