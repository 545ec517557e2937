//! Streams that last longer than the token of their request.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body::{Body, Frame};
use http_body_util::BodyExt as _;
use tokio::time::Instant;
use tower_layer::Layer as _;
use tower_service::Service;
use turnbuckle_types::Principal;
use url::Url;

use super::support::{NOW, RESOURCE, request};
use crate::clock::Clock;
use crate::dpop::DpopKey;
use crate::server::{ResourceServer, TokenVerifier, VerifiedToken, VerifyFuture};

/// Accepts every token for a minute, but `endless` for ever.
struct Minute;

impl TokenVerifier for Minute {
    fn verify<'a>(&'a self, token: &'a str) -> VerifyFuture<'a> {
        let verified = VerifiedToken::new(Principal::new("https://as", "ann"), [RESOURCE]);
        let verified = match token {
            "endless" => verified,
            _ => verified.expires_at(NOW + 60),
        };
        Box::pin(ready(Ok(verified.cache_for(Duration::from_secs(60)))))
    }
}

/// A body that sends something each `interval`, for an hour.
struct Stream {
    interval: tokio::time::Interval,
    end: Instant,
}

impl Body for Stream {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if Instant::now() >= self.end {
            return Poll::Ready(None);
        }
        let tick = self.interval.poll_tick(cx);
        tick.map(|_| Some(Ok(Frame::data(Bytes::from_static(b"x")))))
    }
}

#[derive(Clone)]
struct Streaming(Duration);

impl Service<Request<String>> for Streaming {
    type Response = Response<Stream>;
    type Error = Infallible;
    type Future = Ready<Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<String>) -> Self::Future {
        let start = Instant::now();
        ready(Ok(Response::new(Stream {
            interval: tokio::time::interval_at(start + self.0, self.0),
            end: start + Duration::from_secs(3600),
        })))
    }
}

/// Returns the seconds after which the response of a request ends.
async fn seconds(method: &str, headers: &[(&str, &str)], interval: Duration) -> u64 {
    let start = Instant::now();
    let now = move || NOW + start.elapsed().as_secs();
    let server = ResourceServer::builder(RESOURCE)
        .clock(Clock::from_fn(now))
        .verifier(Minute)
        .leeway(Duration::from_secs(10))
        .build()
        .unwrap();
    let mut service = server.layer(Streaming(interval));
    // The token is verified for the first request, and known for the second.
    let first = service.call(request(method, "/mcp", headers)).await;
    assert_eq!(first.unwrap().status(), 200);
    let response = service.call(request(method, "/mcp", headers)).await;
    response.unwrap().into_body().collect().await.unwrap();
    start.elapsed().as_secs()
}

const LISTEN: (&str, &str) = ("mcp-method", "subscriptions/listen");
const TOKEN: (&str, &str) = ("authorization", "Bearer minute");

#[tokio::test(start_paused = true)]
async fn a_stream_ends_when_its_token_expires() {
    for interval in [1, 7, 4_000].map(Duration::from_secs) {
        assert_eq!(seconds("GET", &[TOKEN], interval).await, 70);
        assert_eq!(seconds("POST", &[TOKEN, LISTEN], interval).await, 70);
    }
}

#[tokio::test(start_paused = true)]
async fn the_response_of_a_call_outlives_its_token() {
    let call = ("mcp-method", "tools/call");
    let interval = Duration::from_secs(1);
    for headers in [&[TOKEN][..], &[TOKEN, call]] {
        assert_eq!(seconds("POST", headers, interval).await, 3600);
    }
    let endless = ("authorization", "Bearer endless");
    assert_eq!(seconds("GET", &[endless], interval).await, 3600);
}

