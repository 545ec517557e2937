//! Connects the client to a server in this process below an HTTP connector: no socket is opened.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::{Request, Response};
use http_body::{Body, Frame};
use http_body_util::BodyExt;
use http_body_util::combinators::UnsyncBoxBody;
use tower_service::Service;
use turnbuckle_http::{ClientRequestBody, HttpClientError, HttpConnector};

use crate::wires::BodyInPieces;

type Responding = Pin<Box<dyn Future<Output = io::Result<Response<ServerBody>>> + Send>>;
type ServerBody = UnsyncBoxBody<Bytes, io::Error>;

/// Returns a connector to a URL whose requests a function answers.
pub(super) fn connector<B, F>(
    url: &str,
    respond: impl Fn(Request<Bytes>) -> F + Send + Sync + 'static,
) -> HttpConnector
where
    B: Body<Data = Bytes, Error = io::Error> + Send + 'static,
    F: Future<Output = io::Result<Response<B>>> + Send + 'static,
{
    let respond = move |request| -> Responding {
        let response = respond(request);
        Box::pin(async move { Ok(response.await?.map(BodyExt::boxed_unsync)) })
    };
    let connector = HttpConnector::new(url).expect("a URL");
    connector.http_client(Web(Arc::new(respond)))
}

#[derive(Clone)]
struct Web(Arc<dyn Fn(Request<Bytes>) -> Responding + Send + Sync>);

impl Service<Request<ClientRequestBody>> for Web {
    type Response = Response<Pieces>;
    type Error = HttpClientError;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Pieces>, HttpClientError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), HttpClientError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<ClientRequestBody>) -> Self::Future {
        let request = request.map(|body| body.bytes().clone());
        let response = (self.0)(request);
        Box::pin(async move {
            let response = response.await.map_err(lost)?;
            Ok(response.map(|server| Pieces {
                server,
                frame: BodyInPieces::default(),
            }))
        })
    }
}

/// The body of a server, in pieces.
struct Pieces {
    server: ServerBody,
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
            match ready!(Pin::new(&mut self.server).poll_frame(cx)) {
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
