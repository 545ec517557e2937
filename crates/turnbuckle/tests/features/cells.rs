//! The cells of the table: each is a revision and a transport, with a server for itself.

use std::any::type_name;
use std::fmt;
use std::ops::Deref;
use std::panic::resume_unwind;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio::sync::{Mutex, OwnedMutexGuard};
use tokio::time::timeout;
use turnbuckle::Client;
use turnbuckle_it::wires::{Script, Wires, seeds};

use crate::connections::{Connection, connect, connect_as};
use crate::readers::{READERS, Reader};
use crate::user::{NotificationLog, User};

/// The time limit of a feature in a cell.
const FEATURE_TIMEOUT: Duration = Duration::from_secs(30);

/// The variables that name seeds for simulated connections. Each is tried in every cell then; otherwise, one is in a
/// cell of each transport.
const SEEDS: [&str; 2] = ["TURNBUCKLE_SEED", "TURNBUCKLE_SEEDS"];

/// The transport of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Transport {
    Memory,
    Stdio,
    Http,
}

/// A revision and a transport.
pub(crate) struct Cell {
    pub(crate) reader: &'static Reader,
    pub(crate) transport: Transport,
    /// Simulated connections that delay and split messages. With them, both ends are in this
    /// process and the clock is paused.
    pub(crate) wires: Option<Wires>,
    /// The notifications that the client received.
    pub(crate) notifications: Arc<NotificationLog>,
    /// The client that all features share, one after the other.
    client: Arc<Mutex<Option<Connection>>>,
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} over {:?}", self.reader.revision, self.transport)
    }
}

impl Cell {
    fn new(reader: &'static Reader, transport: Transport, wires: Option<Wires>) -> Self {
        Self {
            reader,
            transport,
            wires,
            notifications: Arc::default(),
            client: Arc::default(),
        }
    }

    /// Returns whether the servers of this cell are separate processes.
    pub(crate) fn has_own_process(&self) -> bool {
        self.transport == Transport::Stdio && self.wires.is_none()
    }
}

/// Connections outlive the test that opened them.
static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().unwrap());

static CELLS: LazyLock<Vec<Cell>> = LazyLock::new(|| {
    let transports = [Transport::Memory, Transport::Stdio, Transport::Http];
    let cells = READERS
        .iter()
        .flat_map(|reader| transports.map(|transport| Cell::new(reader, transport, None)));
    cells.collect()
});

/// Exclusive access of one feature to the client of a cell.
pub(crate) struct At {
    pub(crate) cell: &'static Cell,
    pub(crate) reader: &'static Reader,
    client: OwnedMutexGuard<Option<Connection>>,
}

impl At {
    async fn lock(cell: &'static Cell) -> Self {
        let mut client = cell.client.clone().lock_owned().await;
        if client.is_none() {
            *client = Some(connect(cell, User::Answers).await);
        }
        Self {
            cell,
            reader: cell.reader,
            client,
        }
    }

    /// Connects a client that cannot be asked anything to a new server.
    pub(crate) async fn mute(&self) -> Connection {
        connect(self.cell, User::Mute).await
    }

    /// Connects a client with a principal to a new server, if the transport has principals.
    pub(crate) async fn signed_in(&self) -> Option<Connection> {
        connect_as(self.cell).await
    }
}

impl Deref for At {
    type Target = Client;

    fn deref(&self) -> &Client {
        self.client.as_deref().unwrap()
    }
}

