//! The HTTP+SSE transport of the first revision: one stream for all messages of the server, and an
//! endpoint to which the client POSTs.
//!
//! Specification: basic/transports, "HTTP with SSE" (2024-11-05).

use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use bytes::Bytes;
use http::header::ACCEPT;
use http::{HeaderMap, Method};
use tokio::task::JoinHandle;
use turnbuckle_session::handler::Signal;
use turnbuckle_session::transport::{
    Connector, Frame, Inbox, Link, LinkError, LinkFuture, LinkKind, OpenFuture, OutboundMessage,
    SendFuture, UserWaits,
};

use super::connector::HttpConnector;
use super::event_decoder::{Event, EventDecoder};
use super::exchange::drain_body;
use super::link_state::{EVENT_STREAM, base_post_headers, message_headers};
use super::remote_server::RemoteServer;
use super::response::{ContentType, read_error_response};
use super::response_body::ClientResponseBody;
use super::target::Target;

/// A connector to the server at a URL over the HTTP+SSE of the first revision, with the settings of
/// an [`HttpConnector`].
#[derive(Clone)]
pub struct SseConnector(HttpConnector);

impl SseConnector {
    /// Creates a connector to the server of `connector`.
    #[must_use]
    pub fn new(connector: HttpConnector) -> Self {
        Self(connector)
    }

    async fn connect(&self, inbox: Arc<dyn Inbox>) -> Result<Arc<dyn Link>, LinkError> {
        let remote = self.0.remote()?;
        let limit = remote.options.endpoint_timeout;
        let opening = open_stream(&remote, self.0.target());
        let opened = self.user_waits().timeout(limit, opening).await;
        let (stream, endpoint) = opened.unwrap_or_else(|| {
            let reason = format!(
                "no endpoint was named within {limit:?} (HttpClientOptions::endpoint_timeout)"
            );
            Err(LinkError::ProtocolViolation { reason })
        })?;
        Ok(Arc::new(SseLink::new(remote, stream, endpoint, inbox)))
    }
}

impl Connector for SseConnector {
    fn open(&self, inbox: Arc<dyn Inbox>) -> OpenFuture<'_> {
        Box::pin(self.connect(inbox))
    }

    fn link_kind(&self) -> LinkKind {
        LinkKind::Duplex
    }

    fn description(&self) -> String {
        self.0.description()
    }

    fn user_waits(&self) -> UserWaits {
        self.0.user_waits()
    }
}

impl fmt::Debug for SseConnector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SseConnector").field(&self.0).finish()
    }
}

/// The server's stream, and the position of the client in it.
struct EventStream {
    body: ClientResponseBody,
    chunk: Bytes,
    decoder: EventDecoder,
}

impl EventStream {
    /// Returns the next event.
    ///
    /// # Errors
    /// Returns the reason why the stream has ended.
    async fn next_event(&mut self) -> Result<Event, String> {
        loop {
            if let Some(event) = self.decoder.next_event(&mut self.chunk) {
                return Ok(event);
            }
            self.chunk = match self.body.next_chunk().await {
                Some(Ok(chunk)) => chunk,
                Some(Err(failure)) => return Err(failure.to_string()),
                None => return Err("the server ended the stream".to_owned()),
            };
        }
    }
}

/// Opens the stream and reads the endpoint from it.
async fn open_stream(
    remote: &RemoteServer,
    target: &Target,
) -> Result<(EventStream, Target), LinkError> {
    let headers = || {
        let mut headers = remote.headers.clone();
        headers.insert(ACCEPT, EVENT_STREAM);
        Ok(headers)
    };
    let sending = remote.send(&Method::GET, target, headers, Bytes::new());
    let (response, target) = sending.await?;
    if !response.status().is_success() {
        return Err(read_error_response(response, false).await.into_link_error());
    }
    match ContentType::from_headers(response.headers()) {
        ContentType::EventStream => {}
        media => return Err(media.to_unexpected_error()),
    }
    let mut stream = EventStream {
        body: response.into_body(),
        chunk: Bytes::new(),
        decoder: EventDecoder::new(remote.options.max_message_bytes),
    };
    loop {
        let reason = match stream.next_event().await {
            Ok(Event::Endpoint(reference)) => match resolve_endpoint(&target, &reference) {
                Ok(endpoint) => return Ok((stream, endpoint)),
                Err(reason) => reason,
            },
            Ok(Event::Other) => continue,
            Ok(_) => "a stream that does not begin with the endpoint".to_owned(),
            Err(reason) => return Err(LinkError::ConnectionLost { reason }),
        };
        return Err(LinkError::ProtocolViolation { reason });
    }
}

