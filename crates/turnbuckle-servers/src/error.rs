//! Errors of many servers.

use std::sync::Arc;

use turnbuckle_session::internal::cut_process_output;
use turnbuckle_session::transport::LinkError;

use crate::view::item_kind::ItemKind;

/// The reason why a request has no result.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No server has an item of this name.
    #[error("no server has the {kind} {name:?}")]
    UnknownItem {
        /// The kind of the item.
        kind: ItemKind,
        /// The name as the merged view would have it.
        name: String,
    },
    /// There is no server of this name.
    #[error("there is no server {server:?}")]
    UnknownServer {
        /// The name under which the server would have been added.
        server: String,
    },
    /// The server is not connected at the moment.
    #[error("the server {server:?} is not connected: {reason}")]
    NotReady {
        /// The server's name in the merged view.
        server: Arc<str>,
        /// The state of the server, with its last error.
        reason: String,
    },
    /// The clients of the server have as many connections to it as they may, or one client has half of them.
    #[error("the server {server:?} has no connection for the request: {reason}")]
    TooManyConnections {
        /// The server's name in the merged view.
        server: Arc<str>,
        /// The number of connections, and the settings that bound it.
        reason: String,
    },
    /// The request to the server failed.
    #[error("{}", request_text(server, error))]
    Request {
        /// The name of the server that was asked.
        server: Arc<str>,
        /// The failure of the request.
        #[source]
        error: turnbuckle_client::Error,
    },
}

/// Returns the text of a failed request with the name of its server, which some errors of requests have already.
fn request_text(server: &str, error: &turnbuckle_client::Error) -> String {
    let text = error.to_string();
    let rest = text.strip_prefix(server);
    match rest.is_some_and(|rest| rest.starts_with(": ")) {
        true => text,
        false => format!("{server}: {text}"),
    }
}

impl Error {
    /// Returns the error without what the process of the server has written to its standard error. Other users of
    /// the process may be the cause of that.
    pub(crate) fn without_process_output(mut self) -> Self {
        match &mut self {
            Self::NotReady { reason, .. } => cut_process_output(reason),
            Self::Request { error, .. } => match error {
                turnbuckle_client::Error::ConnectionLost { reason, .. }
                | turnbuckle_client::Error::Unreachable { reason, .. } => {
                    if let LinkError::ProcessExited { stderr, .. } = reason {
                        stderr.clear();
                    }
                }
                turnbuckle_client::Error::ReconnectsExhausted { last_error, .. } => {
                    cut_process_output(last_error)
                }
                _ => {}
            },
            _ => {}
        }
        self
    }

    /// Returns the failure of the request, if a server got it.
    #[must_use]
    pub fn request_error(&self) -> Option<&turnbuckle_client::Error> {
        match self {
            Self::Request { error, .. } => Some(error),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_output_of_a_process_is_left_out_of_its_error() {
        let ended = || LinkError::ProcessExited {
            status: "exit status: 9".into(),
            stderr: "hunter2".into(),
            may_have_read: true,
        };
        let request = |error| Error::Request {
            server: "one".into(),
            error,
        };
        let errors = [
            Error::NotReady {
                server: "one".into(),
                reason: format!("not connected: {}", ended()),
            },
            request(turnbuckle_client::Error::ConnectionLost {
                sent: true,
                reason: ended(),
            }),
            request(turnbuckle_client::Error::Unreachable {
                server: "one".into(),
                reason: ended(),
            }),
        ];
        for error in errors {
            assert!(error.to_string().contains("hunter2"));
            let shown = error.without_process_output().to_string();
            assert!(!shown.contains("hunter2"), "{shown}");
            assert!(shown.contains("exit status: 9"), "{shown}");
        }
    }
}
