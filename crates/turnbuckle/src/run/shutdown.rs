//! The signals that end a process, and the graceful shutdown of an HTTP server on them.

use std::io;
#[cfg(unix)]
use std::sync::Arc;
#[cfg(unix)]
use std::sync::atomic::{AtomicBool, Ordering};

use turnbuckle_session::internal::ShutdownSignals;
#[cfg(unix)]
use turnbuckle_session::internal::end_process_while;

use crate::error::Result;
use crate::http::{HttpServer, shutdown_after};

/// Serves until the first signal, then waits for requests in progress until they end, their time is
/// over, or a second signal arrives.
pub(super) async fn serve_until_signal(server: HttpServer) -> Result {
    let mut signals = ShutdownSignals::new()?;
    eprintln!("serving MCP at {}", server.url());
    let shutdown = server.shutdown();
    let second_signal = async {
        signals.recv().await;
        shutdown.close();
        signals.recv().await;
    };
    tokio::select! {
        served = server.serve() => Ok(served?),
        () = second_signal => Ok(()),
    }
}

/// Waits until the process is asked to end, by SIGTERM, Ctrl-C or SIGHUP, and ends the streams of
/// clients that listen to endpoints mounted in a server of your own. On Unix a second signal then ends
/// the process at once.
///
/// This is a future for the graceful shutdown of that server, which would otherwise wait for these
/// clients:
///
/// ```no_run
/// use turnbuckle::http::{HttpServerOptions, StreamableHttp};
/// use turnbuckle::prelude::*;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> turnbuckle::Result {
/// # let hello = Tool::builder("hello").handler(|| "Hello!");
/// let server = Server::new("greeter", "1.0.0").tool(hello).build()?;
/// let mcp = StreamableHttp::new(server, HttpServerOptions::new());
/// let router = axum::Router::new().nest_service("/mcp", mcp);
/// let listener = tokio::net::TcpListener::bind("127.0.0.1:3000").await?;
/// axum::serve(listener, router).with_graceful_shutdown(turnbuckle::termination()).await?;
/// # Ok(())
/// # }
/// ```
///
/// For another trigger there is [`http::shutdown_after`](crate::http::shutdown_after).
///
/// If the signals cannot be received, this is printed to standard error, and the future never ends.
pub async fn termination() {
    let signal = async {
        if let Err(error) = wait_for_termination().await {
            eprintln!("signals cannot be received, there is no graceful shutdown: {error}");
            std::future::pending().await
        }
    };
    shutdown_after(signal).await;
}

async fn wait_for_termination() -> io::Result<()> {
    // Registered before the receiver, so that it does not act on the first signal itself.
    #[cfg(unix)]
    let ends_at_once = Arc::new(AtomicBool::new(false));
    #[cfg(unix)]
    end_process_while(&ends_at_once)?;
    ShutdownSignals::new()?.recv().await;
    #[cfg(unix)]
    ends_at_once.store(true, Ordering::SeqCst);
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use std::future::poll_fn;
    use std::net::SocketAddr;
    use std::pin::pin;
    use std::task::Poll;
    use std::time::Duration;

    use axum::Router;
    use serde_json::json;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpStream};
    use tokio::time::timeout;
    use turnbuckle_it::harness::modern_meta;
    use turnbuckle_wire::revision::Revision;

    use super::*;
    use crate::Server;
    use crate::http::{HttpServerOptions, HttpSse, StreamableHttp};

    /// A time after which the test fails.
    const PATIENCE: Duration = Duration::from_secs(30);

    /// Connects, sends a request, and reads until `expected` has come.
    async fn send(address: SocketAddr, request: &str, expected: &str) -> io::Result<TcpStream> {
        let mut stream = TcpStream::connect(address).await?;
        stream.write_all(request.as_bytes()).await?;
        let (mut received, mut piece) = (String::new(), [0; 1024]);
        while !received.contains(expected) {
            let size = timeout(PATIENCE, stream.read(&mut piece)).await??;
            assert!(size > 0, "{received}");
            received.push_str(&String::from_utf8_lossy(&piece[..size]));
        }
        Ok(stream)
    }

    /// Returns the request of a modern client that listens for changes.
    fn listen() -> String {
        let meta = modern_meta(Revision::NEWEST, &json!({}));
        let params = json!({"notifications": {"toolsListChanged": true}, "_meta": meta});
        let body = json!({"jsonrpc": "2.0", "id": 7, "method": "subscriptions/listen",
            "params": params});
        let body = body.to_string();
        format!(
            "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
             MCP-Protocol-Version: {}\r\nMcp-Method: subscriptions/listen\r\n\
             Content-Length: {}\r\n\r\n{body}",
            Revision::NEWEST,
            body.len()
        )
    }

    #[tokio::test]
    async fn a_termination_ends_a_plain_axum_server_whose_clients_listen() {
        let server = Server::new("s", "1.0.0").build().unwrap();
        let streamable = StreamableHttp::new(server.clone(), HttpServerOptions::new());
        let sse = HttpSse::new(server, HttpServerOptions::new());
        let router = Router::new()
            .route_service("/mcp", streamable)
            .route_service("/sse", sse);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let serving = axum::serve(listener, router).with_graceful_shutdown(termination());
        let mut serving = tokio::spawn(serving.into_future());

        let _modern = send(address, &listen(), "acknowledged").await.unwrap();
        let oldest = "GET /sse HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n";
        let _oldest = send(address, oldest, "sessionId").await.unwrap();
        let running = poll_fn(|cx| Poll::Ready(pin!(&mut serving).poll(cx).is_pending()));
        assert!(running.await, "no signal has arrived");

        rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::HUP)
            .unwrap();
        let ended = timeout(PATIENCE, serving).await;
        ended
            .expect("it does not wait for who listens")
            .unwrap()
            .unwrap();
    }
}
