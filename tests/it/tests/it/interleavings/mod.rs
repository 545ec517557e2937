//! Small scripts in every order, on one thread and a paused clock: what a session does with what a
//! client, a handler and the clock do, and a conversation with what a server and its user do.

mod conversation;
mod model;
mod session;

use std::time::Duration;

/// Pause between an event and the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pause {
    /// The next comes at once.
    None,
    /// Every task that is awake is polled once.
    Turn,
    /// Everything comes to rest that needs no time.
    Rest,
}

impl Pause {
    async fn take(self) {
        let turns = match self {
            Self::None => 0,
            Self::Turn => 1,
            Self::Rest => 16,
        };
        for _ in 0..turns {
            tokio::task::yield_now().await;
        }
    }
}

/// Returns every interleaving of these scripts; each script keeps its own order.
fn orders<E: Copy>(scripts: &[&[E]]) -> Vec<Vec<E>> {
    if scripts.iter().all(|script| script.is_empty()) {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for (place, script) in scripts.iter().enumerate() {
        let Some((first, rest)) = script.split_first() else {
            continue;
        };
        let mut others = scripts.to_vec();
        others[place] = rest;
        for mut order in orders(&others) {
            order.insert(0, *first);
            all.push(order);
        }
    }
    all
}

/// Returns every order with every pause after each event. For long scripts, all pauses of an order
/// are the same: none, or until every task is idle.
fn paced_orders<E: Copy>(scripts: &[&[E]]) -> Vec<Vec<(E, Pause)>> {
    let mut all = Vec::new();
    for order in orders(scripts) {
        let pauses: &[_] = match order.len() {
            0..5 => &[Pause::None, Pause::Turn, Pause::Rest],
            _ => &[Pause::None, Pause::Rest],
        };
        for mut number in 0..pauses.len().pow(u32::try_from(order.len()).unwrap()) {
            let pause = |event: &E| {
                let pause = pauses[number % pauses.len()];
                number /= pauses.len();
                (*event, pause)
            };
            all.push(order.iter().map(pause).collect());
        }
    }
    all
}

/// Runs everything on one thread and a paused clock.
fn on_one_thread(work: impl Future<Output = ()>) {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.enable_time().start_paused(true).build();
    runtime.unwrap().block_on(work);
}

/// Lets time pass, and what comes of it.
async fn pass(time: Duration) {
    tokio::time::sleep(time).await;
    Pause::Rest.take().await;
}

#[test]
fn orders_are_all_there() {
    assert_eq!(orders(&[&[1, 2], &[3]]), [[1, 2, 3], [1, 3, 2], [3, 1, 2]]);
    assert_eq!(orders(&[&[1, 2, 3], &[4, 5], &[6]]).len(), 60);
    assert_eq!(paced_orders(&[&[1, 2], &[3]]).len(), 3 * 27);
}
