//! The context that a handler gets with each question.

use turnbuckle_session::handler::Signal;
use turnbuckle_session::transport::RequestTag;

use crate::input::limiter::AskingServer;
use crate::server_info::ServerInfo;

/// The context of a question: the server that asks, and a signal for when the answer is no longer
/// wanted.
///
/// Users have to see which server asks: show [`QuestionContext::address`], which the user of this
/// client chose, beside [`QuestionContext::server_name`], which the server chose.
#[derive(Debug, Clone)]
pub struct QuestionContext {
    asking_server: AskingServer,
    signal: Signal,
}

impl QuestionContext {
    pub(crate) fn new(asking_server: AskingServer) -> Self {
        let signal = Signal::new();
        Self {
            asking_server,
            signal,
        }
    }

    /// Returns the server's description of itself, which nobody has verified.
    #[must_use]
    pub fn server_info(&self) -> &ServerInfo {
        &self.asking_server.server
    }

    /// Returns the server's title or else its name, if it has given one.
    #[must_use]
    pub fn server_name(&self) -> Option<&str> {
        let who = self.asking_server.server.implementation.as_ref()?;
        Some(who.title.as_deref().unwrap_or(&who.name))
    }

    /// Returns the address of the server: its URL or its command.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.asking_server.address
    }

    /// Returns the tag of the request that the question is about, if the request has one and the
    /// server may be working on tagged requests of no other sender. On the HTTP stream of a request,
    /// the question is about that request.
    #[must_use]
    pub fn request_tag(&self) -> Option<&RequestTag> {
        self.asking_server.tag.as_ref()
    }

    /// Returns whether the answer is no longer wanted: the server cancelled the question, the
    /// connection is lost, or the question was answered.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.signal.is_cancelled()
    }

    /// Waits until the answer is no longer wanted. The handler's future is dropped then too; this
    /// is for work that it started elsewhere, such as a dialog on a screen.
    pub async fn cancelled(&self) {
        self.signal.cancelled().await;
    }

    pub(crate) fn signal(&self) -> &Signal {
        &self.signal
    }
}
