//! Lines on standard input and output, and the life of the process behind them.
//!
//! Specification: basic/transports, "stdio".

use std::collections::HashSet;
use std::time::Duration;

use serde_json::{Value, json};

use crate::case::Bind;
use crate::check::{Check, Need, Stop};
use crate::context::CheckContext;
use crate::probe::{Arrival, LinesLink, Link, ProbeError, START_FACTOR, SchemaFault};
use crate::report::Level;

/// The size of a long line.
const LONG_LINE_BYTES: usize = 1 << 20;

/// Lines that are no messages, of which a report names each.
const MAX_STRAYS: usize = 10;

pub(super) const CHECKS: &[Check] = &[
    Check::new(
        "frame.split-writes",
        Level::Must,
        "a message that comes in pieces is read as one",
        |cx| Box::pin(split_writes(cx)),
    )
    .only_over(&[Bind::Stream])
    .once()
    .requires(&["126d7348daa8"])
    .fix("read up to the end of the line, however many reads that takes"),
    Check::new(
        "frame.garbage-line-survived",
        Level::Should,
        "a line that is no message does not end the connection",
        |cx| Box::pin(garbage_survived(cx)),
    )
    .only_over(&[Bind::Stream])
    .once()
    .requires(&["9774fb4db6ac"])
    .fix("answer a line that cannot be read with an error, and read the next one"),
    Check::new(
        "frame.megabyte-line",
        Level::Note,
        "a message of one megabyte is answered",
        |cx| Box::pin(megabyte_line(cx)),
    )
    .only_over(&[Bind::Stream])
    .once()
    .hostile()
    .fix("read long lines, up to a limit that you document"),
    Check::new(
        "frame.ends-with-stdin",
        Level::Should,
        "the process ends when its input ends",
        |cx| Box::pin(ends_with_stdin(cx)),
    )
    .only_over(&[Bind::Stream])
    .once()
    .needs(&[Need::Process])
    .requires(&["7d145cdf0ad1", "0426242f3192", "4d070c6160b5"])
    .fix("end the process when standard input reaches its end"),
    Check::new(
        "frame.ends-on-sigterm",
        Level::Should,
        "the process ends when it is asked to by SIGTERM",
        |cx| Box::pin(ends_on_sigterm(cx)),
    )
    .only_over(&[Bind::Stream])
    .once()
    .needs(&[Need::Process])
    .requires(&["6c4b4a8a3d30", "7ded80ed1907"])
    .fix("do not ignore SIGTERM"),
    Check::new(
        "frame.no-child-left",
        Level::Note,
        "no process is left when the server has ended",
        |cx| Box::pin(no_child_left(cx)),
    )
    .only_over(&[Bind::Stream])
    .once()
    .needs(&[Need::Process])
    .fix("end the processes that you have started before you end"),
];

/// The check that is made last: what other checks made the server write is part of it.
pub(super) const FINAL_CHECKS: &[Check] = &[Check::new(
    "frame.stdout-is-messages",
    Level::Must,
    "nothing but messages is written to standard output",
    |cx| Box::pin(stdout_is_messages(cx)),
)
.only_over(&[Bind::Stream])
.once()
.requires(&["69b7bfae298c", "126d7348daa8", "41e2a7e9626a"])
.fix("write logs to standard error; one message per line to standard output, and nothing else")];

/// Opens a connection and waits for its first answer: a process may have to start.
async fn open(cx: &mut CheckContext<'_>) -> Result<LinesLink, Stop> {
    open_noting(cx, &mut Vec::new()).await
}

/// Opens a connection and waits for its first answer, and notes the lines that are no messages.
async fn open_noting(
    cx: &mut CheckContext<'_>,
    strays: &mut Vec<Vec<u8>>,
) -> Result<LinesLink, Stop> {
    let opening = cx.lines();
    let is_modern = cx.is_modern();
    let first = match is_modern {
        true => cx.message(0, cx.harmless_request(), json!({})),
        false => {
            let params = cx.options().handshake_params(cx.revision());
            json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params})
        }
    };
    let limit = cx.timeout() * START_FACTOR;
    let mut lines = opening.await?;
    lines.send(first.to_string().as_bytes()).await?;
    next_answer(&mut lines, limit, strays).await?;
    if !is_modern {
        let done = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        lines.send(done.to_string().as_bytes()).await?;
    }
    Ok(lines)
}

/// Returns the next line that is a response, and notes the lines before it that are no messages.
async fn next_answer(
    lines: &mut LinesLink,
    limit: Duration,
    strays: &mut Vec<Vec<u8>>,
) -> Result<Value, ProbeError> {
    let reading = async {
        loop {
            let Some(Arrival::Frame(line)) = lines.next().await? else {
                return Err(ProbeError::Closed {
                    what: "an answer".into(),
                });
            };
            match serde_json::from_slice::<Value>(&line) {
                Ok(message) if is_message(&message) && message.get("method").is_none() => {
                    return Ok(message);
                }
                Ok(message) if is_message(&message) => {}
                _ if strays.len() < MAX_STRAYS => strays.push(line),
                _ => {}
            }
        }
    };
    let out = ProbeError::TimedOut {
        what: "an answer".into(),
        limit,
    };
    tokio::time::timeout(limit, reading)
        .await
        .unwrap_or(Err(out))
}