/// Resolves the endpoint that the server named, within its origin.
fn resolve_endpoint(target: &Target, reference: &[u8]) -> Result<Target, String> {
    let reference = std::str::from_utf8(reference).map_err(|_| "no text".to_owned());
    reference
        .and_then(|reference| {
            let resolved = target.resolve(reference);
            resolved.map_err(|error| error.to_string())
        })
        .map_err(|why| format!("an endpoint that cannot be used: {why}"))
}

/// A link over HTTP+SSE.
struct SseLink {
    state: Arc<SseLinkState>,
    /// The task that reads the stream.
    reader: Mutex<Option<JoinHandle<()>>>,
}

struct SseLinkState {
    remote: RemoteServer,
    posting: HeaderMap,
    endpoint: Target,
    closing: Signal,
    /// The reason why the stream ended, unless this side closed it.
    ended: OnceLock<String>,
}

impl SseLinkState {
    /// Returns the error for messages after the end.
    fn closed_error(&self) -> LinkError {
        match self.ended.get() {
            Some(reason) => LinkError::ConnectionLost {
                reason: reason.clone(),
            },
            None => LinkError::Closed,
        }
    }
}

impl SseLink {
    fn new(
        remote: RemoteServer,
        stream: EventStream,
        endpoint: Target,
        inbox: Arc<dyn Inbox>,
    ) -> Self {
        let state = Arc::new(SseLinkState {
            posting: base_post_headers(&remote),
            remote,
            endpoint,
            closing: Signal::new(),
            ended: OnceLock::new(),
        });
        let reader = tokio::spawn(read_stream(stream, inbox, state.clone()));
        Self {
            state,
            reader: Mutex::new(Some(reader)),
        }
    }
}

impl Link for SseLink {
    fn kind(&self) -> LinkKind {
        LinkKind::Duplex
    }

    fn network_transport(&self) -> &'static str {
        "tcp"
    }

    fn try_send(&self, message: OutboundMessage) -> Result<(), OutboundMessage> {
        Err(message)
    }

    fn send(&self, message: OutboundMessage) -> SendFuture {
        let state = self.state.clone();
        Box::pin(async move {
            tokio::select! {
                biased;
                () = state.closing.closing() => Err(state.closed_error()),
                posted = post_message(&state, message) => posted,
            }
        })
    }

    /// Returns `true`: a response may even come before the POST is answered.
    fn may_have_sent(&self) -> bool {
        true
    }

    fn close(&self) -> LinkFuture {
        self.state.closing.close();
        let reader = self.reader.lock();
        let reader = reader.unwrap_or_else(PoisonError::into_inner).take();
        Box::pin(async move {
            if let Some(reader) = reader {
                let _ = reader.await;
            }
        })
    }
}

impl Drop for SseLink {
    fn drop(&mut self) {
        self.state.closing.close();
    }
}

/// Hands the messages of the stream to the inbox, until the stream ends or the link is closed.
async fn read_stream(mut stream: EventStream, inbox: Arc<dyn Inbox>, state: Arc<SseLinkState>) {
    let read = async {
        loop {
            match stream.next_event().await {
                Ok(Event::Message(message)) => inbox.receive(Frame::Message(message), None),
                Ok(Event::TooLarge) => {
                    let limit = stream.decoder.max_message_bytes();
                    inbox.receive(Frame::TooLong { limit }, None);
                }
                Ok(Event::Endpoint(_) | Event::Other) => {}
                Err(reason) => return reason,
            }
        }
    };
    tokio::select! {
        biased;
        () = state.closing.closing() => {}
        reason = read => {
            let _ = state.ended.set(reason.clone());
            state.closing.close();
            inbox.fail(LinkError::ConnectionLost { reason });
        }
    }
}

async fn post_message(state: &SseLinkState, message: OutboundMessage) -> Result<(), LinkError> {
    let headers = || message_headers(&state.posting, &message.headers);
    let sending = state.remote.send(
        &Method::POST,
        &state.endpoint,
        headers,
        message.frame.into(),
    );
    let (response, _) = sending.await?;
    if !response.status().is_success() {
        return Err(read_error_response(response, false).await.into_link_error());
    }
    drain_body(response.into_body()).await;
    Ok(())
}
