//! What comes from the server, message by message.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

use bytes::Bytes;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;
use turnbuckle_types::{
    CancelledParams, EmptyResult, Error, ErrorKind, ProgressParams, ProgressToken, RequestId,
};
use turnbuckle_wire::era::params::raw_params;
use turnbuckle_wire::era::{Params, Reply};
use turnbuckle_wire::revision::{EraKind, Features, Method, Party, Revision};
use turnbuckle_wire::rpc::{self, Message, RefusalKind};

use super::{AskError, Conversation, RawResult, ServerRequest};
use crate::client::link::{Inbox, LinkError, LinkKind, ParcelKind};
use crate::server::request::{answer, method_of};
use crate::shared::driver;
use crate::shared::kernel::{Heard as Meant, Step};
use crate::{Call, Frame, Notice};

/// What the link holds of a conversation: it does not keep it alive.
pub(super) struct Door(pub(super) Weak<Conversation>);

impl Inbox for Door {
    fn receive(&self, frame: Frame, exchange: Option<&RequestId>) {
        // What a connection that was given up still says concerns nobody.
        let Some(conversation) = self.0.upgrade().filter(|open| !open.is_lost()) else {
            return;
        };
        match frame {
            Frame::Message(frame) => conversation.take(&frame, exchange),
            Frame::TooLong { limit } => conversation.too_long(limit, exchange),
        }
    }

    fn awaits(&self, id: &RequestId) -> bool {
        self.0
            .upgrade()
            .is_some_and(|conversation| conversation.kernel().waiting(id).is_some())
    }

    fn lost(&self, why: LinkError) {
        if let Some(conversation) = self.0.upgrade() {
            conversation.end(why);
        }
    }
}

impl Conversation {
    fn take(&self, frame: &Bytes, exchange: Option<&RequestId>) {
        let Ok(text) = std::str::from_utf8(frame) else {
            return self.skip("bytes that are not UTF-8");
        };
        if rpc::is_batch(text) {
            match rpc::elements(text, self.limits.batch) {
                Ok(elements) => {
                    for element in elements {
                        self.message(frame, element, exchange);
                    }
                }
                Err(refusal) => {
                    if refusal.kind == RefusalKind::NotAMessage {
                        let limit = self.limits.batch;
                        tracing::warn!(
                            limit,
                            "a batch of the server was too long (ConversationLimits::batch) and is skipped"
                        );
                    }
                    self.skip(text);
                }
            }
            return;
        }
        self.message(frame, text, exchange);
    }

