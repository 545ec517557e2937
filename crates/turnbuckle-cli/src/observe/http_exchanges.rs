//! A layer around an HTTP client that tells an observer of each exchange.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use http::{HeaderMap, Request, Response};
use tower_layer::Layer;
use tower_service::Service;
use turnbuckle::http::ClientRequestBody;
use turnbuckle_inspector::HttpExchange;

/// The observer of HTTP exchanges, as a layer. Exchanges have their secrets.
#[derive(Clone)]
pub(crate) struct ExchangeObserver(Arc<dyn Fn(HttpExchange) + Send + Sync>);

impl ExchangeObserver {
    /// Creates an observer. The function is called when the head of the response has come, or none will.
    pub(crate) fn new(observe: impl Fn(HttpExchange) + Send + Sync + 'static) -> Self {
        Self(Arc::new(observe))
    }
}

impl<S> Layer<S> for ExchangeObserver {
    type Service = ObservedClient<S>;

    fn layer(&self, inner: S) -> ObservedClient<S> {
        ObservedClient {
            inner,
            observer: self.clone(),
        }
    }
}

/// An HTTP client whose exchanges are observed.
#[derive(Clone)]
pub(crate) struct ObservedClient<S> {
    inner: S,
    observer: ExchangeObserver,
}

impl<S, B> Service<Request<ClientRequestBody>> for ObservedClient<S>
where
    S: Service<Request<ClientRequestBody>, Response = Response<B>>,
    S::Future: Send + 'static,
    S::Error: std::fmt::Display,
{
    type Response = Response<B>;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Response<B>, S::Error>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<ClientRequestBody>) -> Self::Future {
        let mut exchange = HttpExchange {
            method: request.method().to_string(),
            path: request
                .uri()
                .path_and_query()
                .map_or_else(String::new, ToString::to_string),
            status: None,
            request: to_pairs(request.headers()),
            response: Vec::new(),
            error: None,
            duration_us: 0,
            body: request.body().bytes().clone(),
        };
        let observer = self.observer.clone();
        let start = Instant::now();
        let sending = self.inner.call(request);
        Box::pin(async move {
            let sent = sending.await;
            exchange.duration_us = u64::try_from(start.elapsed().as_micros()).unwrap_or(u64::MAX);
            match &sent {
                Ok(response) => {
                    exchange.status = Some(response.status().as_u16());
                    exchange.response = to_pairs(response.headers());
                }
                Err(error) => exchange.error = Some(error.to_string()),
            }
            (observer.0)(exchange);
            sent
        })
    }
}

fn to_pairs(headers: &HeaderMap) -> Vec<(String, String)> {
    let pairs = headers.iter();
    pairs
        .map(|(name, value)| {
            let value = String::from_utf8_lossy(value.as_bytes());
            (name.to_string(), value.into_owned())
        })
        .collect()
}
