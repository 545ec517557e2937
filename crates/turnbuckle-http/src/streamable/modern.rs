//! A request in an exchange of its own, of which nothing is remembered: all of the modern era.
//!
//! Specification: basic/transports/streamable-http (2026-07-28).

use std::task::Context;

use http::HeaderMap;
use turnbuckle_session::{EncodedResponse, ExchangeOutcome};
use turnbuckle_types::{Error, Principal, RawJson, RequestId};
use turnbuckle_wire::era::Params;
use turnbuckle_wire::era::headers::{check_headers, check_param_headers};
use turnbuckle_wire::revision::{Method, Revision};
use turnbuckle_wire::rpc;

use super::endpoint::{Posted, StreamableEndpoint, modern_answer};
use super::pending_post::{PendingPost, PostOutcome};
use crate::head::{RequestHeaders, header_values};
use crate::reply::HttpReply;

impl StreamableEndpoint {
    pub(super) fn modern_refused(&self, id: &RequestId, error: Error) -> HttpReply {
        modern_answer(self.exchange.refuse(id, error, Revision::NEWEST))
    }

    pub(super) fn modern(
        &self,
        map: &HeaderMap,
        head: &RequestHeaders<'_>,
        request: rpc::Request<'_, Params<'_>>,
        revision: Revision,
        posted: Posted<'_>,
        cx: &mut Context<'_>,
    ) -> PostOutcome<'_> {
        let principal = posted.transport.principal.as_deref();
        if let Err(error) = self.check_headers(map, head, &request, principal) {
            return modern_answer(self.exchange.refuse(&request.id, error, revision)).into();
        }
        self.exchange(request, revision, posted, modern_answer, cx)
    }

    /// Answers a request in an exchange of its own.
    pub(super) fn exchange(
        &self,
        request: rpc::Request<'_, Params<'_>>,
        revision: Revision,
        posted: Posted<'_>,
        answered: fn(EncodedResponse) -> HttpReply,
        cx: &mut Context<'_>,
    ) -> PostOutcome<'_> {
        let delivery = posted.delivery();
        match self.exchange.open(request, revision, delivery, cx) {
            ExchangeOutcome::Response(answer) => answered(answer).into(),
            ExchangeOutcome::Streaming(going) => {
                PostOutcome::PendingPost(PendingPost::exchange(self, going, answered))
            }
        }
    }

    fn check_headers(
        &self,
        map: &HeaderMap,
        head: &RequestHeaders<'_>,
        request: &rpc::Request<'_, Params<'_>>,
        principal: Option<&Principal>,
    ) -> Result<(), Error> {
        check_headers(&request.method, &request.params, head.method, head.name)?;
        if request.method != Method::CallTool.as_str() {
            return Ok(());
        }
        let Some(tool) = request.params.name.and_then(RawJson::text) else {
            return Ok(());
        };
        let declared = self.exchange.mirrored(&tool, principal)?;
        check_param_headers(&declared, request.params.arguments, |name| {
            header_values(map, name)
        })
    }
}
