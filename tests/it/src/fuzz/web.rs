//! The client over HTTP: whatever heads and bodies a server answers with, every request ends,
//! nothing goes to another origin, and nothing is left at the end.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Request, Response, StatusCode};
use http_body::{Body, Frame};
use serde_json::Value;
use tokio::runtime::Handle;
use tokio::time::{sleep, timeout};
use tower_service::Service;
use turnbuckle_http::{
    ClientRequestBody, HttpClientError, HttpClientOptions, HttpConnector, SseConnector,
};
use turnbuckle_session::transport::Connector;
use turnbuckle_wire::revision::Revision;

use super::converse::runtime;
use super::http::requests;
use super::user::User;
use super::written::{Written, cut};

const URL: &str = "http://peer.example/mcp";

/// The most words of an input.
const MAX_WORDS: usize = 8;

/// Bytes of a message that are taken.
const MAX_MESSAGE: usize = 4 << 10;

/// By when everything has ended, whatever the server does.
const AN_HOUR: Duration = Duration::from_secs(3600);

/// By when everything is gone after the end.
const A_WHILE: Duration = Duration::from_secs(60);

/// Headers that say how an answer comes: in pieces of so many bytes, and with which end.
const PIECES: &str = "x-pieces";
const END: &str = "x-end";

/// Names the session that the client is in.
const SESSION: &str = "mcp-session-id";

/// Runs the target on `input`: a line of words, the actions that the user begins (see
/// `User::begin`); and the HTTP responses to the client's requests, with `--` between them; see
/// `Written`. The first line of a response is its status. In a body `@` stands for the id of the
/// request. `x-pieces: N` cuts the body up, `x-end: break` or `hang` is how it ends. When there are
/// no more responses, connections are refused.
pub fn web(input: &[u8]) {
    let (words, answers) = cut(input, b'\n');
    let words: Vec<&[u8]> = words.split(|byte| *byte == b' ').take(MAX_WORDS).collect();
    let connector = |peer: &Peer| {
        let connector = HttpConnector::new(URL).expect("a URL");
        let options = HttpClientOptions::new().max_message_bytes(MAX_MESSAGE);
        connector
            .options(options.max_reconnects(20))
            .http_client(peer.clone())
    };
    for revision in [None, Some(Revision::NEWEST_LEGACY), Some(Revision::NEWEST)] {
        let peer = Peer::new(answers);
        runtime().block_on(act(&words, connector(&peer), revision));
    }
    let peer = Peer::new(answers);
    let older = SseConnector::new(connector(&peer));
    runtime().block_on(act(&words, older, Some(Revision::NEWEST_LEGACY)));
}

async fn act(words: &[&[u8]], connector: impl Connector, revision: Option<Revision>) {
    let mut user = User::connect(connector, revision);
    wait(&mut user).await;
    for word in words {
        user.begin(word).await;
        sleep(Duration::from_millis(1)).await;
    }
    wait(&mut user).await;
    if let Some(client) = user.client().await.cloned() {
        let closing = timeout(A_WHILE, client.close()).await;
        closing.expect("closing ends");
    }
    user.end().await;
    sleep(A_WHILE).await;
    let tasks = Handle::current().metrics().num_alive_tasks();
    assert_eq!(tasks, 0, "tasks are left");
}

/// Waits until no side waits for anything: neither the user, nor the server whose questions the
/// user is still thinking about.
async fn wait(user: &mut User) {
    let done = async {
        loop {
            let client = user.client().await;
            let asked = client.is_some_and(|it| it.in_flight() != Default::default());
            if user.is_done() && !asked {
                break;
            }
            sleep(Duration::from_secs(1)).await;
        }
    };
    timeout(AN_HOUR, done)
        .await
        .expect("something goes on for ever");
}

/// The server: what it will answer, and the sessions that it named.
#[derive(Clone)]
struct Peer(Arc<Mutex<State>>);

struct State {
    answers: VecDeque<Answer>,
    sessions: Vec<Vec<u8>>,
}

