//! A request in an exchange of its own, of which nothing is remembered: all of the modern era.
//!
//! Specification: basic/transports/streamable-http (2026-07-28).

use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;

use http::HeaderMap;
use turnbuckle_session::{Answer, Exchanged, Method, Opened, Params, Revision};
use turnbuckle_types::{Error, Principal, RequestId};
use turnbuckle_wire::era::headers::{check, check_params};
use turnbuckle_wire::era::params::text as text_of;
use turnbuckle_wire::rpc;

use super::Events;
use super::endpoint::{Endpoint, Posted, modern_answer};
use crate::body::ResponseBody;
use crate::config::Config;
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
        self.exchange(request, revision, posted, modern_answer)
            .await
    }

    /// Answers a request in an exchange of its own.
    pub(super) async fn exchange(
        &self,
        request: rpc::Request<'_, Params<'_>>,
        revision: Revision,
        posted: Posted<'_>,
        answered: fn(Answer) -> Reply,
    ) -> Reply {
        let mut request = Some(request);
        let opened = poll_fn(|cx| {
            let open = |request| self.exchange.open(request, revision, posted.delivery(), cx);
            Poll::Ready(request.take().map(open))
        });
        match opened.await {
            Some(Opened::Answered(answer)) => answered(answer),
            Some(Opened::Going(going)) => self.wait(going, answered).await,
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
    async fn wait(&self, mut going: Exchanged, answered: fn(Answer) -> Reply) -> Reply {
        let Config {
            json_wait,
            keep_alive,
            ref limits,
            ..
        } = *self.config;
        if limits.handler_deadline <= json_wait {
            going.detach();
        }
        let mut first = poll_fn(|cx| going.poll_next(cx));
        // What is there already needs no clock.
        let first = match poll_fn(|cx| Poll::Ready(Pin::new(&mut first).poll(cx))).await {
            Poll::Ready(first) => Ok(first),
            Poll::Pending => tokio::time::timeout(json_wait, first).await,
        };
        let mut events = Vec::new();
        match first {
            Ok(Some(Err(answer))) => return answered(answer),
            Ok(Some(Ok(frame))) => event::append_message(&mut events, &frame),
            Ok(None) => return stream(ResponseBody::empty()),
            Err(_) => {}
        }
        // What is there with it leaves with it.
        loop {
            match poll_fn(|cx| Poll::Ready(going.poll_next(cx))).await {
                Poll::Ready(Some(Ok(frame))) => event::append_message(&mut events, &frame),
                Poll::Ready(Some(Err(answer))) => {
                    event::append_message(&mut events, &answer.into_frame());
                    return stream(ResponseBody::full(events));
                }
                Poll::Ready(None) => return stream(ResponseBody::full(events)),
                Poll::Pending => break,
            }
        }
        going.detach();
        let head = (!events.is_empty()).then(|| events.into());
        stream(ResponseBody::events(Events::of_exchange(
            head, going, keep_alive,
        )))
    }
}
