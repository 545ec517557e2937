//! Connects the client to a scripted server below an HTTP connector: no socket is opened.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::{Request, Response};
use http_body::{Body, Frame};
use tower_service::Service;
use turnbuckle_check::script::ScriptBody;
use turnbuckle_http::{ClientRequestBody, HttpClientError, HttpConnector};

use super::Peer;
use crate::wires::BodyInPieces;

/// The peer's URL.
const URL: &str = "http://peer.example/mcp";

pub(super) fn connector(peer: Peer) -> HttpConnector {
    let connector = HttpConnector::new(URL).expect("a URL");
    connector.http_client(Web(peer))
}

#[derive(Clone)]
struct Web(Peer);

impl Service<Request<ClientRequestBody>> for Web {
    type Response = Response<Pieces>;
    type Error = HttpClientError;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Pieces>, HttpClientError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), HttpClientError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<ClientRequestBody>) -> Self::Future {
        let request = request.map(|body| body.bytes().clone());
        let response = self.0.respond(&request);
        Box::pin(async move {
            let response = response.await.map_err(lost)?;
            Ok(response.map(|script| Pieces {
                script,
                frame: BodyInPieces::default(),
            }))
        })
    }
}

/// The body of a script, in pieces.
struct Pieces {
    script: ScriptBody,
    /// Frame that is being sent.
    frame: BodyInPieces,
}

impl Body for Pieces {
    type Data = Bytes;
    type Error = HttpClientError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, HttpClientError>>> {
        loop {
            if let Poll::Ready(Some(Ok(frame))) = Pin::new(&mut self.frame).poll_frame(cx) {
                return Poll::Ready(Some(Ok(frame)));
            }
            match ready!(Pin::new(&mut self.script).poll_frame(cx)) {
                Some(Ok(frame)) => self.frame.go_on(frame.into_data().unwrap_or_default()),
                Some(Err(error)) => return Poll::Ready(Some(Err(lost(error)))),
                None => return Poll::Ready(None),
            }
        }
    }
}

fn lost(error: io::Error) -> HttpClientError {
    HttpClientError::connection_lost(error.to_string())
}
