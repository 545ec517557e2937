//! The client: whatever a server says and whenever, every request ends, what is asked is answered
//! at most once, the connection lives, and nothing is left of it.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::runtime::Handle;
use tokio::time::{Instant, sleep};
use turnbuckle_client::Client;
use turnbuckle_session::transport::{TransportConnector, memory_pair};
use turnbuckle_wire::revision::Revision;

use super::converse::runtime;
use super::hostile::Hostile;
use super::user::User;

/// The most lines of an input.
const MAX_LINES: usize = 64;

/// The most seconds that a line lets pass.
const MAX_PAUSE: u64 = 1_000;

/// By when everything has ended that a silent server leaves waiting.
const AN_HOUR: Duration = Duration::from_secs(3600);

/// By when everything is gone after the end.
const A_WHILE: Duration = Duration::from_secs(10);

/// The method of the last request.
const LAST: &str = "test/last";

/// Runs the target on `input`, in lines. `+` and a word is an action that the user begins (see
/// `User::begin`), `-` is an action that the user drops, `.` and a number are seconds that pass;
/// every other line is sent by the server (see `Hostile::send_line`).
///
/// The opening is sound in the newest revision of either era; then it is left to the input.
pub fn client(input: &[u8]) {
    for revision in [Some(Revision::NEWEST_LEGACY), Some(Revision::NEWEST), None] {
        runtime().block_on(act(input, revision));
    }
}

async fn act(input: &[u8], revision: Option<Revision>) {
    let (server, transport) = memory_pair();
    let mut server = Hostile::new(server);
    let mut user = User::connect(TransportConnector::new(transport), revision);
    server.settle().await;
    if let Some(revision) = revision {
        server.open(revision).await;
        assert!(user.client().await.is_some(), "a sound opening");
    }
    for line in input.split(|byte| *byte == b'\n').take(MAX_LINES) {
        match line.split_first() {
            Some((b'+', what)) => user.begin(what).await,
            Some((b'-', _)) => user.let_go(),
            Some((b'.', seconds)) => sleep(pause(seconds)).await,
            _ => server.send_line(line),
        }
        server.settle().await;
    }
    wait(&mut server, &user).await;
    if let Some(client) = user.client().await.cloned() {
        assert_eq!(
            client.in_flight(),
            Default::default(),
            "something waits for ever"
        );
        if !server.is_gone() && !user.has_closed() {
            lives(&mut server, &client).await;
        }
        // Before a server is known to be modern, it is told why its requests are not served.
        if revision == Some(Revision::NEWEST) {
            assert_eq!(server.answers(), 0, "a modern client answers nothing");
        }
        client.close().await;
        assert_eq!(client.in_flight(), Default::default(), "something is left");
    }
    user.end().await;
    sleep(A_WHILE).await;
    server.settle().await;
    let tasks = Handle::current().metrics().num_alive_tasks();
    assert_eq!(tasks, 0, "tasks are left");
}

fn pause(seconds: &[u8]) -> Duration {
    let seconds = std::str::from_utf8(seconds).unwrap_or_default();
    let seconds: u64 = seconds.parse().unwrap_or_default();
    Duration::from_secs(seconds.min(MAX_PAUSE))
}

/// Lets an hour pass, in which the server says nothing.
async fn wait(server: &mut Hostile, user: &User) {
    const STEP: Duration = Duration::from_secs(60);

    let began = Instant::now();
    while began.elapsed() < AN_HOUR {
        sleep(STEP).await;
        server.settle().await;
    }
    assert!(user.is_done(), "something goes on for ever");
}

/// Asserts that the client still answers one valid request.
async fn lives(server: &mut Hostile, client: &Client) {
    let asking = client.clone();
    let last = tokio::spawn(async move { asking.request_raw(LAST, None, None).await });
    server.settle().await;
    server.answer(LAST, &json!({"resultType": "complete", "last": true}));
    server.settle().await;
    let answer = last.await.expect("no panic");
    let answer = answer.expect("the connection is dead");
    let answer: Value = answer.decode().expect("what was sent");
    assert_eq!(answer["last"], true);
}
