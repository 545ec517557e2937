//! Routes the requests and notifications that the server sends by itself.

use turnbuckle_session::handler::Change;
use turnbuckle_session::internal::{
    ClientHandler, HandlerOutcome, IncomingNotification, IncomingRequest, ServerRequest,
};
use turnbuckle_session::transport::RequestTag;
use turnbuckle_types::Notification;
use turnbuckle_types::method::{ElicitationComplete, LoggingMessage};

use crate::connection::Connection;
use crate::incoming::notifications::NotificationHandlers;
use crate::input::handlers::InputHandlers;

/// The receiver of the server's requests and notifications, for all connections of one client.
pub(crate) struct IncomingRouter {
    input: InputHandlers,
    notifications: NotificationHandlers,
}

impl IncomingRouter {
    pub(crate) fn new(input: InputHandlers, notifications: NotificationHandlers) -> Self {
        Self {
            input,
            notifications,
        }
    }

    pub(crate) fn input(&self) -> &InputHandlers {
        &self.input
    }

    /// Takes note of a new connection, which replaces the one before it.
    pub(crate) fn on_connected(&self, connection: &Connection, address: &str) {
        self.input.on_connected(connection, address);
        self.notifications.on_connected(connection);
    }

    /// Drops cached knowledge of which a change notification may have been missed.
    pub(crate) fn invalidate(&self, change: &Change) {
        self.notifications.invalidate(change);
    }
}

impl ClientHandler for IncomingRouter {
    fn handle_request(&self, call: IncomingRequest<'_>, request: ServerRequest) -> HandlerOutcome {
        self.input.handle_request(call, request.tag())
    }

    fn handle_notification(&self, notice: IncomingNotification<'_>, tag: Option<&RequestTag>) {
        match notice.name {
            LoggingMessage::METHOD => self.notifications.handle_log(notice, tag),
            ElicitationComplete::METHOD => self.input.complete_visit(notice.text),
            _ => self.notifications.handle(notice),
        }
    }

    fn handle_invalid_message(&self, count: u64, beginning: &str) {
        self.notifications.handle_invalid_message(count, beginning);
    }
}
