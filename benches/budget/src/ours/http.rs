//! The endpoint of both eras.

use std::thread;
use std::time::Duration;

use axum::Router;
use axum::serve::ListenerExt;
use tokio::net::TcpListener;
use turnbuckle::Authorize as _;
use turnbuckle::auth::ResourceServer;
use turnbuckle::auth::server::{TokenVerifier, VerifiedToken, VerifyFuture};
use turnbuckle::http::{
    HttpLimits, HttpServer, HttpServerOptions, HttpShares, HttpTimeouts, ReplayLimits, Sessions,
    StreamableHttp,
};
use turnbuckle::session::handler::{Limits, Rate, Signal};
use turnbuckle::store::MemoryStore;
use turnbuckle::types::Principal;
use turnbuckle::{KeyRing, SecretKey, Server};

use super::offers::{builder, server};
use crate::process::{Ended, at_end_of_input, on_one_thread, tell_port, word};

/// The time that a stream is kept for replay where what is left is measured.
const REPLAY: Duration = Duration::from_secs(2);

/// Serves on a server of our own, for `http OFFER`.
pub(crate) fn serve(words: &[String]) -> Ended {
    listen(words, config(), Signal::close)
}

/// Serves requests with a token, for `http-auth OFFER`. A token that is known is not verified again.
pub(crate) fn serve_with_auth(words: &[String]) -> Ended {
    let server = server(word(words, 0)?)?;
    let auth = ResourceServer::builder("http://127.0.0.1/mcp")
        .authorization_server("http://127.0.0.1")
        .verifier(AnyToken)
        .build()?;
    on_one_thread(async {
        let http = HttpServer::bind(server, "127.0.0.1:0", config()).await?;
        tell_port(http.local_addr().ok_or("no port")?.port())?;
        let shutdown = http.shutdown();
        at_end_of_input(move || shutdown.close());
        Ok(http.auth(auth).serve().await?)
    })?
}

/// A verifier to which every token is good.
struct AnyToken;

impl TokenVerifier for AnyToken {
    fn verify<'a>(&'a self, _: &'a str) -> VerifyFuture<'a> {
        let principal = Principal::new("http://127.0.0.1", "ann").scopes(["read", "write"]);
        let token = VerifiedToken::new(principal, ["http://127.0.0.1/mcp"]);
        let token = token.cache_for(Duration::from_secs(300));
        Box::pin(async move { Ok(token) })
    }
}

/// Serves without legacy sessions, for `http-stateless OFFER`.
pub(crate) fn serve_stateless(words: &[String]) -> Ended {
    listen(words, config().sessions(Sessions::Stateless), Signal::close)
}

/// Serves sessions whose ids hold them, for `http-sealed`.
pub(crate) fn serve_sealed(_: &[String]) -> Ended {
    let config = config().sessions(Sessions::Sealed);
    listen_with(builder().keys(keys()).build()?, config, Signal::close)
}

/// Serves sessions that are in a store, for `http-stored`.
pub(crate) fn serve_stored(_: &[String]) -> Ended {
    let server = builder().keys(keys()).store(MemoryStore::new()).build()?;
    listen_with(server, config().sessions(Sessions::Stored), Signal::close)
}

fn keys() -> KeyRing {
    KeyRing::new(SecretKey::from_bytes([7; 32]))
}

/// Serves, for `http-left OFFER`, and ends in the middle, when replay times have passed, and leaves on the heap
/// what is there.
pub(crate) fn leave(words: &[String]) -> Ended {
    #[allow(clippy::exit, reason = "nothing may be given back before")]
    listen(
        words,
        config().replay(ReplayLimits::new().stream_ttl(REPLAY)),
        |_| {
            thread::sleep(2 * REPLAY);
            std::process::exit(0);
        },
    )
}

/// Serves inside a server of axum's, for `axum OFFER`.
pub(crate) fn serve_in_axum(words: &[String]) -> Ended {
    let endpoint = StreamableHttp::new(server(word(words, 0)?)?, config());
    on_one_thread(in_axum(Router::new().route_service("/mcp", endpoint)))?
}

/// Serves on a loopback port until the input ends.
pub(crate) async fn in_axum(router: Router) -> Ended {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    tell_port(listener.local_addr()?.port())?;
    let listener = listener.tap_io(|stream| {
        let _ = stream.set_nodelay(true);
    });
    let over = Signal::new();
    let until = over.clone();
    at_end_of_input(move || over.close());
    let until = async move { until.closing().await };
    Ok(axum::serve(listener, router)
        .with_graceful_shutdown(until)
        .await?)
}

/// Returns settings with room for what is opened before the measurement, nothing that the clock does in the middle of it,
/// and no waiting after it.
fn config() -> HttpServerOptions {
    HttpServerOptions::new()
        .http_limits(HttpLimits::new().max_sessions(20_000))
        .shares(
            HttpShares::new()
                .max_owner_percent(100)
                .max_address_percent(100)
                .address_handshake_rate(Rate::UNLIMITED),
        )
        .limits(Limits::new().handshake_rate(Rate::UNLIMITED))
        .timeouts(
            HttpTimeouts::new()
                .keep_alive_interval(Duration::from_secs(3_600))
                .shutdown_timeout(Duration::from_millis(1)),
        )
}

fn listen(
    words: &[String],
    config: HttpServerOptions,
    end: impl FnOnce(&Signal) + Send + 'static,
) -> Ended {
    listen_with(server(word(words, 0)?)?, config, end)
}

fn listen_with(
    server: Server,
    config: HttpServerOptions,
    end: impl FnOnce(&Signal) + Send + 'static,
) -> Ended {
    on_one_thread(async {
        let http = HttpServer::bind(server, "127.0.0.1:0", config).await?;
        tell_port(http.local_addr().ok_or("no port")?.port())?;
        let shutdown = http.shutdown();
        at_end_of_input(move || end(&shutdown));
        Ok(http.serve().await?)
    })?
}
