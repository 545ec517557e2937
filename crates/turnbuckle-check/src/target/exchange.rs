//! An exchange of HTTP requests that a function carries out.

use std::error::Error;
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::BodyExt as _;

use super::{Body, BoxFuture, Exchange};

/// Creates an [`Exchange`] from a function that sends a request: over a client of HTTP, or to a service
/// in this process.
pub fn exchange<F, S, B>(send: F) -> Arc<dyn Exchange>
where
    F: Fn(Request<Bytes>) -> S + Send + Sync + 'static,
    S: Future<Output = io::Result<Response<B>>> + Send + 'static,
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    Arc::new(FromFunction(send))
}

struct FromFunction<F>(F);

impl<F, S, B> Exchange for FromFunction<F>
where
    F: Fn(Request<Bytes>) -> S + Send + Sync,
    S: Future<Output = io::Result<Response<B>>> + Send + 'static,
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    fn send(&self, request: Request<Bytes>) -> BoxFuture<'static, io::Result<Response<Body>>> {
        let sending = (self.0)(request);
        Box::pin(async move {
            let response = sending.await?;
            Ok(response.map(|body| body.map_err(io::Error::other).boxed_unsync()))
        })
    }
}
