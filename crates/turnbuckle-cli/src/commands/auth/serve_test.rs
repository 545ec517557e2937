//! The `auth serve-test` command: the test authorization server alone.

use std::io::{self, Write as _};
use std::time::Duration;

use clap::Args;
use turnbuckle::auth_testing::{TestAuthorizationServer, TestAuthorizationServerBuilder};

use crate::args::parse_time;
use crate::error::CliError;
use turnbuckle_session::internal::ShutdownSignals;

/// Options of `auth serve-test`.
#[derive(Args)]
pub(crate) struct Options {
    /// The port to listen on, at 127.0.0.1; 0 takes any that is free
    #[arg(long, default_value_t = 3001)]
    port: u16,

    /// Issue tokens for this resource only, the URL of an MCP server; may be repeated [default: any]
    #[arg(long = "resource", value_name = "URL")]
    resources: Vec<String>,

    /// A scope that exists; may be repeated [default: any]
    #[arg(long = "scope", value_name = "SCOPE")]
    scopes: Vec<String>,

    /// A user; may be repeated [default: alice]
    #[arg(long = "user", value_name = "NAME")]
    users: Vec<String>,

    /// Accept this client id without a secret, with the redirect URI of --redirect-uri
    #[arg(
        long,
        value_name = "ID",
        allow_hyphen_values = true,
        requires = "redirect_uris"
    )]
    client_id: Option<String>,

    /// A redirect URI of --client-id; may be repeated
    #[arg(long = "redirect-uri", value_name = "URI", requires = "client_id")]
    redirect_uris: Vec<String>,

    /// Grant every request at once, without a consent page
    #[arg(long)]
    auto_approve: bool,

    /// The lifetime of access tokens
    #[arg(long, value_name = "TIME", value_parser = parse_time, default_value = "1h")]
    token_ttl: Duration,

    /// Issue opaque tokens instead of JWTs
    #[arg(long)]
    opaque: bool,

    /// Refuse dynamic client registration
    #[arg(long)]
    no_registration: bool,

    /// Require DPoP proofs
    #[arg(long)]
    require_dpop: bool,
}

/// Serves until a signal arrives.
pub(super) async fn run(options: Options) -> Result<(), CliError> {
    let server = options.into_builder().start().await.map_err(|error| {
        CliError::new(error.to_string()).hint("`--port 0` takes any port that is free")
    })?;
    let issuer = server.issuer();
    let banner = format!(
        "\
Turnbuckle test authorization server: for tests and development only. It asks for no password, so
that anyone on this machine can be any user. Never use it in production.

  issuer   the authorization server of your MCP server:

{issuer}

  keys     {jwks}
  listens  for this machine only, and forgets everything when it ends

Ctrl-C ends it.
",
        jwks = server.jwks_uri(),
    );
    let written = io::stdout().write_all(banner.as_bytes());
    written.map_err(|error| CliError::new(format!("cannot print the address: {error}")))?;
    let mut signals = ShutdownSignals::new()
        .map_err(|error| CliError::new(format!("cannot catch signals: {error}")))?;
    signals.recv().await;
    server.shutdown().await;
    Ok(())
}

impl Options {
    fn into_builder(self) -> TestAuthorizationServerBuilder {
        let mut builder = TestAuthorizationServer::builder()
            .port(self.port)
            .auto_approve(self.auto_approve)
            .scopes(self.scopes)
            .token_ttl(self.token_ttl)
            .opaque_tokens(self.opaque)
            .dynamic_registration(!self.no_registration)
            .require_dpop(self.require_dpop);
        for resource in self.resources {
            builder = builder.resource(resource);
        }
        for user in self.users {
            builder = builder.user(user);
        }
        if let Some(client_id) = self.client_id {
            builder = builder.public_client(client_id, self.redirect_uris);
        }
        builder
    }
}
