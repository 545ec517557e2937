//! Faults after which it is counted what this process holds: memory, descriptors, children. The
//! tests take turns, so that nobody counts what another holds.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests fail by panicking"
)]

#[cfg(unix)]
mod cut;
mod floods;
mod leftovers;
mod processes;
mod proxies;
mod sockets;

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::time::{Instant, sleep};
use turnbuckle_it::faults::{
    FAULTY, LEGACY, PEER_CASES, PeerTransport, fault, faulty, is_broken, is_silence, text_of,
};

/// Lock that makes the tests run one at a time. A runtime holds descriptors of its own, so it is
/// created while the lock is held.
static TURN: Mutex<()> = Mutex::new(());

/// Clock of a test.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Clock {
    Paused,
    Real,
}

fn tasks() -> usize {
    Handle::current().metrics().num_alive_tasks()
}

/// Waits until there are no children and as many tasks and open files as `before`.
#[cfg(unix)]
async fn leaves_nothing(before: (usize, usize)) {
    use turnbuckle_it::peer::{children, open_files};

    let deadline = Instant::now() + Duration::from_secs(20);
    while (children(), tasks(), open_files()) != (0, before.0, before.1) {
        assert!(
            Instant::now() < deadline,
            "{} children, {} tasks, {} files; {before:?} before",
            children(),
            tasks(),
            open_files()
        );
        sleep(Duration::from_millis(20)).await;
    }
}

/// Runs a test while no other runs.
fn alone(clock: Clock, test: impl Future<Output = ()>) {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(clock == Clock::Paused)
        .build()
        .unwrap();
    runtime.block_on(test);
}
