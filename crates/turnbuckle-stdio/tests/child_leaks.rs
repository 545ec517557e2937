//! Leaks of file descriptors and tasks after many child processes. A test binary of its own, because
//! it counts those of its process.

// Descriptors are counted in /proc.
#![cfg(target_os = "linux")]
// A test fails by panicking, and so do the functions that it calls.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]
#![allow(dead_code, reason = "the other test uses the rest")]

#[path = "support/child.rs"]
mod support;

use support::{Client, is_gone, sh, until};
use tokio::runtime::Handle;

const ROUNDS: usize = 200;

fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

#[tokio::test]
async fn nothing_is_left_after_many_rounds() {
    let tasks = || Handle::current().metrics().num_alive_tasks();
    // The first client opens what all of them share.
    Client::open(&sh("cat")).await.close().await;
    until(|| tasks() == 0).await;
    let before = descriptors();

    for round in 0..ROUNDS {
        let mut client = Client::open(&sh("echo $$; cat")).await;
        let pid = client.pid().await;
        // The server is ended by a close, by a drop, or by a signal from elsewhere.
        match round % 3 {
            0 => drop(client.close().await),
            1 => drop(client),
            _ => {
                rustix::process::kill_process(
                    rustix::process::Pid::from_raw(pid.try_into().unwrap()).unwrap(),
                    rustix::process::Signal::TERM,
                )
                .unwrap();
                assert!(client.exit_details().await.0.contains("signal: 15"));
            }
        }
        until(|| is_gone(pid)).await;
    }
    until(|| tasks() == 0).await;
    until(|| descriptors() == before).await;
}
