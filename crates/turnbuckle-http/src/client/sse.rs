//! The HTTP+SSE transport of the first revision: one stream for everything that comes, and an
//! endpoint beside it for everything that goes.
//!
//! Specification: basic/transports, "HTTP with SSE" (2024-11-05).

use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use bytes::Bytes;
use http::header::ACCEPT;
use http::{HeaderMap, Method};
use tokio::task::JoinHandle;
use turnbuckle_session::{
    Carrying, Connector, Frame, Inbox, Link, LinkError, LinkKind, Opening, Parcel, Settling, Signal,
};

use super::answer::{Media, refusal};
use super::connector::HttpConnector;
use super::core::{EVENTS, posted, posting};
use super::decode::{Decoder, Event};
use super::exchange::spend;
use super::http::AnswerBody;
use super::remote::Remote;
use super::target::Target;

/// Reaches the server at a URL over the HTTP+SSE of the first revision, with the settings of the
/// [`HttpConnector`] that it is the older way of.
#[derive(Clone)]
pub struct SseConnector(HttpConnector);

impl SseConnector {
    /// The older way to the server that `connector` reaches.
    #[must_use]
    pub fn new(connector: HttpConnector) -> Self {
        Self(connector)
    }

    async fn connect(&self, inbox: Arc<dyn Inbox>) -> Result<Arc<dyn Link>, LinkError> {
        let remote = self.0.remote()?;
        let limit = remote.options.endpoint_timeout;
        let opening = tokio::time::timeout(limit, greet(&remote, self.0.target()));
        let (stream, endpoint) = opening.await.unwrap_or_else(|_| {
            let reason = format!(
                "no endpoint was named within {limit:?} (HttpClientOptions::endpoint_timeout)"
            );
            Err(LinkError::Violation { reason })
        })?;
        Ok(Arc::new(SseLink::new(remote, stream, endpoint, inbox)))
    }
}

impl Connector for SseConnector {
    fn open(&self, inbox: Arc<dyn Inbox>) -> Opening<'_> {
        Box::pin(self.connect(inbox))
    }

    fn binding(&self) -> LinkKind {
        LinkKind::Duplex
    }

    fn describe(&self) -> String {
        self.0.describe()
    }
}

impl fmt::Debug for SseConnector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SseConnector").field(&self.0).finish()
    }
}

/// The server's stream, read up to some place.
struct Stream {
    body: AnswerBody,
    piece: Bytes,
    decoder: Decoder,
}

impl Stream {
    /// The next event; why there is none, at its end.
    async fn next(&mut self) -> Result<Event, String> {
        loop {
            if let Some(event) = self.decoder.next(&mut self.piece) {
                return Ok(event);
            }
            self.piece = match self.body.piece().await {
                Some(Ok(piece)) => piece,
                Some(Err(failure)) => return Err(failure.to_string()),
                None => return Err("the server ended the stream".to_owned()),
            };
        }
    }
}

/// Opens the stream and learns the endpoint.
async fn greet(remote: &Remote, target: &Target) -> Result<(Stream, Target), LinkError> {
    let headers = || {
        let mut headers = remote.headers.clone();
        headers.insert(ACCEPT, EVENTS);
        Ok(headers)
    };
    let asked = remote.ask(&Method::GET, target, headers, Bytes::new());
    let (answer, target) = asked.await?;
    if !answer.status().is_success() {
        return Err(refusal(answer, false).await.error());
    }
    match Media::of(answer.headers()) {
        Media::Events => {}
        media => return Err(media.unexpected()),
    }
    let mut stream = Stream {
        body: answer.into_body(),
        piece: Bytes::new(),
        decoder: Decoder::new(remote.options.max_message),
    };
    loop {
        let reason = match stream.next().await {
            Ok(Event::Endpoint(reference)) => match resolve(&target, &reference) {
                Ok(endpoint) => return Ok((stream, endpoint)),
                Err(reason) => reason,
            },
            Ok(Event::Other) => continue,
            Ok(_) => "a stream that does not begin with the endpoint".to_owned(),
            Err(reason) => return Err(LinkError::Broken { reason }),
        };
        return Err(LinkError::Violation { reason });
    }
}

fn resolve(target: &Target, reference: &[u8]) -> Result<Target, String> {
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
    core: Arc<Core>,
    /// Resolves when the stream is no longer read.
    reader: Mutex<Option<JoinHandle<()>>>,
}

struct Core {
    remote: Remote,
    posting: HeaderMap,
    endpoint: Target,
    closing: Signal,
    /// Why the stream ended, if that was not this side's doing.
    ended: OnceLock<String>,
}

impl Core {
    /// Why nothing is carried any more.
    fn over(&self) -> LinkError {
        match self.ended.get() {
            Some(reason) => LinkError::Broken {
                reason: reason.clone(),
            },
            None => LinkError::Closed,
        }
    }
}

impl SseLink {
    fn new(remote: Remote, stream: Stream, endpoint: Target, inbox: Arc<dyn Inbox>) -> Self {
        let core = Arc::new(Core {
            posting: posting(&remote),
            remote,
            endpoint,
            closing: Signal::new(),
            ended: OnceLock::new(),
        });
        let reader = tokio::spawn(listen(stream, inbox, core.clone()));
        Self {
            core,
            reader: Mutex::new(Some(reader)),
        }
    }
}

impl Link for SseLink {
    fn kind(&self) -> LinkKind {
        LinkKind::Duplex
    }

    fn carry(&self, parcel: Parcel) -> Carrying {
        let core = self.core.clone();
        Box::pin(async move {
            tokio::select! {
                biased;
                () = core.closing.closing() => Err(core.over()),
                posted = post(&core, parcel) => posted,
            }
        })
    }

    /// Its answers may even come before that of the POST.
    fn may_have_sent(&self) -> bool {
        true
    }

    fn close(&self) -> Settling {
        self.core.closing.close();
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
        self.core.closing.close();
    }
}

/// Hands what the stream carries to the inbox, until it ends or the link is closed.
async fn listen(mut stream: Stream, inbox: Arc<dyn Inbox>, core: Arc<Core>) {
    let read = async {
        loop {
            match stream.next().await {
                Ok(Event::Message(message)) => inbox.receive(Frame::Message(message), None),
                Ok(Event::TooLarge) => {
                    let limit = stream.decoder.max();
                    inbox.receive(Frame::TooLong { limit }, None);
                }
                Ok(Event::Endpoint(_) | Event::Other) => {}
                Err(reason) => return reason,
            }
        }
    };
    tokio::select! {
        biased;
        () = core.closing.closing() => {}
        reason = read => {
            let _ = core.ended.set(reason.clone());
            core.closing.close();
            inbox.lost(LinkError::Broken { reason });
        }
    }
}

async fn post(core: &Core, parcel: Parcel) -> Result<(), LinkError> {
    let headers = || posted(&core.posting, &parcel.headers);
    let asked = core
        .remote
        .ask(&Method::POST, &core.endpoint, headers, parcel.frame.into());
    let (answer, _) = asked.await?;
    if !answer.status().is_success() {
        return Err(refusal(answer, false).await.error());
    }
    spend(answer.into_body()).await;
    Ok(())
}
