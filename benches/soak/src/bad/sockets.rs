//! Below HTTP, or hardly above: heads and bodies that do not come, come slowly, or are none.

use std::time::Duration;

use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::address::ServerAddress;
use crate::problem::Problem;
use crate::random::Random;
use crate::random::sleep_randomly;
use crate::raw::{Raw, call, modern};
use crate::server::{BODY_TIME, HEADER_TIME, MAX_BODY};

/// The time that is allowed beyond a timeout, on a machine that has other things to do.
const SLACK: Duration = Duration::from_secs(10);

/// Connects, and says nothing.
pub(super) async fn half_open(place: ServerAddress, mut random: Random) -> Result<(), Problem> {
    let mut raw = Raw::connect(place.address).await?;
    if random.below(2) == 0 {
        raw.write("POST /mcp HTT").await;
    }
    raw.ends_within(HEADER_TIME + SLACK).await
}

/// Sends a head byte by byte.
pub(super) async fn slow_head(place: ServerAddress, mut random: Random) -> Result<(), Problem> {
    let mut raw = Raw::connect(place.address).await?;
    let head = b"POST /mcp HTTP/1.1\r\nhost: localhost\r\nx-slow: 1234567890\r\n";
    let began = Instant::now();
    for byte in head.iter().cycle() {
        raw.write([*byte]).await;
        sleep_randomly(&mut random, 100).await;
        if began.elapsed() > HEADER_TIME {
            break;
        }
    }
    raw.ends_within(SLACK).await
}

/// Sends a body byte by byte: it is answered by a refusal.
pub(super) async fn slow_body(place: ServerAddress, mut random: Random) -> Result<(), Problem> {
    let mut raw = Raw::connect(place.address).await?;
    let (headers, body) = modern("tools/call", call("slow", &json!({"ms": 0})));
    let head = format!(
        "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
         accept: application/json, text/event-stream\r\n{headers}content-length: {}\r\n\r\n",
        body.len()
    );
    raw.write(head).await;
    let began = Instant::now();
    for byte in body.bytes() {
        raw.write([byte]).await;
        sleep_randomly(&mut random, 200).await;
        if began.elapsed() > BODY_TIME {
            break;
        }
    }
    let head = raw.head().await?;
    match head.status {
        408 | 400 => raw.ends_within(HEADER_TIME + SLACK).await,
        status => Err(format!("a body that does not come is answered by {status}")),
    }
}

/// Hangs up anywhere in a request.
pub(super) async fn cut_off(place: ServerAddress, mut random: Random) -> Result<(), Problem> {
    let mut raw = Raw::connect(place.address).await?;
    let (headers, body) = modern("tools/call", call("slow", &json!({"ms": 50})));
    let request = format!(
        "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
         accept: application/json, text/event-stream\r\n{headers}content-length: {}\r\n\r\n{body}",
        body.len()
    );
    let at = random.below(request.len());
    raw.write(&request[..at]).await;
    sleep_randomly(&mut random, 100).await;
    Ok(())
}

/// Sends what is no HTTP, or HTTP around what is no message; whatever comes back, an end comes.
pub(super) async fn garbage(place: ServerAddress, mut random: Random) -> Result<(), Problem> {
    let mut raw = Raw::connect(place.address).await?;
    let count = 1 + random.below(600);
    let bytes = random.bytes(count);
    if random.below(2) == 0 {
        raw.write(bytes).await;
        return raw.ends_within(HEADER_TIME + SLACK).await;
    }
    let body = String::from_utf8_lossy(&bytes).into_owned();
    raw.post("/mcp", "", &body).await;
    let (head, _) = raw.answer().await?;
    match head.status {
        400..=499 => Ok(()),
        status => Err(format!("garbage is answered by {status}")),
    }
}

/// Sends more than is taken: by its length, or by what comes.
pub(super) async fn too_large(place: ServerAddress, mut random: Random) -> Result<(), Problem> {
    let mut raw = Raw::connect(place.address).await?;
    let told = random.below(2) == 0;
    let length = if told {
        format!("content-length: {}\r\n", 2 * MAX_BODY)
    } else {
        "transfer-encoding: chunked\r\n".to_owned()
    };
    let head = format!(
        "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
         accept: application/json, text/event-stream\r\n{length}\r\n"
    );
    raw.write(head).await;
    let piece = vec![b'x'; 64 << 10];
    for _ in 0..2 * MAX_BODY / piece.len() {
        let mut chunk = Vec::new();
        if !told {
            chunk.extend_from_slice(format!("{:x}\r\n", piece.len()).as_bytes());
        }
        chunk.extend_from_slice(&piece);
        chunk.extend_from_slice(if told { b"" } else { b"\r\n" });
        let write = tokio::io::AsyncWriteExt::write_all(&mut raw.stream, &chunk);
        if !matches!(tokio::time::timeout(SLACK, write).await, Ok(Ok(()))) {
            break;
        }
    }
    // The refusal may be lost with the connection: bytes were on their way that nobody read.
    match raw.head().await {
        // What is not told beforehand may also take too long.
        Ok(head) if head.status != 413 && (told || head.status != 408) => {
            Err(format!("too much is answered by {}", head.status))
        }
        _ => Ok(()),
    }
}

/// Sends many requests before it reads, and reads some of the answers.
pub(super) async fn many_at_once(place: ServerAddress, mut random: Random) -> Result<(), Problem> {
    let mut raw = Raw::connect(place.address).await?;
    for _ in 0..100 {
        raw.modern("tools/call", call("big", &json!({"bytes": 2000})))
            .await;
    }
    for _ in 0..random.below(100) {
        let (head, _) = raw.answer().await?;
        if head.status != 200 {
            return Err(format!("a sound request is answered by {}", head.status));
        }
    }
    sleep(Duration::from_millis(50)).await;
    Ok(())
}