/// Tries a feature in every cell, and again over simulated connections.
///
/// # Panics
/// If the feature fails in a cell; the message names the cells.
pub(crate) fn each<F, Fut>(feature: F)
where
    F: Fn(At) -> Fut + Copy + Send + Sync + 'static,
    Fut: Future<Output = ()> + Send + 'static,
{
    let mut failures = RUNTIME.block_on(async {
        // The time limit does not include waiting for the client.
        let run = |cell| async move {
            let at = At::lock(cell).await;
            timeout(FEATURE_TIMEOUT, feature(at)).await
        };
        let runs = CELLS.iter().map(|cell| (cell, tokio::spawn(run(cell))));
        let runs: Vec<_> = runs.collect();
        let mut failures = Vec::new();
        for (cell, run) in runs {
            match run.await {
                Ok(Ok(())) => {}
                Ok(Err(_)) => failures.push(format!("{cell}: it takes too long")),
                Err(error) => failures.push(format!("{cell}: {}", panic_message(error))),
            }
        }
        failures
    });
    for seed in seeds(1) {
        for cell in simulated_cells(type_name::<F>()) {
            failures.extend(run_with_wires(feature, cell, seed).err());
        }
    }
    assert!(failures.is_empty(), "\n{}", failures.join("\n"));
}

/// Returns the cells in which a feature is tried over simulated connections: one of each transport, whose revision
/// depends on the feature's name, so that the features together are tried in all of them.
fn simulated_cells(feature: &str) -> impl Iterator<Item = &'static Cell> {
    let is_in_all = SEEDS.iter().any(|name| std::env::var_os(name).is_some());
    let chosen = feature.bytes().map(usize::from).sum::<usize>();
    // The transports of a revision stand side by side: cells so far apart have different ones.
    let is_chosen = move |at: usize| (at + chosen).is_multiple_of(READERS.len());
    let cells = CELLS.iter().enumerate();
    let cells = cells.filter(move |(at, _)| is_in_all || is_chosen(*at));
    cells.map(|(_, cell)| cell)
}

#[test]
fn simulated_cells_have_all_transports() {
    let transports = |feature| simulated_cells(feature).map(|cell| cell.transport);
    for feature in ["a", "b", "c", "d", "e"] {
        for transport in [Transport::Memory, Transport::Stdio, Transport::Http] {
            assert!(transports(feature).any(|it| it == transport), "{feature}");
        }
    }
    let cells = ["a", "b", "c", "d", "e"].map(|feature| simulated_cells(feature).count());
    assert!(cells.iter().sum::<usize>() >= CELLS.len());
}

/// Runs a feature in a copy of a cell with simulated connections that delay and split messages.
fn run_with_wires<F, Fut>(feature: F, cell: &Cell, seed: u64) -> Result<(), String>
where
    F: Fn(At) -> Fut + Copy + Send + Sync + 'static,
    Fut: Future<Output = ()> + Send + 'static,
{
    let place = format!("{} in {cell}", type_name::<F>());
    let script = Script::harmless(seed, &place);
    let wires = Wires::new(script.clone());
    let trace = wires.trace().clone();
    // Features need a static cell, and a process makes only a few.
    let cell: &'static Cell = Box::leak(Box::new(Cell::new(
        cell.reader,
        cell.transport,
        Some(wires),
    )));
    let runtime = Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build();
    // The simulated delays count on the paused clock.
    let run = async move { timeout(10 * FEATURE_TIMEOUT, feature(At::lock(cell).await)).await };
    let outcome = runtime.unwrap().block_on(async { tokio::spawn(run).await });
    let why = match outcome {
        Ok(Ok(())) if trace.wires().is_empty() => "nothing went over its wires".to_owned(),
        Ok(Ok(())) => return Ok(()),
        Ok(Err(_)) => "it takes too long".to_owned(),
        Err(error) => panic_message(error),
    };
    Err(format!(
        "{place}: {why}\nTURNBUCKLE_SEED={seed}: {script:?}"
    ))
}

/// Returns the message of a panic.
fn panic_message(error: tokio::task::JoinError) -> String {
    match error.into_panic().downcast::<String>() {
        Ok(message) => *message,
        Err(other) => match other.downcast::<&str>() {
            Ok(message) => (*message).to_owned(),
            Err(other) => resume_unwind(other),
        },
    }
}
