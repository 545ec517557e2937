//! A link over Streamable HTTP.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use turnbuckle_session::transport::{Link, LinkFuture, LinkKind, OutboundMessage, SendFuture};
use turnbuckle_wire::revision::{EraKind, Features};

use super::link_state::LinkState;
use super::{exchange, standalone_stream};

/// The time that the handshake waits for the server's own stream to open.
const STREAM_OPEN_TIMEOUT: Duration = Duration::from_millis(500);

/// A link over Streamable HTTP. Dropping it ends its exchanges and its stream.
pub(crate) struct StreamableLink {
    state: Arc<LinkState>,
    /// The task that reads the server's own stream.
    listener: Arc<Mutex<Option<JoinHandle<()>>>>,
}

impl StreamableLink {
    pub(crate) fn new(state: LinkState) -> Self {
        Self {
            state: Arc::new(state),
            listener: Arc::default(),
        }
    }
}

impl Link for StreamableLink {
    fn kind(&self) -> LinkKind {
        LinkKind::Exchange
    }

    fn try_send(&self, message: OutboundMessage) -> Result<(), OutboundMessage> {
        Err(message)
    }

    fn send(&self, message: OutboundMessage) -> SendFuture {
        Box::pin(exchange::send_message(self.state.clone(), message))
    }

    fn complete_handshake(&self, features: &'static Features) -> LinkFuture {
        self.state.set_features(features);
        if features.era == EraKind::Modern || self.state.closing.is_closing() {
            return Box::pin(std::future::ready(()));
        }
        let (state, listener) = (self.state.clone(), self.listener.clone());
        Box::pin(async move {
            let (answered, answer) = oneshot::channel();
            {
                let mut listener = listener.lock().unwrap_or_else(PoisonError::into_inner);
                if listener.is_some() {
                    return;
                }
                *listener = Some(tokio::spawn(standalone_stream::listen(state, answered)));
            }
            let _ = tokio::time::timeout(STREAM_OPEN_TIMEOUT, answer).await;
        })
    }

    fn may_have_sent(&self) -> bool {
        true
    }

    fn close(&self) -> LinkFuture {
        self.state.closing.close();
        let (state, listener) = (self.state.clone(), self.listener.clone());
        Box::pin(async move {
            let listener = listener
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .take();
            if let Some(listener) = listener {
                let _ = listener.await;
            }
            state.delete_session().await;
        })
    }
}

impl Drop for StreamableLink {
    fn drop(&mut self) {
        self.state.closing.close();
    }
}
