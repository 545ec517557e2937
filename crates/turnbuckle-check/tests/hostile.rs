//! Servers that are hostile to whoever checks them: a run ends, in bounded time and memory, and says why.
#![allow(clippy::expect_used, clippy::panic, reason = "tests")]

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, Uri};
use http_body_util::Full;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, duplex};
use tokio::time::Instant;
use turnbuckle_check::lock::Lock;
use turnbuckle_check::report::{Report, Verdict};
use turnbuckle_check::script::Sound;
use turnbuckle_check::{BoxFuture, CheckError, Checker, OpenPipe, Pipe, Target, exchange};
use turnbuckle_wire::revision::Revision;

/// The most that a run may take, on the clock of the test.
const LONGEST_RUN: Duration = Duration::from_secs(400);

/// A server in this process: `answer` returns the lines for a message, or `None` to hang from then on.
struct Server<F>(F);

type Lines = Option<Vec<String>>;

impl<F> OpenPipe for Server<F>
where
    F: Fn(usize, &Value) -> Lines + Clone + Send + Sync + 'static,
{
    fn open(&self) -> BoxFuture<'_, io::Result<Pipe>> {
        let (ours, theirs) = duplex(1 << 16);
        tokio::spawn(serve(theirs, self.0.clone()));
        let (reader, writer) = tokio::io::split(ours);
        Box::pin(std::future::ready(Ok(Pipe {
            reader: Box::new(reader),
            writer: Box::new(writer),
            process: None,
        })))
    }
}

async fn serve(pipe: DuplexStream, answer: impl Fn(usize, &Value) -> Lines) {
    let (reader, mut writer) = tokio::io::split(pipe);
    let mut lines = BufReader::new(reader).lines();
    let mut count = 0;
    while let Ok(Some(line)) = lines.next_line().await {
        let message = serde_json::from_str(&line).unwrap_or_default();
        count += 1;
        let Some(lines) = answer(count, &message) else {
            return std::future::pending().await;
        };
        for line in lines {
            if writer
                .write_all(format!("{line}\n").as_bytes())
                .await
                .is_err()
            {
                return;
            }
        }
    }
}

/// Returns the answer of a plain server of 2025-11-25 with one tool.
fn plain(message: &Value) -> Vec<String> {
    let id = &message["id"];
    if id.is_null() {
        return Vec::new();
    }
    let result = match message["method"].as_str().unwrap_or_default() {
        "initialize" => json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
            "serverInfo": {"name": "plain", "version": "1"}}),
        "ping" => json!({}),
        "tools/list" => json!({"tools": [{"name": "one", "inputSchema": {"type": "object"}}]}),
        _ => {
            let error = json!({"code": -32601, "message": "no such method"});
            return vec![json!({"jsonrpc": "2.0", "id": id, "error": error}).to_string()];
        }
    };
    vec![json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string()]
}

async fn run(
    answer: impl Fn(usize, &Value) -> Lines + Clone + Send + Sync + 'static,
) -> Result<Report, CheckError> {
    let begun = Instant::now();
    let target = Target::new("hostile").pipe(Server(answer));
    let report = Checker::new(target).run().await;
    let took = begun.elapsed();
    assert!(took < LONGEST_RUN, "the run took {took:?}");
    report
}

fn has_finding(report: &Report, id: &str) -> bool {
    let checks = report.cases.iter().flat_map(|case| &case.checks);
    checks
        .into_iter()
        .any(|check| check.id == id && check.verdict != Verdict::Pass)
}

#[tokio::test(start_paused = true)]
async fn a_plain_server_is_checked_to_its_end() {
    let report = run(|_, message| Some(plain(message)))
        .await
        .expect("a report");
    assert_eq!(report.cases.len(), 1);
    assert_eq!(report.cases[0].stopped, None);
}