/// Returns the seconds after which the stream of ann's first token ends, when another request comes
/// with the token `other` half a minute later.
async fn seconds_with(other: &'static str) -> u64 {
    let start = Instant::now();
    let now = move || NOW + start.elapsed().as_secs();
    let server = ResourceServer::builder(RESOURCE)
        .clock(Clock::from_fn(now))
        .verifier(Refreshing)
        .leeway(Duration::from_secs(10))
        .build()
        .unwrap();
    let mut service = server.layer(Streaming(Duration::from_secs(1)));
    let opened = service.call(request("GET", "/mcp", &[("authorization", "Bearer ann")]));
    let mut stream = opened.await.unwrap().into_body();
    while start.elapsed() < Duration::from_secs(30) {
        stream.frame().await.unwrap().unwrap();
    }
    let header = format!("Bearer {other}");
    let posted = service.call(request("POST", "/mcp", &[("authorization", &header)]));
    assert_eq!(posted.await.unwrap().status(), 200);
    stream.collect().await.unwrap();
    start.elapsed().as_secs()
}

/// Accepts every token: for a minute `ann`, for two any other, whose name says what differs.
struct Refreshing;

impl TokenVerifier for Refreshing {
    fn verify<'a>(&'a self, token: &'a str) -> VerifyFuture<'a> {
        let principal = match token {
            "subject" => Principal::new("https://as", "bob"),
            "issuer" => Principal::new("https://other", "ann"),
            "client" => Principal::new("https://as", "ann").client("another"),
            "scopes" => Principal::new("https://as", "ann").scopes(["less"]),
            _ => Principal::new("https://as", "ann"),
        };
        let minutes = if token == "ann" { 1 } else { 2 };
        let verified = VerifiedToken::new(principal, [RESOURCE]).expires_at(NOW + minutes * 60);
        Box::pin(ready(Ok(verified.cache_for(Duration::from_secs(60)))))
    }
}

#[tokio::test(start_paused = true)]
async fn a_stream_lasts_as_long_as_a_later_token_of_the_same_caller() {
    assert_eq!(seconds_with("ann").await, 70);
    assert_eq!(seconds_with("refreshed").await, 130);
    for other in ["subject", "issuer", "client", "scopes"] {
        assert_eq!(seconds_with(other).await, 70, "{other}");
    }
}

/// Accepts every token for the key, `first` for a minute and any other for two.
struct Bound(DpopKey);

impl TokenVerifier for Bound {
    fn verify<'a>(&'a self, token: &'a str) -> VerifyFuture<'a> {
        let minutes = if token == "first" { 1 } else { 2 };
        let verified = VerifiedToken::new(Principal::new("https://as", "ann"), [RESOURCE])
            .key_thumbprint(self.0.thumbprint())
            .expires_at(NOW + minutes * 60);
        Box::pin(ready(Ok(verified.cache_for(Duration::from_secs(60)))))
    }
}

#[tokio::test(start_paused = true)]
async fn a_later_token_whose_first_proof_is_refused_lets_a_stream_last() {
    let (start, key) = (Instant::now(), DpopKey::generate().unwrap());
    let now = move || NOW + start.elapsed().as_secs();
    let server = ResourceServer::builder(RESOURCE)
        .clock(Clock::from_fn(now))
        .verifier(Bound(key.clone()))
        .leeway(Duration::from_secs(10))
        .build()
        .unwrap();
    let url = Url::parse(RESOURCE).unwrap();
    let signed = |method: &str, token: &str, time| {
        let proof = key.proof(method, &url, Some(token), None, time).unwrap();
        let headers = [
            ("authorization", &*format!("DPoP {token}")),
            ("dpop", &*proof),
        ];
        request(method, "/mcp", &headers)
    };
    let mut service = server.layer(Streaming(Duration::from_secs(1)));
    let opened = service.call(signed("GET", "first", now())).await.unwrap();
    for (time, status) in [(now() - 300, 401), (now(), 200)] {
        let posted = service.call(signed("POST", "second", time)).await;
        assert_eq!(posted.unwrap().status(), status);
    }
    opened.into_body().collect().await.unwrap();
    assert_eq!(start.elapsed().as_secs(), 130);
}
