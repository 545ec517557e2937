//! A stream that breaks under load is taken up where it broke: with the id of the last event that
//! came, and what comes after that comes once.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::runtime::Builder;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use turnbuckle_client::{Client, EraPreference};
use turnbuckle_http::{HttpConnector, HttpServerOptions, StreamableHttp};
use turnbuckle_it::web::sessions;
use turnbuckle_it::wires::{Harm, Passed, Script, Toward, Wires};
use turnbuckle_server::{HandlerContext, Server, Tool};
use turnbuckle_wire::revision::Revision;

/// Calls under way at a time, each on a stream of its own.
const CALLS: usize = 4;

/// Number of progress notifications of each call.
const STEPS: u64 = 6;

const PATIENCE: Duration = Duration::from_secs(3600);

/// Outcome of one call, and the progress steps received before.
type CallOutcome = (Result<String, String>, Vec<u64>);

/// Record of one conversation.
struct Run {
    outcomes: Vec<CallOutcome>,
    wires: Vec<[Passed; 2]>,
}

fn server() -> Server {
    let count = async |(): (), context: HandlerContext| {
        for step in 1..=STEPS {
            sleep(Duration::from_millis(100)).await;
            context.progress(step, Some(STEPS.into())).await;
        }
        "done"
    };
    Server::new("counting", "1.0.0")
        .tool(Tool::builder("count").handler(count))
        .tool(Tool::builder("plain").handler(async |(): (), _: HandlerContext| "plain"))
        .build()
        .unwrap()
}

async fn count(client: Client) -> CallOutcome {
    let steps = Arc::new(Mutex::new(Vec::new()));
    let log = steps.clone();
    let call = client.call_tool("count", &()).on_progress(move |progress| {
        log.lock().unwrap().push(progress.progress.as_f64() as u64);
    });
    let ended = match timeout(PATIENCE, call.send()).await.expect("it hangs") {
        Ok(result) => Ok(result.content[0].as_text().unwrap_or_default().to_owned()),
        Err(error) => Err(error.to_string()),
    };
    let steps = steps.lock().unwrap().clone();
    (ended, steps)
}

/// Has all the calls at a time, and short ones beside them.
async fn load(revision: Revision, wires: &Wires) -> Vec<CallOutcome> {
    let service = StreamableHttp::new(server(), HttpServerOptions::new());
    let connector = HttpConnector::new("http://localhost/mcp").unwrap();
    let client = Client::builder("c", "1")
        .era(EraPreference::Only(revision))
        .connect(connector.http_client(wires.web(service)))
        .await
        .unwrap();
    let mut calls = JoinSet::new();
    for number in 0..CALLS {
        let client = client.clone();
        calls.spawn(async move { (number, count(client).await) });
    }
    for _ in 0..20 {
        client.call_tool("plain", &()).send().await.unwrap();
        sleep(Duration::from_millis(40)).await;
    }
    let mut outcomes = calls.join_all().await;
    outcomes.sort_by_key(|(number, _)| *number);
    assert_eq!(client.in_flight(), Default::default());
    client.close().await;
    outcomes.into_iter().map(|(_, outcome)| outcome).collect()
}

