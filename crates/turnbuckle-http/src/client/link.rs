//! A link over Streamable HTTP.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use turnbuckle_session::{Carrying, Link, LinkKind, Parcel, Settling};
use turnbuckle_wire::revision::{EraKind, Features};

use super::core::Core;
use super::{exchange, standalone};

/// How long the handshake waits for the server's own stream to be open.
const STREAM_WAIT: Duration = Duration::from_millis(500);

/// A link; dropping it ends what it does.
pub(crate) struct HttpLink {
    core: Arc<Core>,
    /// Reads the server's own stream.
    listener: Arc<Mutex<Option<JoinHandle<()>>>>,
}

impl HttpLink {
    pub(crate) fn new(core: Core) -> Self {
        Self {
            core: Arc::new(core),
            listener: Arc::default(),
        }
    }
}

impl Link for HttpLink {
    fn kind(&self) -> LinkKind {
        LinkKind::Exchange
    }

    fn carry(&self, parcel: Parcel) -> Carrying {
        Box::pin(exchange::carry(self.core.clone(), parcel))
    }

    fn established(&self, features: &'static Features) -> Settling {
        self.core.establish(features);
        if features.era == EraKind::Modern || self.core.closing.is_closing() {
            return Box::pin(std::future::ready(()));
        }
        let (core, listener) = (self.core.clone(), self.listener.clone());
        Box::pin(async move {
            let (answered, answer) = oneshot::channel();
            {
                let mut listener = listener.lock().unwrap_or_else(PoisonError::into_inner);
                if listener.is_some() {
                    return;
                }
                *listener = Some(tokio::spawn(standalone::listen(core, answered)));
            }
            let _ = tokio::time::timeout(STREAM_WAIT, answer).await;
        })
    }

    fn close(&self) -> Settling {
        self.core.closing.close();
        let (core, listener) = (self.core.clone(), self.listener.clone());
        Box::pin(async move {
            let listener = listener
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .take();
            if let Some(listener) = listener {
                let _ = listener.await;
            }
            core.delete().await;
        })
    }
}

impl Drop for HttpLink {
    fn drop(&mut self) {
        self.core.closing.close();
    }
}
