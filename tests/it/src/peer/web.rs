//! A scripted server behind the seam below an HTTP connector: no socket is opened.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body::{Body, Frame};
use serde_json::Value;
use tokio::time::Sleep;
use tower_service::Service;
use turnbuckle_http::{ClientRequestBody, HttpClientError, HttpConnector};
use turnbuckle_wire::revision::EraKind;

use super::{Peer, ReceivedMessage, Step};
use crate::wires::BodyInPieces;

/// The peer's URL.
const URL: &str = "http://peer.example/mcp";

/// Pieces of a body that come at once before other tasks get their turn.
const BURST: usize = 64;

impl Peer {
    /// Returns a connector that reaches the peer over HTTP.
    ///
    /// # Panics
    /// Never: its URL is one.
    #[must_use]
    pub fn web(&self) -> HttpConnector {
        let connector = HttpConnector::new(URL).expect("a URL");
        connector.http_client(Web(self.clone()))
    }
}

#[derive(Clone)]
struct Web(Peer);

impl Service<Request<ClientRequestBody>> for Web {
    type Response = Response<Script>;
    type Error = HttpClientError;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Script>, HttpClientError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), HttpClientError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<ClientRequestBody>) -> Self::Future {
        let peer = &self.0;
        let message = serde_json::from_slice(request.body().bytes()).unwrap_or(Value::Null);
        let session = request.headers().get("mcp-session-id");
        let session = session.map(|id| id.to_str().expect("our own").parse().expect("our own"));
        let heard = ReceivedMessage {
            message,
            connection: session.unwrap_or_default(),
            verb: request.method().as_str().to_owned(),
        };
        let mut steps: VecDeque<_> = peer.handle(&heard).into();
        let mut head = head_of(&heard, &mut steps);
        if heard.method() == "initialize" && peer.revision().features().era == EraKind::Legacy {
            head.1.push(("mcp-session-id", peer.open().to_string()));
        }
        // Nothing of the answer comes before that has passed, not even its head.
        let mut before = Vec::new();
        while let Some(Step::Wait(_) | Step::Hang | Step::Break) = steps.front() {
            before.extend(steps.pop_front());
        }
        let body = Script {
            steps,
            said: BodyInPieces::default(),
            plain: head.2,
            burst: 0,
            wait: None,
            _standing: peer.stand(),
        };
        Box::pin(async move {
            for step in before {
                match step {
                    Step::Wait(time) => tokio::time::sleep(time).await,
                    Step::Break => {
                        return Err(HttpClientError::connection_lost("cut off before an answer"));
                    }
                    _ => std::future::pending().await,
                }
            }
            let mut response = Response::builder().status(head.0);
            for (name, value) in head.1 {
                response = response.header(name, value);
            }
            Ok(response.body(body).expect("a script has sound headers"))
        })
    }
}

/// Returns the status and the headers of an answer, and whether its messages are sent without SSE
/// framing.
fn head_of(
    heard: &ReceivedMessage,
    steps: &mut VecDeque<Step>,
) -> (u16, Vec<(&'static str, String)>, bool) {
    let typed = |media: &str| vec![("content-type", media.to_owned())];
    if let Some(Step::Head(..)) = steps.front()
        && let Some(Step::Head(status, headers)) = steps.pop_front()
    {
        return (status, headers, false);
    }
    if steps.is_empty() {
        let status = match heard.verb.as_str() {
            "POST" => 202,
            "DELETE" => 200,
            _ => 405,
        };
        return (status, Vec::new(), true);
    }
    match steps.make_contiguous() {
        [Step::Say(_)] => (200, typed("application/json"), true),
        _ => (200, typed("text/event-stream"), false),
    }
}

/// A body that a script writes.
struct Script {
    steps: VecDeque<Step>,
    /// Body that is being sent.
    said: BodyInPieces,
    plain: bool,
    burst: usize,
    wait: Option<Pin<Box<Sleep>>>,
    _standing: Arc<()>,
}

impl Script {
    fn wait(&mut self, time: Duration) {
        self.wait = Some(Box::pin(tokio::time::sleep(time)));
    }
}

impl Body for Script {
    type Data = Bytes;
    type Error = HttpClientError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, HttpClientError>>> {
        if self.burst == BURST {
            self.burst = 0;
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        self.burst += 1;
        loop {
            if let Poll::Ready(Some(Ok(frame))) = Pin::new(&mut self.said).poll_frame(cx) {
                return Poll::Ready(Some(Ok(frame)));
            }
            if let Some(wait) = &mut self.wait {
                std::task::ready!(wait.as_mut().poll(cx));
                self.wait = None;
            }
            let said: Bytes = match self.steps.pop_front() {
                None => return Poll::Ready(None),
                Some(Step::Say(message)) if self.plain => message.to_string().into(),
                Some(Step::Say(message)) => format!("data: {message}\n\n").into(),
                Some(Step::Write(bytes)) => bytes,
                Some(Step::Repeat(_, 0, _)) => continue,
                Some(Step::Repeat(bytes, times, apart)) => {
                    let rest = Step::Repeat(bytes.clone(), times - 1, apart);
                    self.steps.push_front(rest);
                    if !apart.is_zero() {
                        self.wait(apart);
                    }
                    bytes
                }
                Some(Step::Wait(time)) => {
                    self.wait(time);
                    continue;
                }
                Some(Step::Hang) => {
                    self.steps.push_front(Step::Hang);
                    return Poll::Pending;
                }
                Some(Step::Break) => {
                    return Poll::Ready(Some(Err(HttpClientError::connection_lost(
                        "cut off under way",
                    ))));
                }
                Some(Step::Head(..)) => unreachable!("a head comes first"),
            };
            self.said.go_on(said);
        }
    }
}
