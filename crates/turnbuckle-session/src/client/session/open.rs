//! The opening of a session.

use std::sync::{Arc, Weak};

use super::client_session::ClientSession;
use super::handler::ClientHandler;
use super::inbox::SessionInbox;
use super::limits::ClientLimits;
use crate::client::link::Connector;
use crate::client::link_error::LinkError;
use crate::client::message_observer::MessageObserver;

impl ClientSession {
    /// Opens a link and creates its session, on which nothing has been sent yet.
    ///
    /// # Errors
    /// Fails when the server cannot be reached.
    pub async fn open(
        connector: &dyn Connector,
        handler: Arc<dyn ClientHandler>,
        limits: ClientLimits,
        observer: Option<Arc<dyn MessageObserver>>,
    ) -> Result<Arc<Self>, LinkError> {
        if let Some(observer) = &observer {
            observer.on_connect(&connector.description());
        }
        let user_waits = connector.user_waits();
        let session = Self::new(handler, limits, user_waits, observer.clone());
        let inbox = SessionInbox {
            session: Weak::clone(&session.weak_self),
            observer,
        };
        let link = connector.open(Arc::new(inbox)).await?;
        let _ = session.link.set(link);
        Ok(session)
    }
}