    fn message(&self, frame: &Bytes, text: &str, exchange: Option<&RequestId>) {
        match rpc::decode::<Params<'_>>(text) {
            Ok(Message::Response(response)) => {
                let id = match (&response.id, &response.outcome) {
                    // Where the server could not read the id, the exchange tells.
                    (None, Err(_)) => exchange,
                    (id, _) => id.as_ref(),
                };
                let outcome = match response.outcome {
                    Ok(result) => Ok(RawResult::new(frame, result.as_str())),
                    Err(error) => Err(AskError::Refused(error)),
                };
                self.deliver(id, outcome);
            }
            Ok(Message::Notification(notification)) => {
                self.notification(&notification, text);
            }
            Ok(Message::Request(request)) => self.request(request, text),
            Err(_) => self.skip(text),
        }
    }

    fn deliver(&self, id: Option<&RequestId>, outcome: Result<RawResult, AskError>) {
        let Some(pending) = self.kernel().response(id) else {
            tracing::debug!(?id, "an answer to a request that nobody made");
            return;
        };
        pending.awaited.arrive(outcome);
    }

    fn skip(&self, text: &str) {
        let count = self.noise.fetch_add(1, Ordering::Relaxed) + 1;
        let beginning: String = text.chars().take(80).collect();
        if count == 1 {
            tracing::warn!(
                beginning,
                "the server wrote something that is no message; it is skipped, and so is more of it"
            );
        }
        driver::tell(|| self.host.noise(count, &beginning));
    }

    fn notification(&self, notification: &rpc::Notification<'_, Params<'_>>, text: &str) {
        let method = Method::parse(&notification.method);
        if method == Some(Method::Progress) {
            return self.progress(text);
        }
        let named = notification
            .params
            .request_id
            .and_then(|raw| RequestId::from_json(raw.as_str()));
        let meant = self.kernel().notification(method, named.as_ref());
        match meant {
            Meant::Cancel(signal) => {
                log_reason(text);
                signal.cancel();
            }
            Meant::Other => {
                let name = &*notification.method;
                driver::tell(|| self.host.notified(Notice { method, name, text }));
            }
            // What cancels nothing of the server's may end a stream that this side opened.
            Meant::Ignored if method == Some(Method::Cancelled) => {
                let name = &*notification.method;
                driver::tell(|| self.host.notified(Notice { method, name, text }));
            }
            Meant::Initialized | Meant::Ignored => {}
        }
    }

    fn progress(&self, text: &str) {
        let params: Option<ProgressParams> = raw_params(text).and_then(|raw| raw.decode().ok());
        let Some(params) = params else { return };
        let id = match &params.progress_token {
            ProgressToken::Int(number) => RequestId::from(*number),
            _ => return,
        };
        let listener = {
            let kernel = self.kernel();
            let Some(pending) = kernel.waiting(&id) else {
                return;
            };
            pending.awaited.heard();
            pending.listener.clone()
        };
        if let Some(listener) = listener {
            driver::tell(|| listener.progress(params));
        }
    }

    fn request(&self, request: rpc::Request<'_, Params<'_>>, text: &str) {
        let Some(me) = self.me.upgrade() else { return };
        let reply = |features, reply: Reply| {
            let frame = answer(&request.id, &reply, features, None).into_frame();
            me.clone().reply(frame);
        };
        let Some(features) = self.features() else {
            let early = Error::new(ErrorKind::NotAMessage, "the handshake is not over");
            let features = Revision::NEWEST_LEGACY.features();
            return match &*request.method == Method::Ping.as_str() {
                true => reply(features, Reply::complete(EmptyResult::new())),
                false => reply(features, early.into()),
            };
        };
        if features.era == EraKind::Modern {
            tracing::debug!(method = %request.method, "a modern server must not send requests");
            return;
        }
        let method = match method_of(&request.method, Party::Client, features) {
            Ok(method) => method,
            Err(error) => return reply(features, error.into()),
        };
        let asked = ServerRequest::new(request.id.clone());
        let step = {
            let mut kernel = self.kernel();
            if self.is_lost() {
                return;
            }
            let step = kernel.request(&request.id, method, features.era);
            match step {
                Step::Serve => kernel
                    .begin(request.id.clone(), asked.signal().clone())
                    .map_or_else(Step::Refuse, |()| Step::Serve),
                step => step,
            }
        };
        match step {
            Step::Pong => reply(features, Reply::complete(EmptyResult::new())),
            Step::Refuse(error) => reply(features, error.into()),
            Step::Open => reply(features, Error::unknown_method(&request.method).into()),
            Step::Serve => {
                let (method, text) = (request.method.into_owned(), text.to_owned());
                driver::run_until_done(me.serve(method, text, asked, features));
            }
        }
    }

    /// Answers one request of the server.
    async fn serve(
        self: Arc<Self>,
        name: String,
        text: String,
        asked: ServerRequest,
        features: &'static Features,
    ) {
        let id = asked.id().clone();
        let reply = match rpc::decode::<Params<'_>>(&text) {
            Ok(Message::Request(request)) => {
                let call = Call {
                    method: Method::parse(&name),
                    name: &name,
                    params: &request.params,
                    text: &text,
                };
                driver::answer(&*self.host, call, asked, self.limits.answer_deadline).await
            }
            _ => None,
        };
        *self.last_answered() = Instant::now();
        let wanted = self.kernel().finish(&id).is_some();
        if let Some(reply) = reply.filter(|_| wanted)
            && let Some(_place) = self.place()
        {
            self.respond(answer(&id, &reply, features, None).into_frame())
                .await;
        }
    }

    /// A place among the answers that wait to be taken. A server that asks and does not take its
    /// answers gets no more of them.
    fn place(&self) -> Option<OwnedSemaphorePermit> {
        let place = self.replies.clone().try_acquire_owned();
        place
            .inspect_err(|_| {
                tracing::debug!(
                    "the server does not take its answers: one is dropped (ConversationLimits::replies)"
                )
            })
            .ok()
    }

    /// Sends an answer that is there already.
    fn reply(self: Arc<Self>, frame: Vec<u8>) {
        if let Some(place) = self.place() {
            driver::run_until_done(async move {
                self.respond(frame).await;
                drop(place);
            });
        }
    }

    async fn respond(&self, frame: Vec<u8>) {
        let responding = self.carry(frame, ParcelKind::Response, "");
        match driver::in_time(self.limits.reply_time, responding).await {
            Some(Ok(())) => {}
            Some(Err(error)) => {
                tracing::debug!(%error, "an answer to the server could not be sent");
            }
            None => tracing::debug!(
                "the server did not take an answer in time (ConversationLimits::reply_time)"
            ),
        }
    }

    /// A frame over the cap was skipped. On an exchange it was that request's. On a pipe it may
    /// have been anything: where only one request waits, that one is not left to wait for an answer
    /// that may have been skipped; those that stay open, as subscriptions do, count only where there
    /// is no other. It is a guess, so the request stays among those that wait until whoever made it
    /// takes it back.
    fn too_long(&self, limit: usize, exchange: Option<&RequestId>) {
        tracing::warn!(limit, "a message of the server was too long and is skipped");
        let mut kernel = self.kernel();
        let awaited = match (exchange, self.kind()) {
            (Some(id), _) => kernel.response(Some(id)).map(|pending| pending.awaited),
            (None, LinkKind::Duplex) => {
                let waiting = || kernel.waiting_ones().map(|pending| &pending.awaited);
                let ending = waiting().filter(|awaited| awaited.has_deadline());
                only(ending).or_else(|| only(waiting())).cloned()
            }
            // Its answers come on exchanges of their own.
            (None, LinkKind::Exchange) => None,
        };
        drop(kernel);
        if let Some(awaited) = awaited {
            let error = LinkError::TooLarge { limit };
            awaited.arrive(Err(AskError::Link { error, sent: true }));
        }
    }
}

/// The one that there is, if there is no other.
fn only<T>(mut of: impl Iterator<Item = T>) -> Option<T> {
    of.next().filter(|_| of.next().is_none())
}

/// Says why a server took a question back.
fn log_reason(text: &str) {
    let params = raw_params(text).and_then(|raw| raw.decode().ok());
    let reason = params.and_then(|params: CancelledParams| params.reason);
    let reason: Option<String> = reason.map(|text| text.chars().take(256).collect());
    tracing::debug!(?reason, "the server took a question back");
}
