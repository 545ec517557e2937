//! The place where the reports of a handler go: to the request that it answers, or into the record of the
//! task.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use turnbuckle_session::handler::RequestContext;
use turnbuckle_session::internal::Outlet;
use turnbuckle_types::Number;
use turnbuckle_types::base::text::shorten_to;

/// The most characters of a status message.
const MAX_MESSAGE_CHARS: usize = 1000;

/// The reports of one handler.
pub(super) struct TaskOutlet {
    reports: Mutex<Reports>,
    changed: Notify,
}

struct Reports {
    /// The request that the handler answers, unless it has become a task.
    request: Option<RequestContext>,
    /// The latest message that is not in the record.
    message: Option<String>,
}

impl TaskOutlet {
    /// Creates an outlet for a handler that answers a request, if there is one.
    pub(super) fn new(request: Option<RequestContext>) -> Self {
        Self {
            reports: Mutex::new(Reports {
                request,
                message: None,
            }),
            changed: Notify::new(),
        }
    }

    /// Lets reports go into the record from now on.
    pub(super) fn leave_request(&self) {
        self.lock().request = None;
    }

    /// Waits for the next message for the record.
    pub(super) async fn next_message(&self) -> String {
        loop {
            if let Some(message) = self.lock().message.take() {
                return message;
            }
            self.changed.notified().await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Reports> {
        self.reports.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Outlet for TaskOutlet {
    fn request(&self) -> Option<RequestContext> {
        self.lock().request.clone()
    }

    fn report(&self, progress: Number, total: Option<Number>, message: Option<String>) {
        let message = message.unwrap_or_else(|| match total {
            Some(total) => format!("{} of {}", progress.as_f64(), total.as_f64()),
            None => progress.as_f64().to_string(),
        });
        self.lock().message = Some(shorten_to(&message, MAX_MESSAGE_CHARS));
        self.changed.notify_one();
    }
}