/// An answer as it was written.
struct Answer {
    status: StatusCode,
    headers: Vec<(HeaderName, HeaderValue)>,
    body: Vec<u8>,
    pieces: usize,
    end: Vec<u8>,
}

impl Answer {
    fn read(written: &Written<'_>) -> Option<Self> {
        let first = |name| written.values(name).next().map(<[u8]>::trim_ascii);
        let pieces = first(PIECES).and_then(|it| std::str::from_utf8(it).ok()?.parse().ok());
        let header = |(name, value): &(&[u8], &[u8])| {
            let name = HeaderName::from_bytes(name).ok()?;
            Some((name, HeaderValue::from_bytes(value.trim_ascii()).ok()?))
        };
        Some(Self {
            status: StatusCode::from_bytes(written.line.trim_ascii()).ok()?,
            headers: written.headers.iter().filter_map(header).collect(),
            body: written.body.to_vec(),
            pieces: pieces.unwrap_or(usize::MAX).max(1),
            end: first(END).unwrap_or_default().to_vec(),
        })
    }
}

impl Peer {
    fn new(answers: &[u8]) -> Self {
        let answers = requests(answers).filter_map(|written| Answer::read(&written));
        Self(Arc::new(Mutex::new(State {
            answers: answers.collect(),
            sessions: Vec::new(),
        })))
    }

    /// Looks at a request, and says what is written for it.
    fn answer(&self, request: &Request<ClientRequestBody>) -> Response<Script> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let uri = request.uri();
        let authority = uri.authority().expect("a whole URI").as_str();
        assert_eq!(
            (uri.scheme_str(), authority),
            (Some("http"), "peer.example")
        );
        for session in request.headers().get_all(SESSION) {
            let known = state.sessions.iter().any(|it| it == session.as_bytes());
            assert!(known, "a session that nobody opened: {session:?}");
        }
        let body = request.body().bytes();
        let message: Value = match body.is_empty() {
            true => Value::Null,
            false => serde_json::from_slice(body).expect("what is posted is JSON"),
        };
        let Some(answer) = state.answers.pop_front() else {
            let mut nothing = Response::new(Script::default());
            *nothing.status_mut() = StatusCode::NOT_FOUND;
            return nothing;
        };
        let id = message["id"].to_string();
        let mut bytes = Vec::new();
        for byte in answer.body {
            match byte {
                b'@' => bytes.extend_from_slice(id.as_bytes()),
                byte => bytes.push(byte),
            }
        }
        let mut response = Response::new(Script {
            pieces: bytes
                .chunks(answer.pieces)
                .map(Bytes::copy_from_slice)
                .collect(),
            end: answer.end,
        });
        *response.status_mut() = answer.status;
        for (name, value) in answer.headers {
            if name == SESSION {
                state.sessions.push(value.as_bytes().to_vec());
            }
            response.headers_mut().append(name, value);
        }
        response
    }
}

impl Service<Request<ClientRequestBody>> for Peer {
    type Response = Response<Script>;
    type Error = HttpClientError;
    type Future = std::future::Ready<Result<Response<Script>, HttpClientError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), HttpClientError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<ClientRequestBody>) -> Self::Future {
        std::future::ready(Ok(self.answer(&request)))
    }
}

/// A body as it was written.
#[derive(Default)]
struct Script {
    pieces: VecDeque<Bytes>,
    end: Vec<u8>,
}

impl Body for Script {
    type Data = Bytes;
    type Error = HttpClientError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, HttpClientError>>> {
        match (self.pieces.pop_front(), &self.end[..]) {
            (Some(piece), _) => Poll::Ready(Some(Ok(Frame::data(piece)))),
            (None, b"break") => {
                self.end.clear();
                Poll::Ready(Some(Err(HttpClientError::connection_lost(
                    "cut off under way",
                ))))
            }
            (None, b"hang") => Poll::Pending,
            (None, _) => Poll::Ready(None),
        }
    }
}