#[tokio::test(start_paused = true)]
async fn a_silent_server_is_unreachable() {
    let error = run(|_, _| None).await.expect_err("nothing answers");
    let CheckError::Unreachable(reason) = error else {
        panic!("{error}");
    };
    assert!(reason.contains("did not come within"), "{reason}");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_hangs_at_any_step_ends_its_case_with_a_reason() {
    for steps in 2..12 {
        let outcome = run(move |count, message| (count < steps).then(|| plain(message))).await;
        match outcome {
            Ok(report) => {
                let case = &report.cases[0];
                let findings = case.checks.iter().map(|check| check.findings.len());
                assert!(
                    case.stopped.is_some() || findings.sum::<usize>() > 0,
                    "{steps}"
                );
            }
            Err(CheckError::Unreachable(_)) => {}
            Err(error) => panic!("{steps}: {error}"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_flood_of_notifications_ends_with_a_reason() {
    let noise = json!({"jsonrpc": "2.0", "method": "notifications/message",
        "params": {"level": "info", "data": "noise"}})
    .to_string();
    let report = run(move |count, message| {
        let mut lines = plain(message);
        if count > 6 {
            lines.splice(0..0, std::iter::repeat_n(noise.clone(), 5_000));
        }
        Some(lines)
    })
    .await
    .expect("a report");
    let texts = report.cases.iter().flat_map(|case| &case.checks);
    let sentences: Vec<_> = texts
        .flat_map(|check| &check.findings)
        .map(|finding| finding.sentence.clone())
        .collect();
    let is_told = |text: &String| text.contains("messages that answer no request");
    assert!(sentences.iter().any(is_told), "{sentences:?}");
}

#[tokio::test(start_paused = true)]
async fn an_endless_list_is_cut() {
    let report = run(|_, message| {
        if message["method"] != "tools/list" {
            return Some(plain(message));
        }
        let tool = |index| json!({"name": format!("t{index}"), "inputSchema": {"type": "object"}});
        let tools: Vec<_> = (0..1000).map(tool).collect();
        let cursor = message["params"]["cursor"].as_str().unwrap_or("0");
        let next = cursor.parse::<u64>().unwrap_or_default() + 1;
        let result = json!({"tools": tools, "nextCursor": next.to_string()});
        let id = &message["id"];
        Some(vec![
            json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string(),
        ])
    })
    .await
    .expect("a report");
    let interface = report.cases[0]
        .interface
        .as_ref()
        .expect("it was looked at");
    assert!(interface.tools.len() <= 10_000);
}

#[tokio::test(start_paused = true)]
async fn garbage_instead_of_messages_is_a_finding() {
    let report = run(|count, message| {
        let mut lines = plain(message);
        if count > 2 {
            lines.insert(0, "Listening on port 3000".into());
        }
        Some(lines)
    })
    .await
    .expect("a report");
    assert!(has_finding(&report, "frame.stdout-is-messages"));
    assert_eq!(report.cases[0].stopped, None);
}

#[tokio::test(start_paused = true)]
async fn a_reference_into_the_network_is_found_and_not_followed() {
    let report = run(|_, message| {
        if message["method"] != "tools/list" {
            return Some(plain(message));
        }
        let schema = json!({"type": "object",
            "properties": {"a": {"$ref": "http://127.0.0.1:1/schema.json"}}});
        let result = json!({"tools": [{"name": "one", "inputSchema": schema}]});
        let id = &message["id"];
        Some(vec![
            json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string(),
        ])
    })
    .await
    .expect("a report");
    assert!(has_finding(&report, "tools.no-remote-ref"));
}

/// A child that ignores SIGTERM and the end of its input, floods its standard error and starts a child.
#[cfg(unix)]
#[tokio::test]
async fn a_child_that_does_not_want_to_end_is_killed_with_all_that_it_started() {
    use turnbuckle_check::Command;

    let marker = format!("31{}", std::process::id());
    let script = format!(
        r#"trap '' TERM HUP; sleep {marker} & head -c 3000000 /dev/zero >&2; while :; do read -r line || sleep {marker}; done"#
    );
    let target = Target::new("sh").command(Command::new("sh").args(["-c", &script]));
    let checker = Checker::new(target).timeout(Duration::from_millis(50));
    let error = checker.run().await.expect_err("it never answers");
    assert!(matches!(error, CheckError::Unreachable(_)), "{error}");
    let is_ours = |folder: std::fs::DirEntry| {
        let words = std::fs::read(folder.path().join("cmdline")).unwrap_or_default();
        let state = std::fs::read_to_string(folder.path().join("stat")).unwrap_or_default();
        let is_zombie = state
            .rsplit(')')
            .next()
            .is_some_and(|rest| rest.starts_with(" Z"));
        !is_zombie
            && words
                .split(|byte| *byte == 0)
                .any(|word| word == marker.as_bytes())
    };
    for _ in 0..100 {
        let processes = std::fs::read_dir("/proc").expect("there is a /proc");
        if !processes.flatten().any(is_ours) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("a process is left");
}

#[tokio::test(start_paused = true)]
async fn a_transport_that_fails_beside_one_that_works_is_a_case_that_stopped() {
    let refusing =
        exchange(|_| async { Err::<Response<Full<Bytes>>, _>(io::Error::other("nobody listens")) });
    let target = Sound::new().target();
    let target = target.sse(Uri::from_static("http://127.0.0.1/sse"), refusing);
    let checker = Checker::new(target).only("tools.unique");
    let report = checker.run().await.expect("lines and HTTP work");
    let stopped: Vec<_> = report
        .cases
        .iter()
        .filter_map(|case| Some((case.transport.as_str(), case.stopped.as_deref()?)))
        .collect();
    let [("sse", reason)] = stopped[..] else {
        panic!("{stopped:?}");
    };
    assert!(reason.contains("nobody listens"), "{reason}");
}

#[tokio::test(start_paused = true)]
async fn a_lock_has_no_secrets_of_definitions() {
    let lock = async |checker: Checker| {
        let report = checker.only("tools.unique").run().await.expect("it runs");
        let mut text = Vec::new();
        let lock = Lock::from_report(&report).expect("there are lists");
        lock.write(&mut text).expect("memory has room");
        String::from_utf8(text).expect("it is JSON")
    };
    let checker = Checker::new(Sound::new().target());
    let plain = lock(checker.clone()).await;
    let redacted = lock(checker.redact(|text| text.replace("simple", "[redacted]"))).await;
    assert!(
        plain.contains("\"description\": \"") && plain.contains("simple"),
        "{plain}"
    );
    assert!(
        redacted.contains("[redacted]") && !redacted.contains("simple"),
        "{redacted}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_server_that_gives_sessions_no_id_is_told_the_revision() {
    let nameless = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&nameless);
    let server = exchange(move |request: Request<Bytes>| {
        let message: Value = serde_json::from_slice(request.body()).unwrap_or_default();
        let version = request.headers().get("mcp-protocol-version");
        let is_named = version.is_some_and(|version| version == "2025-11-25");
        if message["method"] != "initialize" && !is_named {
            count.fetch_add(1, Ordering::Relaxed);
        }
        let answer = plain(&message).into_iter().next();
        let status = if answer.is_some() { 200 } else { 202 };
        let response = Response::builder().status(status);
        let response = response.header("content-type", "application/json");
        let body = Full::new(Bytes::from(answer.unwrap_or_default()));
        std::future::ready(response.body(body).map_err(io::Error::other))
    });
    let target = Target::new("stateless").http(Uri::from_static("http://127.0.0.1/mcp"), server);
    let checker = Checker::new(target).revisions([Revision::V2025_11_25]);
    let report = checker.only("pages").run().await.expect("it is reached");
    assert_eq!(report.cases[0].stopped, None);
    assert_eq!(nameless.load(Ordering::Relaxed), 0);
}
