//! What comes from the server by itself: questions go to the handlers, notices to whoever listens.

use turnbuckle_session::{Call, Change, Handling, Host, Notice, ServerRequest};
use turnbuckle_types::Notification;
use turnbuckle_types::method::{ElicitationComplete, Log};

use crate::answering::Answers;
use crate::listening::Listening;
use crate::live::Live;

/// Routes what a server asks and tells.
pub(crate) struct Router {
    answers: Answers,
    listening: Listening,
}

impl Router {
    pub(crate) fn new(answers: Answers, listening: Listening) -> Self {
        Self { answers, listening }
    }

    pub(crate) fn answers(&self) -> &Answers {
        &self.answers
    }

    /// A change that nobody told of may have happened.
    pub(crate) fn missed(&self, change: &Change) {
        self.listening.outdated(change);
    }

    /// There is a connection, in place of the one before.
    pub(crate) fn connected(&self, live: &Live, address: &str) {
        self.answers.connected(live, address);
        self.listening.connected(live);
    }
}

impl Host for Router {
    fn call(&self, call: Call<'_>, _: ServerRequest) -> Handling {
        self.answers.call(call)
    }

    fn notified(&self, notice: Notice<'_>) {
        match notice.name {
            Log::METHOD => self.listening.log(notice.text),
            ElicitationComplete::METHOD => self.answers.completed(notice.text),
            _ => self.listening.other(notice),
        }
    }

    fn noise(&self, count: u64, beginning: &str) {
        self.listening.noise(count, beginning);
    }
}
