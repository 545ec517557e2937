//! The opening of a session.

use std::sync::{Arc, Weak};

use super::client_session::ClientSession;
use super::handler::ClientHandler;
use super::inbox::SessionInbox;
use super::limits::ClientLimits;
use crate::client::link::Connector;
use crate::client::link_error::LinkError;

impl ClientSession {
    /// Opens a link and creates its session, on which nothing has been sent yet.
    ///
    /// # Errors
    /// Fails when the server cannot be reached.
    pub async fn open(
        connector: &dyn Connector,
        handler: Arc<dyn ClientHandler>,
        limits: ClientLimits,
    ) -> Result<Arc<Self>, LinkError> {
        let session = Self::new(handler, limits, connector.user_waits().cloned());
        let inbox = SessionInbox(Weak::clone(&session.weak_self));
        let link = connector.open(Arc::new(inbox)).await?;
        let _ = session.link.set(link);
        Ok(session)
    }
}
