//! HTTP+SSE, the transport of the first revision: one stream, and a POST per frame.

use bytes::Bytes;
use http::{Uri, header};
use http_body_util::BodyExt;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::ask::{ask_request, pass_on, with_body};
use super::{Arrival, EventReader, Link, ProbeError};
use crate::target::{BoxFuture, Endpoint};

/// Arrivals that wait to be taken.
const QUEUE: usize = 1 << 16;

/// A connection, opened when it is first used.
pub struct SseLink {
    endpoint: Endpoint,
    stream: Option<Stream>,
}

struct Stream {
    /// Endpoint to which frames are posted.
    messages: Endpoint,
    arrived: mpsc::Receiver<Arrival>,
    /// For what is said in the response to a POST.
    arrives: mpsc::WeakSender<Arrival>,
    reading: JoinHandle<()>,
}

impl SseLink {
    /// Creates the client's end of a stream.
    #[must_use]
    pub fn new(endpoint: Endpoint) -> Self {
        Self {
            endpoint,
            stream: None,
        }
    }

    /// Returns the URL to which messages are posted, once the stream is open.
    #[must_use]
    pub fn messages_uri(&self) -> Option<&Uri> {
        self.stream.as_ref().map(|stream| &stream.messages.uri)
    }

    /// Opens the stream unless it is open.
    ///
    /// # Errors
    /// Fails if the endpoint does not open one, or does not say first where to post.
    pub async fn open(&mut self) -> Result<(), ProbeError> {
        self.stream().await.map(drop)
    }

    async fn stream(&mut self) -> Result<&mut Stream, ProbeError> {
        let stream = match self.stream.take() {
            Some(stream) => stream,
            None => connect(&self.endpoint).await?,
        };
        Ok(self.stream.insert(stream))
    }
}

async fn connect(endpoint: &Endpoint) -> Result<Stream, ProbeError> {
    let request = ask_request(endpoint, "GET").header(header::ACCEPT, "text/event-stream");
    let response = endpoint
        .exchange
        .send(with_body(request, Bytes::new()))
        .await?;
    let (head, mut body) = response.into_parts();
    if !head.status.is_success() {
        return Err(ProbeError::Status {
            status: head.status.as_u16(),
            beginning: String::new(),
            challenge: head
                .headers
                .get(header::WWW_AUTHENTICATE)
                .and_then(|value| value.to_str().ok())
                .map(str::to_owned),
        });
    }
    let mut reader = EventReader::default();
    let first = loop {
        if let Some(event) = reader.next_event() {
            if event.data.is_none() {
                continue;
            }
            break event;
        }
        let closed = || ProbeError::Closed {
            what: "the event `endpoint`".into(),
        };
        let frame = body.frame().await.ok_or_else(closed)??;
        if let Ok(data) = frame.into_data() {
            reader.push(&data)?;
        }
    };
    let wrong = |what: String| ProbeError::Io(what);
    if first.kind.as_deref() != Some("endpoint") {
        return Err(wrong(
            "the first event of the stream is not `endpoint`".into(),
        ));
    }
    let place = first.message().unwrap_or_default();
    let uri = resolve(&endpoint.uri, place)
        .ok_or_else(|| wrong(format!("the event `endpoint` names another host: {place}")))?;
    let (arrives, arrived) = mpsc::channel(QUEUE);
    let weak = arrives.downgrade();
    let reading = tokio::spawn(async move {
        loop {
            while let Some(event) = reader.next_event() {
                if let Some(message) = event.message() {
                    let frame = Arrival::Frame(message.as_bytes().to_vec());
                    let _ = arrives.send(frame).await;
                }
            }
            let error = match body.frame().await {
                None => return,
                Some(Err(error)) => error.into(),
                Some(Ok(frame)) => match frame.into_data().map(|data| reader.push(&data)) {
                    Ok(Err(error)) => error,
                    _ => continue,
                },
            };
            let _ = arrives.send(Arrival::Failed { id: None, error }).await;
            return;
        }
    });
    Ok(Stream {
        messages: Endpoint {
            uri,
            exchange: endpoint.exchange.clone(),
        },
        arrived,
        arrives: weak,
        reading,
    })
}

/// Resolves a URL of the server against that of its stream; `None` for another host.
fn resolve(base: &Uri, place: &str) -> Option<Uri> {
    let place: Uri = place.parse().ok()?;
    let mut parts = base.clone().into_parts();
    if place.authority().is_some() && place.authority() != base.authority() {
        return None;
    }
    parts.path_and_query = Some(place.path_and_query()?.clone());
    Uri::from_parts(parts).ok()
}

impl Link for SseLink {
    /// Posts a frame. It is taken when this returns.
    fn send<'a>(&'a mut self, frame: &'a [u8]) -> BoxFuture<'a, Result<(), ProbeError>> {
        Box::pin(async move {
            let frame = Bytes::copy_from_slice(frame);
            let stream = self.stream().await?;
            let request = ask_request(&stream.messages, "POST")
                .header(header::CONTENT_TYPE, "application/json");
            let sending = stream.messages.exchange.send(with_body(request, frame));
            let response = sending.await?;
            if let Some(arrives) = stream.arrives.upgrade()
                && response.status() != http::StatusCode::ACCEPTED
            {
                pass_on(response, None, &arrives).await;
            }
            Ok(())
        })
    }

    fn next(&mut self) -> BoxFuture<'_, Result<Option<Arrival>, ProbeError>> {
        Box::pin(async move { Ok(self.stream().await?.arrived.recv().await) })
    }
}

impl Drop for SseLink {
    fn drop(&mut self) {
        if let Some(stream) = &self.stream {
            stream.reading.abort();
        }
    }
}
