//! Questions of servers, with the name of the server that asks.

use std::ops::Deref;
use std::sync::Arc;

use turnbuckle_client::QuestionContext;

/// The context of a question: the name of the server that asks, as the host calls it, and the
/// [`QuestionContext`] of its client.
#[derive(Debug, Clone)]
pub struct ServerQuestion {
    /// The name of the server.
    pub server: Arc<str>,
    /// The description of the server, and a signal for when the answer is no longer wanted.
    pub context: QuestionContext,
}

impl Deref for ServerQuestion {
    type Target = QuestionContext;

    fn deref(&self) -> &QuestionContext {
        &self.context
    }
}
