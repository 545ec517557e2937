//! Opening of connections.

use std::sync::Arc;

use turnbuckle_client::{Client, ClientBuilder, EraKind, EraPreference, Error, ReconnectPolicy};
use turnbuckle_session::transport::Connector;
use turnbuckle_types::ClientCapabilities;

use crate::member::shared::Shared;
use crate::member::state::Member;

/// The attempts of a client to open a lost connection again by itself, where its owner opens another one for the
/// requests that wait for it.
pub(crate) const FEW_ATTEMPTS: usize = 1;

/// No attempt of a client: subscriptions would open the connection that no request needs.
pub(crate) const NO_ATTEMPTS: usize = 0;

/// Opens a connection to a server. Its owner opens another one when it is lost. With the capabilities of the one client
/// whose connection it is, the server is told of no questions that this client does not have.
///
/// # Errors
/// Returns the error of the attempt.
pub(crate) async fn open(
    shared: &Shared,
    member: &Member,
    connector: Arc<dyn Connector>,
    era: Option<EraKind>,
    attempts: usize,
    capabilities: Option<&ClientCapabilities>,
) -> Result<Client, Error> {
    let policy = ReconnectPolicy::new().max_attempts(attempts);
    let mut builder: ClientBuilder =
        Client::builder(&*shared.name, &*shared.version).reconnect_policy(policy);
    if let Some(era) = era {
        builder = builder.era(EraPreference::StartWith(era));
    }
    for configure in &member.configure {
        builder = configure(builder);
    }
    if let Some(capabilities) = capabilities {
        builder = builder.limit_questions(capabilities);
    }
    builder.connect(connector).await
}
