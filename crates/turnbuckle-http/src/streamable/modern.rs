//! The modern era: a request is an exchange of its own, and nothing is remembered.
//!
//! Specification: basic/transports/streamable-http (2026-07-28).

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use http::HeaderMap;
use turnbuckle_session::{Answer, Method, Opened, Outbox, OutboxLimits, Params, Revision, Route};
use turnbuckle_types::{Error, Principal, RequestId};
use turnbuckle_wire::era::headers::{check, check_params};
use turnbuckle_wire::era::params::text as text_of;
use turnbuckle_wire::rpc;

use super::Events;
use super::endpoint::{Endpoint, Posted, modern_answer};
use super::events::CancelOnDrop;
use crate::body::ResponseBody;
use crate::event;
use crate::head::{Head, values_of};
use crate::reply::{Reply, stream};

impl Endpoint {
    pub(super) fn modern_refused(&self, id: &RequestId, error: Error) -> Reply {
        modern_answer(self.exchange.refuse(id, error, Revision::NEWEST))
    }

    pub(super) async fn modern(
        &self,
        map: &HeaderMap,
        head: &Head<'_>,
        request: rpc::Request<'_, Params<'_>>,
        revision: Revision,
        posted: Posted<'_>,
    ) -> Reply {
        if let Err(error) =
            self.check_headers(map, head, &request, posted.transport.principal.as_deref())
        {
            return modern_answer(self.exchange.refuse(&request.id, error, revision));
        }
        let outbox = Arc::new(Outbox::new(OutboxLimits {
            bytes: self.config.limits.queue_bytes,
            ..OutboxLimits::default()
        }));
        let route: Arc<dyn Route> = outbox.clone();
        let delivery = posted.delivery(&route);
        let mut request = Some(request);
        let opened = poll_fn(|cx| {
            let request = request.take();
            Poll::Ready(request.map(|request| self.exchange.open(request, revision, delivery, cx)))
        });
        match opened.await {
            Some(Opened::Answered(answer)) if outbox.is_empty() => modern_answer(answer),
            Some(Opened::Answered(answer)) => at_once(&outbox, &answer).await,
            Some(Opened::Running(signal)) => {
                self.wait(CancelOnDrop(signal, outbox.clone()), outbox)
                    .await
            }
            None => stream(ResponseBody::empty()),
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
        let Some(tool) = request.params.name.and_then(text_of) else {
            return Ok(());
        };
        let declared = self.exchange.mirrored(&tool, principal)?;
        check_params(&declared, request.params.arguments, |name| {
            values_of(map, name)
        })
    }

    /// Waits a while for the answer: alone it is JSON, behind anything else or late it is a stream.
    async fn wait(&self, cancel: CancelOnDrop, outbox: Arc<Outbox>) -> Reply {
        let first = poll_fn(|cx| outbox.poll_next(cx));
        let head = match tokio::time::timeout(self.config.json_wait, first).await {
            Ok(Some(Err(answer))) => return modern_answer(answer),
            Ok(Some(Ok(frame))) => Some(event::message(&frame).into()),
            Ok(None) => return stream(ResponseBody::empty()),
            Err(_) => None,
        };
        let keep_alive = self.config.keep_alive;
        stream(ResponseBody::events(Events::of_exchange(
            head, outbox, cancel, keep_alive,
        )))
    }
}

/// What was said before the answer, and the answer, in one write.
async fn at_once(outbox: &Outbox, answer: &Answer) -> Reply {
    let mut events = Vec::with_capacity(answer.frame.len() + 512);
    outbox.done(None);
    while let Some(Ok(frame)) = poll_fn(|cx| outbox.poll_next(cx)).await {
        event::append_message(&mut events, &frame);
    }
    event::append_message(&mut events, &answer.frame);
    stream(ResponseBody::full(events))
}
