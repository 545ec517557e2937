//! Opening of connections.

use std::sync::Arc;

use turnbuckle_client::{Client, ClientBuilder, EraKind, EraPreference, Error, ReconnectPolicy};
use turnbuckle_session::transport::Connector;

use crate::member::shared::Shared;
use crate::member::state::Member;

/// Opens a connection to a server. Its owner opens another one when it is lost.
///
/// # Errors
/// Returns the error of the attempt.
pub(crate) async fn open(
    shared: &Shared,
    member: &Member,
    connector: Arc<dyn Connector>,
    era: Option<EraKind>,
) -> Result<Client, Error> {
    let policy = ReconnectPolicy::new().max_attempts(1);
    let mut builder: ClientBuilder =
        Client::builder(&*shared.name, &*shared.version).reconnect_policy(policy);
    if let Some(era) = era {
        builder = builder.era(EraPreference::StartWith(era));
    }
    for configure in &member.configure {
        builder = configure(builder);
    }
    builder.connect(connector).await
}
