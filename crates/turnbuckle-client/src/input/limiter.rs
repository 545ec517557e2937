//! Limits how many questions the handlers get at once, and knows the server that asks.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use turnbuckle_session::handler::Signal;
use turnbuckle_session::internal::ClientSession;
use turnbuckle_session::transport::RequestTag;
use turnbuckle_wire::revision::Features;

use crate::connection::Connection;
use crate::input::question::QuestionContext;
use crate::input::visits::UrlVisits;
use crate::server_info::ServerInfo;

/// The default for the most questions that are with handlers at once.
const DEFAULT_MAX_QUESTIONS: usize = 8;

/// The permits for questions, the server that asks, and the visits to URLs of one client.
pub(crate) struct QuestionLimiter {
    max_questions: usize,
    /// The permits of each sender of tagged requests, while it has questions, and of all other requests.
    permits: Mutex<HashMap<Option<u64>, Weak<Semaphore>>>,
    asking_server: watch::Sender<Option<AskingServer>>,
    visits: UrlVisits,
}

/// The server of one connection, as it asks.
#[derive(Debug, Clone)]
pub(crate) struct AskingServer {
    pub(crate) server: Arc<ServerInfo>,
    pub(crate) address: Arc<str>,
    /// Fires when the connection is lost.
    pub(crate) ended: Signal,
    /// The session, to notify the server; gone once its connection is.
    pub(crate) session: Weak<ClientSession>,
    /// The tag of the request that the question is about.
    pub(crate) tag: Option<RequestTag>,
}

impl AskingServer {
    pub(crate) fn features(&self) -> &'static Features {
        self.server.revision.features()
    }

    /// Returns the number of the sender of the request that the question is about.
    pub(crate) fn sender(&self) -> u64 {
        self.tag.as_ref().map_or(0, RequestTag::sender)
    }

    /// Returns the server as it asks about the request of this tag.
    pub(crate) fn with_tag(self, tag: Option<&RequestTag>) -> Self {
        Self {
            tag: tag.cloned(),
            ..self
        }
    }
}

impl Default for QuestionLimiter {
    fn default() -> Self {
        Self::new(DEFAULT_MAX_QUESTIONS)
    }
}

impl QuestionLimiter {
    pub(crate) fn new(max_questions: usize) -> Self {
        Self {
            max_questions: max_questions.clamp(1, Semaphore::MAX_PERMITS),
            permits: Mutex::default(),
            asking_server: watch::Sender::new(None),
            visits: UrlVisits::default(),
        }
    }

    pub(crate) fn visits(&self) -> &UrlVisits {
        &self.visits
    }

    /// Takes note of the server of a new connection.
    pub(crate) fn set_server(&self, connection: &Connection, address: &str) {
        self.asking_server.send_replace(Some(AskingServer {
            server: connection.server.clone(),
            address: address.into(),
            ended: connection.session.closed().clone(),
            session: Arc::downgrade(&connection.session),
            tag: None,
        }));
    }

    /// Returns the server of the last connection.
    pub(crate) fn last_server(&self) -> Option<AskingServer> {
        self.asking_server.borrow().clone()
    }

    /// Returns the server of the open connection. A server may ask before its handshake is
    /// concluded: this waits until then.
    pub(crate) async fn connected_server(&self) -> AskingServer {
        let mut asking_server = self.asking_server.subscribe();
        loop {
            let here = asking_server.borrow_and_update().clone();
            if let Some(here) = here.filter(|asking_server| !asking_server.ended.is_cancelled()) {
                return here;
            }
            if asking_server.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    /// Returns the server that asks inside a result.
    pub(crate) fn server_context(&self, server: &Arc<ServerInfo>) -> AskingServer {
        let known = self.last_server();
        match known {
            Some(asking_server) if Arc::ptr_eq(&asking_server.server, server) => asking_server,
            known => AskingServer {
                server: server.clone(),
                address: known.map_or_else(|| "".into(), |asking_server| asking_server.address),
                // The connection of that server was replaced already.
                ended: Signal::new(),
                session: Weak::new(),
                tag: None,
            },
        }
    }

    /// Waits for a permit and returns the context of the question with it. The question may be with
    /// a handler for as long as the permit is kept. A sender of tagged requests has permits of its own,
    /// so that the questions of one do not keep those of another waiting.
    pub(crate) async fn admit(
        &self,
        asking_server: AskingServer,
    ) -> (QuestionContext, Option<OwnedSemaphorePermit>) {
        let permits = self.permits(asking_server.tag.as_ref().map(RequestTag::sender));
        let permit = permits.acquire_owned().await;
        // `ok` is always `Some`: the semaphore is never closed.
        (QuestionContext::new(asking_server), permit.ok())
    }

    fn permits(&self, sender: Option<u64>) -> Arc<Semaphore> {
        let table = self.permits.lock();
        let mut table = table.unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = table.get(&sender).and_then(Weak::upgrade) {
            return known;
        }
        table.retain(|_, permits| permits.strong_count() > 0);
        let permits = Arc::new(Semaphore::new(self.max_questions));
        table.insert(sender, Arc::downgrade(&permits));
        permits
    }
}
