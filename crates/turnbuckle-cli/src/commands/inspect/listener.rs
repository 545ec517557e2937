//! The HTTP/1 listener of the page, with bounds on everything that a browser or another program sends.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use http::{HeaderValue, Request, header::CONNECTION};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::reply::Reply;
use super::routes::answer;
use super::server::Site;

const MAX_CONNECTIONS: usize = 256;
const MAX_HEAD_BYTES: usize = 64 * 1024;
const MAX_HEADERS: usize = 100;

/// The time that the head of a request may take, and that a connection may be idle.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);

/// The pause after a failed accept, such as when the process has no file descriptors left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Accepts connections forever. All connections end when the future is dropped.
pub(super) async fn serve(listener: &TcpListener, site: Arc<Site>) -> Infallible {
    let permits = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        // The semaphore is never closed.
        let permit = permits.clone().acquire_owned().await.ok();
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(ACCEPT_PAUSE).await;
            continue;
        };
        // Events are small, and each of them is waited for.
        let _ = stream.set_nodelay(true);
        let site = site.clone();
        connections.spawn(async move {
            serve_connection(stream, site).await;
            drop(permit);
        });
    }
}

/// Answers the requests of one connection.
pub(super) async fn serve_connection<S>(stream: S, site: Arc<Site>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let service = service_fn(move |request| respond(site.clone(), request));
    let connection = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .max_buf_size(MAX_HEAD_BYTES)
        .max_headers(MAX_HEADERS)
        .serve_connection(TokioIo::new(stream), service);
    // A browser that goes away in the middle of an answer is no fault.
    let _ = connection.await;
}

async fn respond(site: Arc<Site>, request: Request<Incoming>) -> Result<Reply, Infallible> {
    let mut reply = answer(&site, request).await;
    if reply.status().is_client_error() {
        // The rest of a body that was refused is not read.
        let close = HeaderValue::from_static("close");
        reply.headers_mut().insert(CONNECTION, close);
    }
    Ok(reply)
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::time::Instant;

    use super::super::opener::Opener;
    use super::*;
    use crate::args::CommonArgs;
    use crate::output::Console;

    #[derive(clap::Parser)]
    struct Options {
        #[command(flatten)]
        common: CommonArgs,
    }

    /// Returns a site of a page at port 1.
    fn site() -> Arc<Site> {
        let Options { common } = Options::parse_from(["test"]);
        let console = Console::silent(&common.output);
        Arc::new(Site::new(Opener::new(common, None, console), 1))
    }

    /// Sends a part of a request over a connection in memory, and returns the answer.
    async fn answer_to(site: &Arc<Site>, part: String) -> String {
        let (mut browser, stream) = tokio::io::duplex(1 << 16);
        let serving = tokio::spawn(serve_connection(stream, site.clone()));
        browser.write_all(part.as_bytes()).await.unwrap();
        let mut answer = String::new();
        let _ = browser.read_to_string(&mut answer).await;
        serving.abort();
        answer
    }

    #[tokio::test(start_paused = true)]
    async fn slow_heads_and_slow_bodies_have_an_end() {
        let site = site();
        let start = Instant::now();
        let head = answer_to(&site, "GET / HTTP/1.1\r\nHost: 127.".into()).await;
        assert!(!head.contains("200"), "{head}");
        assert!(start.elapsed() <= 2 * HEAD_TIMEOUT);

        let head = "POST /api/login HTTP/1.1\r\nHost: 127.0.0.1:1\r\n\
                    Content-Type: application/json\r\nContent-Length: 9\r\n\r\n{";
        let start = Instant::now();
        let answer = answer_to(&site, head.into()).await;
        assert!(answer.starts_with("HTTP/1.1 408"), "{answer}");
        assert!(start.elapsed() <= HEAD_TIMEOUT);
    }

    #[tokio::test(start_paused = true)]
    async fn a_stream_of_events_begins_at_once_and_shows_that_it_lives() {
        let site = site();
        let code = site.access.new_code().unwrap();
        let cookie = site.access.log_in(&code, &http::HeaderMap::new());
        let cookie = cookie.unwrap().unwrap();
        let pair = cookie.split(';').next().unwrap();
        let (mut browser, stream) = tokio::io::duplex(1 << 16);
        tokio::spawn(serve_connection(stream, site.clone()));
        let request =
            format!("GET /api/events HTTP/1.1\r\nHost: localhost:1\r\nCookie: {pair}\r\n\r\n");
        browser.write_all(request.as_bytes()).await.unwrap();
        let mut seen = String::new();
        let mut piece = [0; 4096];
        while seen.matches("\n:\n\n").count() < 2 {
            let read = browser.read(&mut piece).await.unwrap();
            assert!(read > 0, "{seen}");
            seen += std::str::from_utf8(&piece[..read]).unwrap();
        }
        assert!(seen.starts_with("HTTP/1.1 200"), "{seen}");
        site.inspector.set_place("1".into()).unwrap();
        while !seen.contains("data: {\"place\":1}") {
            let read = browser.read(&mut piece).await.unwrap();
            seen += std::str::from_utf8(&piece[..read]).unwrap();
        }
    }
}
