//! A request in an exchange of its own, of which nothing is remembered: all of the modern era.
//!
//! Specification: basic/transports/streamable-http (2026-07-28).

use std::task::Context;

use http::HeaderMap;
use turnbuckle_session::{Answer, Opened};
use turnbuckle_types::{Error, Principal, RawJson, RequestId};
use turnbuckle_wire::era::Params;
use turnbuckle_wire::era::headers::{check, check_params};
use turnbuckle_wire::revision::{Method, Revision};
use turnbuckle_wire::rpc;

use super::endpoint::{Endpoint, Posted, modern_answer};
use super::waits::{Taken, Waits};
use crate::head::{Head, values_of};
use crate::reply::Reply;

impl Endpoint {
    pub(super) fn modern_refused(&self, id: &RequestId, error: Error) -> Reply {
        modern_answer(self.exchange.refuse(id, error, Revision::NEWEST))
    }

    pub(super) fn modern(
        &self,
        map: &HeaderMap,
        head: &Head<'_>,
        request: rpc::Request<'_, Params<'_>>,
        revision: Revision,
        posted: Posted<'_>,
        cx: &mut Context<'_>,
    ) -> Taken<'_> {
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
        answered: fn(Answer) -> Reply,
        cx: &mut Context<'_>,
    ) -> Taken<'_> {
        let delivery = posted.delivery();
        match self.exchange.open(request, revision, delivery, cx) {
            Opened::Answered(answer) => answered(answer).into(),
            Opened::Going(going) => Taken::Waits(Waits::exchange(self, going, answered)),
        }
    }

    fn check_headers(
        &self,
        map: &HeaderMap,
        head: &Head<'_>,
        request: &rpc::Request<'_, Params<'_>>,
        principal: Option<&Principal>,
    ) -> Result<(), Error> {
        check(&request.method, &request.params, head.method, head.name)?;
        if request.method != Method::CallTool.as_str() {
            return Ok(());
        }
        let Some(tool) = request.params.name.and_then(RawJson::text) else {
            return Ok(());
        };
        let declared = self.exchange.mirrored(&tool, principal)?;
        check_params(&declared, request.params.arguments, |name| {
            values_of(map, name)
        })
    }
}