fn is_message(line: &Value) -> bool {
    line.is_object() || line.is_array()
}

async fn stdout_is_messages(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let limit = cx.timeout();
    let mut strays = Vec::new();
    let mut lines = open_noting(cx, &mut strays).await?;
    let request = cx.message(1, cx.harmless_request(), json!({}));
    lines.send(request.to_string().as_bytes()).await?;
    let _ = next_answer(&mut lines, limit, &mut strays).await;
    let last = lines.drain(limit).await.unwrap_or_default();
    strays.extend(last.into_iter().filter(|line| {
        let line = serde_json::from_slice::<Value>(line);
        !line.is_ok_and(|line| is_message(&line))
    }));
    let mut texts: Vec<_> = strays
        .iter()
        .map(|line| String::from_utf8_lossy(line).into_owned())
        .collect();
    let others = cx.schema_faults().iter();
    let others = others.filter(|it| it.faults.iter().any(|fault| fault == SchemaFault::NOT_JSON));
    texts.extend(others.map(|it| it.message.clone()));
    let mut seen = HashSet::new();
    for text in texts {
        if seen.len() < MAX_STRAYS && seen.insert(text.clone()) {
            cx.fault(format!("a line of standard output is no message: {text}"));
        }
    }
    Ok(())
}

async fn split_writes(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let limit = cx.timeout();
    let mut lines = open(cx).await?;
    let request = cx.message("check-ü", cx.harmless_request(), json!({}));
    let text = format!("{request}\n");
    let bytes = text.as_bytes();
    // In the middle of a character, and before the end of the line.
    let middle = text.find('ü').map_or(10, |at| at + 1);
    for piece in [&bytes[..middle], &bytes[middle..bytes.len() - 1], b"\n"] {
        lines.write(piece).await?;
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let answer = next_answer(&mut lines, limit, &mut Vec::new()).await?;
    if answer["id"] != "check-ü" {
        cx.fault(format!(
            "a message in three pieces is answered with {answer}"
        ));
    }
    Ok(())
}

async fn garbage_survived(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let limit = cx.timeout();
    let mut lines = open(cx).await?;
    for garbage in [&b"this is no JSON"[..], b"\"text\"", b"\xff\xfe"] {
        lines.send(garbage).await?;
    }
    let request = cx.message("check-after", cx.harmless_request(), json!({}));
    lines.send(request.to_string().as_bytes()).await?;
    loop {
        match next_answer(&mut lines, limit, &mut Vec::new()).await {
            Ok(answer) if answer["id"] == "check-after" => return Ok(()),
            Ok(_) => {}
            Err(error) => {
                cx.fault(format!("after lines that are no messages: {error}"));
                return Ok(());
            }
        }
    }
}

async fn megabyte_line(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let limit = cx.timeout();
    let mut lines = open(cx).await?;
    let params = json!({"_meta": {"example.com/check": "x".repeat(LONG_LINE_BYTES)}});
    let request = cx.message("check-long", cx.harmless_request(), params);
    lines.send(request.to_string().as_bytes()).await?;
    if let Err(error) = next_answer(&mut lines, limit, &mut Vec::new()).await {
        cx.fault(format!("a message of one megabyte: {error}"));
    }
    Ok(())
}

async fn ends_with_stdin(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let limit = cx.timeout();
    let mut lines = open(cx).await?;
    lines.drain(limit).await?;
    let Some(process) = lines.process() else {
        return Ok(());
    };
    if process.wait(limit).await.is_none() {
        cx.fault(format!(
            "the process is alive {limit:?} after the end of its input"
        ));
    }
    Ok(())
}

async fn ends_on_sigterm(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let limit = cx.timeout();
    let mut lines = open(cx).await?;
    let Some(process) = lines.process() else {
        return Ok(());
    };
    process.terminate();
    if process.wait(limit).await.is_none() {
        cx.fault(format!("the process is alive {limit:?} after SIGTERM"));
    }
    Ok(())
}

async fn no_child_left(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let limit = cx.timeout();
    let mut lines = open(cx).await?;
    let _ = lines.drain(limit).await;
    let Some(process) = lines.process() else {
        return Ok(());
    };
    if process.wait(limit).await.is_none() {
        return Err(Stop::Skip("the server does not end with its input".into()));
    }
    // What the server has started gets a moment to notice its end.
    for _ in 0..20 {
        if !process.is_group_alive() {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    cx.fault("a process that the server has started is left after its end");
    Ok(())
}
