//! Lines on standard input and output, and the life of the process behind them.
//!
//! Specification: basic/transports, "stdio".

use std::time::Duration;

use serde_json::{Value, json};

use crate::case::Bind;
use crate::check::{Check, Need, Stop};
use crate::context::CheckContext;
use crate::probe::{Arrival, LinesLink, Link, ProbeError};
use crate::report::Level;

/// The size of a long line.
const LONG_LINE_BYTES: usize = 1 << 20;

pub(super) const CHECKS: &[Check] = &[
    Check::new(
        "frame.stdout-is-messages",
        Level::Must,
        "nothing but messages is written to standard output",
        |cx| Box::pin(stdout_is_messages(cx)),
    )
    .only_over(&[Bind::Stream])
    .once()
    .requires(&["69b7bfae298c", "126d7348daa8", "41e2a7e9626a"])
    .fix("write logs to standard error; one message per line to standard output, and nothing else"),
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

/// Opens a connection and does what makes a harmless request possible.
async fn open(cx: &mut CheckContext<'_>) -> Result<LinesLink, Stop> {
    let opening = cx.lines();
    let is_modern = cx.is_modern();
    let params = cx.options().handshake_params(cx.revision());
    let limit = cx.timeout();
    let mut lines = opening.await?;
    if !is_modern {
        let request = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
        lines.send(request.to_string().as_bytes()).await?;
        next_answer(&mut lines, limit).await?;
        let done = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        lines.send(done.to_string().as_bytes()).await?;
    }
    Ok(lines)
}

/// Returns the next line that is a response.
async fn next_answer(lines: &mut LinesLink, limit: Duration) -> Result<Value, ProbeError> {
    let reading = async {
        loop {
            let Some(Arrival::Frame(line)) = lines.next().await? else {
                return Err(ProbeError::Closed {
                    what: "an answer".into(),
                });
            };
            if let Ok(message) = serde_json::from_slice::<Value>(&line)
                && message.get("method").is_none()
            {
                return Ok(message);
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

async fn stdout_is_messages(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let limit = cx.timeout();
    let mut lines = open(cx).await?;
    let request = cx.message(1, cx.harmless_request(), json!({}));
    lines.send(request.to_string().as_bytes()).await?;
    let mut written = vec![];
    loop {
        let next = tokio::time::timeout(limit, lines.next()).await;
        let Ok(Ok(Some(Arrival::Frame(line)))) = next else {
            break;
        };
        let is_answer = serde_json::from_slice::<Value>(&line).is_ok_and(|it| it["id"] == 1);
        written.push(line);
        if is_answer {
            break;
        }
    }
    written.extend(lines.drain(limit).await.unwrap_or_default());
    for line in written {
        let text = String::from_utf8_lossy(&line);
        if !serde_json::from_slice::<Value>(&line).is_ok_and(|it| it.is_object() || it.is_array()) {
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
    let answer = next_answer(&mut lines, limit).await?;
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
        match next_answer(&mut lines, limit).await {
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
    if let Err(error) = next_answer(&mut lines, limit).await {
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
