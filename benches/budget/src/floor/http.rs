//! The HTTP floor: one bare hyper handler.

use std::io::Write;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::service::{HttpService, service_fn};
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

use crate::Served;
use crate::echo;

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Serves one connection on a loopback port, which is printed first.
pub(crate) fn serve() -> Served {
    serve_one(service_fn(answer))
}

/// The same with another service: what is measured against the floor differs from it in that
/// alone.
pub(crate) fn serve_one<S, B>(service: S) -> Served
where
    S: HttpService<Incoming, ResBody = B, Error: Into<BoxError>>,
    B: Body<Error: Into<BoxError>> + 'static,
{
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        writeln!(std::io::stdout(), "{}", listener.local_addr()?.port())?;
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        hyper::server::conn::http1::Builder::new()
            .serve_connection(TokioIo::new(stream), service)
            .await?;
        Ok(())
    })
}

async fn answer(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, BoxError> {
    let body = request.into_body().collect().await?.to_bytes();
    let mut answer = Vec::with_capacity(128);
    echo::answer(&body, &mut answer)?;
    let mut response = Response::new(Full::new(Bytes::from(answer)));
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Ok(response)
}
