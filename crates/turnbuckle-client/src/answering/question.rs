//! What a handler knows beside what is asked: who asks, and whether an answer is still wanted.

use turnbuckle_session::Signal;

use super::desk::Asker;
use crate::server::ServerInfo;

/// Who asks, and whether an answer is still wanted.
///
/// Users have to see which server asks: show [`Question::address`], which the user of this client
/// chose, beside [`Question::server_name`], which the server chose.
#[derive(Debug, Clone)]
pub struct Question {
    asker: Asker,
    signal: Signal,
}

impl Question {
    pub(super) fn new(asker: Asker) -> Self {
        let signal = Signal::new();
        Self { asker, signal }
    }

    /// What the server said of itself. Nothing of it was verified.
    #[must_use]
    pub fn server(&self) -> &ServerInfo {
        &self.asker.server
    }

    /// The server's title, or else its name, as it says; none where it does not say.
    #[must_use]
    pub fn server_name(&self) -> Option<&str> {
        let who = self.asker.server.implementation.as_ref()?;
        Some(who.title.as_deref().unwrap_or(&who.name))
    }

    /// Where the server was connected to: its URL or its command.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.asker.address
    }

    /// Whether nobody waits for the answer any more: the server took the question back, the
    /// connection is gone, or there is an answer.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.signal.is_cancelled()
    }

    /// Resolves once nobody waits for the answer any more. The handler's future is dropped then
    /// too; this is for what it started elsewhere, such as a dialogue on a screen.
    pub async fn cancelled(&self) {
        self.signal.cancelled().await;
    }

    pub(super) fn signal(&self) -> &Signal {
        &self.signal
    }
}
