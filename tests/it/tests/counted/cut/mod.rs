//! A server's process whose streams are cut at every step: the input and the output, each in every
//! way in which a process can end one.

mod process;

use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::timeout;
use turnbuckle_client::{Client, EraPreference, Error, ReconnectPolicy};
use turnbuckle_it::peer::open_files;
use turnbuckle_it::wires::{Script, Toward, Wires};
use turnbuckle_session::transport::{Connector, Timeouts};
use turnbuckle_stdio::ShutdownTimeouts;
use turnbuckle_wire::revision::Revision;

use super::{Clock, alone, leaves_nothing, tasks};
use process::{Cut, ENDS, End, STATUS, server};

/// Long enough for a process.
const SOON: Duration = Duration::from_secs(20);

/// Time to wait for an end that no side announces.
const SILENCE: Duration = Duration::from_secs(1);

/// Processes that run at a time.
const AT_ONCE: usize = 28;

/// Outcomes of the requests of a conversation; a single one when there was no connection.
type Ends = Vec<Result<String, Error>>;

/// Connects and has two calls under way at a time.
async fn converse(revision: Revision, way: impl Connector, patience: Duration) -> Ends {
    let reconnects = ReconnectPolicy::new().initial_backoff(Duration::from_millis(1));
    let connected = Client::builder("cut", "1.0.0")
        .era(EraPreference::Only(revision))
        .reconnect_policy(reconnects)
        .timeouts(Timeouts::uniform(patience))
        .connect_timeout(patience)
        .connect(way)
        .await;
    let client = match connected {
        Ok(client) => client,
        Err(error) => return vec![Err(error)],
    };
    let call = async |tool: &str| {
        let result = client.call_tool(tool, &()).send().await?;
        let texts = result.content.iter().filter_map(|block| block.as_text());
        Ok(texts.collect::<String>())
    };
    let (now, later) = tokio::join!(call("now"), call("later"));
    assert_eq!(client.in_flight(), Default::default());
    client.close().await;
    vec![now, later]
}

/// Returns every place at which the streams of that conversation can be cut, and whether it is the
/// last.
async fn places(revision: Revision) -> Vec<(Cut, bool)> {
    let wires = Wires::new(Script::plain());
    let whole = converse(revision, wires.lines(server()), SOON).await;
    assert!(whole.len() == 2 && whole.iter().all(Result::is_ok));
    let mut places = Vec::new();
    let [passed] = &wires.trace().wires()[..] else {
        panic!("one connection is enough");
    };
    for (toward, passed) in [Toward::Server, Toward::Client].into_iter().zip(passed) {
        let cuts = passed.cuts(true);
        assert!(cuts.len() > 8);
        for end in ENDS {
            places.extend(cuts.iter().map(|at| {
                let cut = Cut {
                    toward,
                    end,
                    at: *at,
                };
                (cut, *at == passed.bytes.len())
            }));
        }
    }
    places
}

/// Returns whether one of the sides notices the cut at once, so that no wait is needed.
fn is_told(cut: Cut) -> bool {
    matches!(
        (cut.toward, cut.end),
        (_, End::Exit) | (Toward::Client, End::Closed)
    )
}

/// Has the conversation with a process whose streams are cut.
async fn run_cut(revision: Revision, cut: Cut, is_last: bool) -> (Cut, Ends) {
    // All that is to be said is said before the last place, except to a process that exits.
    let all_came = is_last && (cut.toward == Toward::Client || cut.end != End::Exit);
    let patience = match all_came || is_told(cut) {
        true => SOON,
        false => SILENCE,
    };
    let times = ShutdownTimeouts::new()
        .close_timeout(Duration::from_millis(100))
        .term_timeout(Duration::from_millis(500));
    let conversation = converse(revision, cut.process().shutdown(times), patience);
    let ends = timeout(2 * SOON, conversation).await;
    let ends = ends.unwrap_or_else(|_| panic!("{revision}, {cut}: it hangs"));
    for (end, text) in ends.iter().zip(["now", "later"]) {
        match end {
            Ok(answer) => assert_eq!(answer, text, "{revision}, {cut}"),
            Err(error) => {
                assert!(!all_came, "{revision}, {cut}: all of it came: {error:?}");
                assert!(is_named(cut, error), "{revision}, {cut}: {error:?}");
            }
        }
    }
    (cut, ends)
}

/// Returns whether an error tells what happened to the process.
fn is_named(cut: Cut, error: &Error) -> bool {
    let (Error::ConnectionLost { reason, .. } | Error::Unreachable { reason, .. }) = error else {
        return error.is_timeout() && !is_told(cut);
    };
    let text = reason.to_string();
    match (cut.toward, cut.end) {
        (_, End::Exit) => text.contains(&format!("exit status: {STATUS}")),
        (Toward::Client, End::Closed) => text.contains("closed its output"),
        (Toward::Server, End::Closed) => text.contains("no longer reads"),
        (_, End::Stuck) => false,
    }
}

#[test]
fn a_process_is_cut_off_at_every_step() {
    let mut cuts = Vec::new();
    alone(Clock::Paused, async {
        for revision in [Revision::NEWEST_LEGACY, Revision::NEWEST] {
            let places = places(revision).await.into_iter();
            cuts.extend(places.map(|(cut, is_last)| (revision, cut, is_last)));
        }
    });
    alone(Clock::Real, async {
        // What the runtime opens for itself with its first process stays.
        let (revision, whole, _) = cuts[0];
        let whole = Cut {
            at: usize::MAX,
            ..whole
        };
        let first = converse(revision, whole.process(), SOON).await;
        assert!(first.iter().all(Result::is_ok), "{first:?}");
        let before = (tasks(), open_files());
        let (mut running, mut ended) = (JoinSet::new(), Vec::new());
        for (revision, cut, is_last) in cuts {
            if running.len() == AT_ONCE {
                ended.extend(running.join_next().await);
            }
            running.spawn(run_cut(revision, cut, is_last));
        }
        while let Some(one) = running.join_next().await {
            ended.push(one);
        }
        let ended: Vec<(Cut, Ends)> = ended.into_iter().map(|one| one.unwrap()).collect();
        for toward in [Toward::Server, Toward::Client] {
            for end in ENDS {
                let of_this = ended
                    .iter()
                    .filter(|(cut, _)| (cut.toward, cut.end) == (toward, end));
                let failed = of_this.filter(|(_, ends)| ends.iter().any(Result::is_err));
                assert!(failed.count() > 8, "{toward:?} {end:?}");
            }
        }
        eprintln!("{} places to cut a process off", ended.len());
        leaves_nothing(before).await;
    });
}
