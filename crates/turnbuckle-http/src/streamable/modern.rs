//! Requests of the modern era, each in an exchange of its own.
//!
//! Specification: basic/transports/streamable-http (2026-07-28).

use http::HeaderMap;
use turnbuckle_session::internal::{EncodedResponse, ExchangeOutcome, InboundFrame};
use turnbuckle_wire::era::Params;
use turnbuckle_wire::era::headers::{HeaderSource, HeaderValues, check_headers, mirrored_name};
use turnbuckle_wire::era::params::raw_param;
use turnbuckle_wire::revision::{Method, MethodRole, Party, Revision};
use turnbuckle_wire::rpc;

use super::endpoint::{RequestSender, StreamableEndpoint, modern_reply};
use super::legacy::exceeded_listening;
use super::pending_post::{PendingPost, PostOutcome};
use crate::reply::HttpReply;
use crate::request::head::{RequestHeaders, header_values};
use crate::shares::Share;

impl StreamableEndpoint {
    /// Serves a request of the modern era.
    pub(super) fn post_modern(
        &self,
        map: &HeaderMap,
        head: &RequestHeaders<'_>,
        request: &rpc::Request<'_, Params<'_>>,
        revision: Revision,
        frame: InboundFrame<'_>,
        sender: RequestSender<'_>,
    ) -> PostOutcome<'_> {
        let RequestHeaders { method, name, .. } = *head;
        let core = Method::parse(&request.method)
            .filter(|method| method.is_received_by(Party::Server, revision));
        let mirrored = match core {
            Some(method) => mirrored_name(method, &request.params),
            None => {
                let member = self.server.dispatch().mirrored_param(&request.method);
                member.map(|member| raw_param(frame.text, member))
            }
        };
        if let Err(error) = check_headers(&request.method, mirrored, method, name) {
            let refused = self
                .server
                .refuse(request, error, revision, frame.transport);
            return modern_reply(refused).into();
        }
        let headers = RequestHeaderSource(map);
        let frame = InboundFrame {
            headers: Some(&headers),
            ..frame
        };
        let mut share = None;
        if Method::role_of(&request.method) == MethodRole::Subscription {
            match self.listening.take(self.identify(sender)) {
                Ok(taken) => share = Some(taken),
                Err(exceeded) => return exceeded_listening(exceeded).into(),
            }
        }
        self.serve_exchange(request, revision, frame, modern_reply, share)
    }

    /// Serves a request of either era in an exchange of its own. `to_reply` makes the reply if it is
    /// JSON. `share` is the place of a stream on which the client listens.
    pub(super) fn serve_exchange(
        &self,
        request: &rpc::Request<'_, Params<'_>>,
        revision: Revision,
        frame: InboundFrame<'_>,
        to_reply: fn(EncodedResponse) -> HttpReply,
        share: Option<Share>,
    ) -> PostOutcome<'_> {
        match self.server.serve(request, revision, frame) {
            ExchangeOutcome::Response(response) => to_reply(response).into(),
            ExchangeOutcome::Streaming(stream) => {
                PostOutcome::Pending(PendingPost::exchange(self, stream, to_reply, share))
            }
        }
    }
}

/// The headers of a request, for the check of arguments that they mirror.
struct RequestHeaderSource<'m>(&'m HeaderMap);

impl HeaderSource for RequestHeaderSource<'_> {
    fn values(&self, name: &str) -> HeaderValues<'_> {
        header_values(self.0, name)
    }
}
