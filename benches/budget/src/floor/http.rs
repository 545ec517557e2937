//! The HTTP floor: one bare hyper handler.

use std::convert::Infallible;
use std::future::ready;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::service::{HttpService, service_fn};
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

use super::answer::{Answer, answer_of};
use crate::process::{Ended, on_one_thread, tell_port};

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Serves, for `floor-http [ANSWER]`, one connection on a loopback port.
pub(crate) fn serve(words: &[String]) -> Ended {
    let answer = answer_of(words)?;
    serve_one(service_fn(move |request| parse_request(request, answer)))
}

/// Serves likewise without reading the request, for `floor-bare-http`.
pub(crate) fn serve_blindly(_: &[String]) -> Ended {
    let answer =
        br#"{"jsonrpc":"2.0","id":0,"result":{"content":[{"type":"text","text":"hello"}]}}"#;
    let answer = Bytes::from_static(answer);
    serve_one(service_fn(move |_| {
        ready(Ok::<_, Infallible>(reply(answer.clone())))
    }))
}

fn serve_one<S, B>(service: S) -> Ended
where
    S: HttpService<Incoming, ResBody = B, Error: Into<BoxError>>,
    B: Body<Error: Into<BoxError>> + 'static,
{
    on_one_thread(async {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        tell_port(listener.local_addr()?.port())?;
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        hyper::server::conn::http1::Builder::new()
            .serve_connection(TokioIo::new(stream), service)
            .await?;
        Ok(())
    })?
}

async fn parse_request(
    request: Request<Incoming>,
    answer: Answer,
) -> Result<Response<Full<Bytes>>, BoxError> {
    let body = request.into_body().collect().await?.to_bytes();
    let mut bytes = Vec::with_capacity(128);
    answer(&body, &mut bytes)?;
    Ok(reply(bytes.into()))
}

fn reply(bytes: Bytes) -> Response<Full<Bytes>> {
    let mut reply = Response::new(Full::new(bytes));
    let json = HeaderValue::from_static("application/json");
    reply.headers_mut().insert(CONTENT_TYPE, json);
    reply
}
