//! Audit records of requests that are refused before their messages are served.

use std::time::Instant;

use http::Extensions;
use turnbuckle_session::internal::{RefusedSender, ServerEndpoint};

use super::HttpReply;
use crate::request::principal;
use crate::shares::{ConnectionInfo, find_address};

/// The audit log of an endpoint while one of its requests is answered: its heads, sizes, shares and
/// malformed messages. Requests that reach the server are recorded there.
#[derive(Clone, Copy)]
pub(crate) struct RefusalLog<'a>(Option<(&'a ServerEndpoint, Instant)>);

impl<'a> RefusalLog<'a> {
    /// Begins with a request. Without an audit log no clock is read.
    pub(crate) fn start(server: &'a ServerEndpoint) -> Self {
        Self(server.has_audit().then(|| (server, Instant::now())))
    }

    /// Records the request, if the reply refuses it.
    pub(crate) fn record(
        self,
        reply: &HttpReply,
        extensions: &Extensions,
        connection: Option<&ConnectionInfo>,
    ) {
        if let Self(Some((server, start))) = self
            && let Some(outcome) = reply.refusal()
        {
            let principal = principal::from_extensions(extensions);
            let sender = RefusedSender {
                principal: principal.as_deref(),
                address: find_address(extensions, connection).map(|address| address.0),
            };
            server.audit_refusal(sender, outcome, start);
        }
    }
}
