use std::collections::VecDeque;
use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Waker;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use turnbuckle_server::{Server, Tool};
use turnbuckle_session::handler::Limits;
use turnbuckle_wire::revision::Revision;

use super::*;
use crate::options::{HttpTimeouts, Sessions};
use turnbuckle_types::ClientAddress;

/// The server's end of a connection: its input in pieces, and a record of each write.
struct Wire {
    pieces: VecDeque<Vec<u8>>,
    writes: Arc<Mutex<Vec<Vec<u8>>>>,
}

impl AsyncRead for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        // After the last piece the input ends.
        into.put_slice(&self.pieces.pop_front().unwrap_or_default());
        Poll::Ready(Ok(()))
    }
}

impl Wire {
    fn write(&self, bytes: Vec<u8>) -> Poll<io::Result<usize>> {
        let length = bytes.len();
        self.writes.lock().unwrap().push(bytes);
        Poll::Ready(Ok(length))
    }
}

impl AsyncWrite for Wire {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.write(bytes.to_vec())
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.write(parts.iter().flat_map(|part| part.iter().copied()).collect())
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// Returns a service with a tool that is ready at once, one that is ready soon and one that never is.
fn service() -> StreamableHttp {
    let server = Server::new("s", "1")
        .tool(Tool::builder("now").handler(|| "here"))
        .tool(Tool::builder("soon").handler(async || {
            tokio::time::sleep(Duration::from_millis(1)).await;
            "here"
        }))
        .tool(Tool::builder("never").handler(async || std::future::pending::<&str>().await));
    StreamableHttp::new(server.build().unwrap(), HttpServerOptions::new())
}

/// Returns a request that opens a session.
fn initialize() -> Request<Full<Bytes>> {
    let version = Revision::NEWEST_LEGACY;
    let initialize = format!(
        r#"{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{{"protocolVersion":"{version}","capabilities":{{}},"clientInfo":{{"name":"c","version":"1"}}}}}}"#
    );
    let request = Request::post("http://localhost/mcp")
        .header("Host", "localhost")
        .header("Content-Type", "application/json")
        .body(Full::from(initialize));
    request.unwrap()
}

/// Opens a session and returns its id.
async fn session(service: &StreamableHttp) -> String {
    let response = service.answer(initialize()).await;
    let id = response.headers()["mcp-session-id"].to_str().unwrap();
    id.to_owned()
}

fn post(session: &str, tool: &str, accept: &str) -> String {
    let body =
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{tool}"}}}}"#);
    format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
         Accept: {accept}\r\nMcp-Session-Id: {session}\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// Sends a request over a connection of its own, and returns each write of the server.
async fn writes(service: &StreamableHttp, request: String) -> Vec<String> {
    let writes: Arc<Mutex<Vec<Vec<u8>>>> = Arc::default();
    let wire = Wire {
        pieces: [request.into_bytes()].into(),
        writes: writes.clone(),
    };
    let answer = service_fn(|request| async { Ok::<_, Infallible>(service.answer(request).await) });
    let mut builder = http1::Builder::new();
    let served = builder.half_close(true);
    served
        .serve_connection(TokioIo::new(wire), answer)
        .await
        .unwrap();
    let writes = std::mem::take(&mut *writes.lock().unwrap());
    let text = |write| String::from_utf8(write).unwrap();
    writes.into_iter().map(text).collect()
}

#[tokio::test(start_paused = true)]
async fn a_client_that_accepts_only_streams_gets_one_event_in_one_write() {
    let service = service();
    let session = session(&service).await;
    for tool in ["now", "soon"] {
        let request = post(&session, tool, "text/event-stream");
        let writes = writes(&service, request).await;
        let [answer] = &writes[..] else {
            panic!("not one write: {writes:#?}");
        };
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.contains("content-type: text/event-stream"), "{head}");
        assert!(head.contains("x-accel-buffering: no"), "{head}");
        let length = format!("content-length: {}", body.len());
        assert!(head.contains(&length), "{head}");
        let event = body.strip_prefix("event: message\ndata: ").unwrap();
        let data = event.strip_suffix("\n\n").unwrap();
        assert!(!data.contains('\n') && data.contains("here"), "{data}");
    }
}

#[tokio::test(start_paused = true)]
async fn debug_output_of_a_response_has_no_secrets() {
    let service = service();
    let id = session(&service).await;
    let opening = service.answer(initialize()).await;
    assert!(opening.headers()["mcp-session-id"].is_sensitive());
    let text = opening.headers()["mcp-session-id"].to_str().unwrap();
    let shown = format!("{opening:?}");
    assert!(
        !shown.contains(text) && shown.contains("Sensitive"),
        "{shown}"
    );
    assert!(
        shown.contains("bytes)") && !shown.contains("serverInfo"),
        "{shown}"
    );
    let general = Request::get("http://localhost/mcp")
        .header("Host", "localhost")
        .header("Accept", "text/event-stream")
        .header("Mcp-Session-Id", id)
        .body(Full::<Bytes>::default());
    let general = service.answer(general.unwrap()).await;
    assert!(format!("{general:?}").contains("ResponseBody(events)"));
}

#[tokio::test(start_paused = true)]
async fn a_response_is_sent_in_one_write() {
    let service = service();
    let session = session(&service).await;
    for tool in ["now", "soon"] {
        let request = post(&session, tool, "application/json, text/event-stream");
        let writes = writes(&service, request).await;
        assert_eq!(writes.len(), 1, "{writes:#?}");
        assert!(writes[0].contains("content-type: application/json"));
        assert!(writes[0].contains("here"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_response_after_json_wait_is_a_stream() {
    let service = service();
    let session = session(&service).await;
    let began = tokio::time::Instant::now();
    let request = Request::post("http://localhost/mcp")
        .header("Host", "localhost")
        .header("Content-Type", "application/json")
        .header("Mcp-Session-Id", session)
        .body(Full::<Bytes>::from(
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"never"}}"#,
        ));
    let response = service.answer(request.unwrap()).await;
    let waited = began.elapsed();
    let json_wait = HttpServerOptions::new().timeouts.json_wait;
    assert!(waited >= json_wait && waited < 2 * json_wait, "{waited:?}");
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    let first = response.into_body().frame().await.unwrap().unwrap();
    assert!(
        first.into_data().unwrap().starts_with(b"id: "),
        "the stream begins with an id"
    );
}

/// Returns a service whose tool is ready at its second poll, and the number of polls.
fn counting(options: HttpServerOptions) -> (StreamableHttp, Arc<AtomicUsize>) {
    let polls = Arc::new(AtomicUsize::new(0));
    let counted = polls.clone();
    let tool = Tool::builder("waits").handler(move || {
        let polls = counted.clone();
        std::future::poll_fn(move |_| match polls.fetch_add(1, Ordering::Relaxed) {
            0 => Poll::Pending,
            _ => Poll::Ready("here"),
        })
    });
    let server = Server::new("s", "1").tool(tool).build().unwrap();
    (StreamableHttp::new(server, options), polls)
}

#[tokio::test(start_paused = true)]
async fn a_pending_handler_is_polled_again_in_a_task() {
    for sessions in [Sessions::Stateless, Sessions::Local] {
        let (service, polls) = counting(HttpServerOptions::new().sessions(sessions));
        let mut request = Request::post("http://localhost/mcp")
            .header("Host", "localhost")
            .header("Accept", "application/json, text/event-stream")
            .header("Content-Type", "application/json");
        if sessions == Sessions::Local {
            request = request.header("Mcp-Session-Id", session(&service).await);
        }
        let body = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"waits"}}"#;
        let request = request.body(Full::<Bytes>::from(body)).unwrap();
        let mut answer = pin!(service.answer(request));
        let mut cx = Context::from_waker(Waker::noop());
        assert!(answer.as_mut().poll(&mut cx).is_pending());
        assert!(answer.as_mut().poll(&mut cx).is_pending());
        assert_eq!(polls.load(Ordering::Relaxed), 1, "{sessions:?}");
        tokio::task::yield_now().await;
        assert!(answer.as_mut().poll(&mut cx).is_ready());
        assert_eq!(polls.load(Ordering::Relaxed), 2, "{sessions:?}");
    }
}

/// A body that arrives after a delay.
struct DelayedBody(Pin<Box<tokio::time::Sleep>>, Option<Bytes>);

impl Body for DelayedBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<http_body::Frame<Bytes>, Infallible>>> {
        std::task::ready!(self.0.as_mut().poll(cx));
        Poll::Ready(self.1.take().map(|data| Ok(http_body::Frame::data(data))))
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_has_to_arrive_in_time() {
    let limit = Duration::from_secs(5);
    let (service, _) = counting(
        HttpServerOptions::new()
            .sessions(Sessions::Stateless)
            .timeouts(HttpTimeouts::new().body_timeout(limit)),
    );
    let brief = Duration::from_millis(1);
    for (wait, status) in [(limit - brief, 200), (limit + brief, 408)] {
        let message = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
        let body = DelayedBody(Box::pin(tokio::time::sleep(wait)), Some(message.into()));
        let request = Request::post("http://localhost/mcp")
            .header("Host", "localhost")
            .header("Content-Type", "application/json")
            .body(body);
        let response = service.answer(request.unwrap()).await;
        assert_eq!(response.status(), status);
        let text = response.into_body().collect().await.unwrap().to_bytes();
        let text = String::from_utf8(text.to_vec()).unwrap();
        let named = text.contains("the body did not come in time (HttpTimeouts::body_timeout)");
        assert_eq!(named, status == 408, "{text}");
    }
}

#[tokio::test]
async fn a_body_beyond_the_memory_limit_is_refused_by_the_setting() {
    let limits = Limits::new;
    for (limits, status, setting) in [
        (
            limits().max_owner_bytes(20_000),
            429,
            "Limits::max_owner_bytes",
        ),
        (
            limits().max_total_bytes(20_000),
            503,
            "Limits::max_total_bytes",
        ),
        (limits(), 200, "result"),
    ] {
        let options = HttpServerOptions::new()
            .sessions(Sessions::Stateless)
            .limits(limits);
        let (service, _) = counting(options);
        let padding = " ".repeat(30_000);
        let message = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/list"}}{padding}"#);
        let request = Request::post("http://localhost/mcp")
            .header("Host", "localhost")
            .header("Content-Type", "application/json")
            .body(Full::<Bytes>::from(message));
        let response = service.answer(request.unwrap()).await;
        assert_eq!(response.status(), status);
        assert_eq!(
            response.headers().contains_key("Retry-After"),
            status != 200
        );
        let text = response.into_body().collect().await.unwrap().to_bytes();
        let text = String::from_utf8(text.to_vec()).unwrap();
        assert!(text.contains(setting), "{text}");
        assert_eq!(service.new_account(None).memory().budget().used(), 0);
    }
}

#[tokio::test]
async fn requests_of_one_named_address_leave_half_of_the_memory_to_others() {
    let hang = Tool::builder("hang").handler(std::future::pending::<String>);
    let server = Server::new("s", "1").tool(hang).build().unwrap();
    let limits = Limits::new().max_total_bytes(400_000);
    let options = HttpServerOptions::new()
        .sessions(Sessions::Stateless)
        .limits(limits);
    let service = StreamableHttp::new(server, options);
    let call = |address: [u8; 4]| {
        let padding = " ".repeat(10_000);
        let message = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"hang"}}}}{padding}"#
        );
        let request = Request::post("http://localhost/mcp")
            .header("Host", "localhost")
            .header("Accept", "application/json, text/event-stream")
            .header("Content-Type", "application/json")
            .extension(ClientAddress(address.into()))
            .body(Full::<Bytes>::from(message));
        let (service, request) = (service.clone(), request.unwrap());
        Box::pin(async move { service.answer(request).await.status() })
    };
    let cx = &mut Context::from_waker(Waker::noop());
    let mut running = Vec::new();
    let refused = loop {
        let mut answer = call([192, 0, 2, 1]);
        match answer.as_mut().poll(cx) {
            Poll::Pending => running.push(answer),
            Poll::Ready(status) => break status,
        }
    };
    assert_eq!(refused, 503);
    let used = service.new_account(None).memory().budget().used();
    assert!(used <= 200_000 && used > 150_000, "{used}");
    assert!(call([192, 0, 2, 2]).as_mut().poll(cx).is_pending());
}

#[test]
fn the_future_of_a_response_is_small() {
    let service = service();
    let request = Request::new(Full::<Bytes>::default());
    let answer = service.answer(request);
    let size = size_of_val(&answer);
    assert!(size < 2048, "the future of a response has {size} bytes");
}