fn run(revision: Revision, script: Script) -> Run {
    let clock = Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build();
    let wires = Wires::new(script);
    let outcomes = clock.unwrap().block_on(load(revision, &wires));
    let wires = wires.trace().wires();
    Run { outcomes, wires }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Returns the id of the last complete event in that text.
fn last_id(arrived: &str) -> Option<String> {
    let (whole, _) = arrived.rsplit_once("\n\n")?;
    let (_, id) = whole.rsplit_once("id: ")?;
    Some(id.lines().next().unwrap_or_default().to_owned())
}

/// Returns the connections that resumed a stream, each with the id that it resumed from.
fn comebacks(run: &Run) -> Vec<(usize, String)> {
    let asked = run.wires.iter().map(|wire| text(&wire[0].bytes));
    let header = |asked: &str| {
        let (_, id) = asked.split_once("last-event-id: ")?;
        id.lines().next().map(str::to_owned)
    };
    let came = asked
        .enumerate()
        .map(|(number, asked)| (number, header(&asked)));
    came.filter_map(|(number, id)| Some((number, id?)))
        .collect()
}

/// Returns the connections on which calls are answered by streams.
fn streams(run: &Run) -> Vec<usize> {
    let streams = |wire: &[Passed; 2]| {
        text(&wire[0].bytes).contains(r#""name":"count""#)
            && text(&wire[1].bytes).contains("text/event-stream")
    };
    let wires = run.wires.iter().enumerate();
    let wires = wires.filter(|(_, wire)| streams(wire));
    wires.map(|(number, _)| number).collect()
}

/// Asserts that every step was received exactly once.
fn each_once(place: &str, outcome: &CallOutcome) {
    let (ended, steps) = outcome;
    assert_eq!(ended.as_deref(), Ok("done"), "{place}");
    assert_eq!(*steps, Vec::from_iter(1..=STEPS), "{place}");
}

/// Cuts that connection at every place, with these harms done already. How many calls went on.
fn cut(revision: Revision, harms: &Script, before: &Run, wire: usize) -> usize {
    let mut resumed = 0;
    let passed = &before.wires[wire][1];
    let known = comebacks(before);
    let taken_up = known.iter().find(|(number, _)| *number == wire);
    for at in passed.cuts(false) {
        let cut = Harm::Cut(wire, Toward::Client, at);
        let place = format!("{revision} {cut:?}");
        let run = run(revision, harms.clone().harm(cut));
        let arrived = text(&passed.bytes[..at]);
        // A connection that brought nothing leaves it at what was known before.
        let last = last_id(&arrived).or_else(|| Some(taken_up?.1.clone()));
        let came = comebacks(&run);
        let broke = run
            .outcomes
            .iter()
            .filter(|(ended, _)| ended.is_err())
            .count();
        match last {
            // The end of a whole stream is no reason to come back.
            Some(_) if at == passed.bytes.len() => assert_eq!(broke, 0, "{place}"),
            Some(last) => {
                run.outcomes
                    .iter()
                    .for_each(|outcome| each_once(&place, outcome));
                let next = came.iter().find(|(number, _)| *number > wire);
                if let Some((next, id)) = next {
                    assert_eq!(*id, last, "{place}");
                    let rest = text(&run.wires[*next][1].bytes);
                    // Its id stands there again, without a message.
                    let again = format!("id: {last}\nevent: message");
                    assert!(!rest.contains(&again), "{place}: {rest}");
                    resumed += 1;
                } else {
                    // All that was still to come was the end of the body.
                    assert!(arrived.contains("\"done\""), "{place}");
                }
            }
            // Nothing came by which it could be found again.
            None => assert!(broke <= 1, "{place}"),
        }
    }
    resumed
}

#[test]
fn a_stream_that_breaks_under_load_goes_on_where_it_broke() {
    for revision in sessions() {
        let whole = run(revision, Script::plain());
        whole
            .outcomes
            .iter()
            .for_each(|outcome| each_once("whole", outcome));
        assert!(comebacks(&whole).is_empty());
        let streams = streams(&whole);
        assert_eq!(streams.len(), CALLS, "{revision}");
        let resumed = cut(revision, &Script::plain(), &whole, streams[1]);
        assert!(resumed > 10, "{resumed}");
        // And what was taken up breaks again.
        let passed = &whole.wires[streams[1]][1];
        let middle = Harm::Cut(streams[1], Toward::Client, passed.bytes.len() / 2);
        let once = Script::plain().harm(middle);
        let broken = run(revision, once.clone());
        let came = comebacks(&broken);
        assert_eq!(came.len(), 1, "{revision}");
        let resumed = cut(revision, &once, &broken, came[0].0);
        assert!(resumed > 2, "{resumed}");
    }
}
