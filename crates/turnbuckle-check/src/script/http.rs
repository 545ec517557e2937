//! Answers requests of HTTP with the steps of a script. No socket is opened.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body::{Body, Frame};
use serde_json::Value;
use tokio::time::Sleep;
use turnbuckle_wire::revision::EraKind;

use super::{OpenGuard, Peer, ReceivedMessage, Step};

/// Frames of a body that come at once before other tasks get their turn.
const BURST: usize = 64;

impl Peer {
    /// Answers a request. The script runs at once; the returned future waits as long as the script lets
    /// the head of the response wait, and fails where the script breaks the exchange before it.
    pub fn respond(
        &self,
        request: &Request<Bytes>,
    ) -> impl Future<Output = io::Result<Response<ScriptBody>>> + Send + use<> {
        let session = request.headers().get("mcp-session-id");
        let session = session.and_then(|id| id.to_str().ok()?.parse().ok());
        let received = ReceivedMessage {
            message: serde_json::from_slice(request.body()).unwrap_or(Value::Null),
            connection: session.unwrap_or_default(),
            verb: request.method().as_str().to_owned(),
        };
        let mut steps: VecDeque<_> = self.react(&received).into();
        let mut head = head_of(&received, &mut steps);
        if received.method() == "initialize" && self.revision().features().era == EraKind::Legacy {
            head.1.push(("mcp-session-id", self.open().to_string()));
        }
        // Nothing of the answer comes before that has passed, not even its head.
        let mut before = Vec::new();
        while let Some(Step::Wait(_) | Step::Hang | Step::Break) = steps.front() {
            before.extend(steps.pop_front());
        }
        let body = ScriptBody {
            steps,
            plain: head.2,
            burst: 0,
            wait: None,
            _guard: self.open_guard(),
        };
        async move {
            for step in before {
                match step {
                    Step::Wait(time) => tokio::time::sleep(time).await,
                    Step::Break => return Err(io::Error::other("cut off before an answer")),
                    _ => std::future::pending().await,
                }
            }
            let mut response = Response::builder().status(head.0);
            for (name, value) in head.1 {
                response = response.header(name, value);
            }
            response.body(body).map_err(io::Error::other)
        }
    }
}

/// Returns the status and the headers of an answer, and whether its messages are sent without SSE
/// framing.
fn head_of(
    received: &ReceivedMessage,
    steps: &mut VecDeque<Step>,
) -> (u16, Vec<(&'static str, String)>, bool) {
    let typed = |media: &str| vec![("content-type", media.to_owned())];
    if let Some(Step::Head(..)) = steps.front()
        && let Some(Step::Head(status, headers)) = steps.pop_front()
    {
        return (status, headers, false);
    }
    if steps.is_empty() {
        let status = match received.verb.as_str() {
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

/// A body that a script writes. Each frame is one write of the script.
pub struct ScriptBody {
    steps: VecDeque<Step>,
    plain: bool,
    burst: usize,
    wait: Option<Pin<Box<Sleep>>>,
    _guard: OpenGuard,
}

impl ScriptBody {
    fn wait(&mut self, time: Duration) {
        self.wait = Some(Box::pin(tokio::time::sleep(time)));
    }
}

impl Body for ScriptBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        if self.burst == BURST {
            self.burst = 0;
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        self.burst += 1;
        loop {
            if let Some(wait) = &mut self.wait {
                std::task::ready!(wait.as_mut().poll(cx));
                self.wait = None;
            }
            let bytes: Bytes = match self.steps.pop_front() {
                None => return Poll::Ready(None),
                Some(Step::Say(message)) if self.plain => message.to_string().into(),
                Some(Step::Say(message)) => format!("data: {message}\n\n").into(),
                Some(Step::Write(bytes)) => bytes,
                Some(Step::Repeat(_, 0, _) | Step::Head(..)) => continue,
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
                    return Poll::Ready(Some(Err(io::Error::other("cut off under way"))));
                }
            };
            return Poll::Ready(Some(Ok(Frame::data(bytes))));
        }
    }
}
