//! The cells of the table: a revision and a transport each, with a server of their own.

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
use crate::user::{Heard, User};

/// How long a feature may take in a cell.
const PATIENCE: Duration = Duration::from_secs(30);

/// Seeds of what connections do to what they carry, each tried in every cell; `TURNBUCKLE_SEEDS`
/// has more of them.
const SEEDS: u64 = 1;

/// How messages travel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Transport {
    Memory,
    Stdio,
    Http,
}

pub(crate) struct Cell {
    pub(crate) reader: &'static Reader,
    pub(crate) transport: Transport,
    /// What its connections do to what they carry; with them, both ends are in this process and
    /// its clock is paused.
    pub(crate) wires: Option<Wires>,
    /// What its client heard beside results.
    pub(crate) heard: Arc<Heard>,
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
            heard: Arc::default(),
            client: Arc::default(),
        }
    }

    /// Whether its servers are processes of their own.
    pub(crate) fn is_apart(&self) -> bool {
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

/// The client of a cell, with no other feature in its way.
pub(crate) struct At {
    pub(crate) cell: &'static Cell,
    pub(crate) reader: &'static Reader,
    client: OwnedMutexGuard<Option<Connection>>,
}

impl At {
    async fn of(cell: &'static Cell) -> Self {
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

    /// A client of a new server that cannot be asked anything.
    pub(crate) async fn mute(&self) -> Connection {
        connect(self.cell, User::Mute).await
    }

    /// A client of a new server on behalf of a principal, where the transport can tell of one.
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

/// Tries a feature in every cell, and there again under every seed.
///
/// # Panics
/// Where it fails: the panics name their cells.
pub(crate) fn each<F, Fut>(feature: F)
where
    F: Fn(At) -> Fut + Copy + Send + Sync + 'static,
    Fut: Future<Output = ()> + Send + 'static,
{
    let mut failures = RUNTIME.block_on(async {
        // The turn of a feature may come late; its time begins then.
        let run = |cell| async move {
            let at = At::of(cell).await;
            timeout(PATIENCE, feature(at)).await
        };
        let runs = CELLS.iter().map(|cell| (cell, tokio::spawn(run(cell))));
        let runs: Vec<_> = runs.collect();
        let mut failures = Vec::new();
        for (cell, run) in runs {
            match run.await {
                Ok(Ok(())) => {}
                Ok(Err(_)) => failures.push(format!("{cell}: it takes too long")),
                Err(error) => failures.push(format!("{cell}: {}", told(error))),
            }
        }
        failures
    });
    for seed in seeds(SEEDS) {
        for cell in CELLS.iter() {
            failures.extend(shaken(feature, cell, seed).err());
        }
    }
    assert!(failures.is_empty(), "\n{}", failures.join("\n"));
}

/// Tries a feature in a cell like that one whose connections bring everything late and in pieces.
fn shaken<F, Fut>(feature: F, cell: &Cell, seed: u64) -> Result<(), String>
where
    F: Fn(At) -> Fut + Copy + Send + Sync + 'static,
    Fut: Future<Output = ()> + Send + 'static,
{
    let place = format!("{} in {cell}", type_name::<F>());
    let script = Script::harmless(seed, &place);
    let wires = Wires::new(script.clone());
    let trace = wires.trace().clone();
    // A process has few of them, and features hold theirs for as long as they run.
    let cell: &'static Cell = Box::leak(Box::new(Cell::new(
        cell.reader,
        cell.transport,
        Some(wires),
    )));
    let runtime = Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build();
    // The delays count: they are on this clock.
    let run = async move { timeout(10 * PATIENCE, feature(At::of(cell).await)).await };
    let ended = runtime.unwrap().block_on(async { tokio::spawn(run).await });
    let why = match ended {
        Ok(Ok(())) if trace.wires().is_empty() => "nothing went over its wires".to_owned(),
        Ok(Ok(())) => return Ok(()),
        Ok(Err(_)) => "it takes too long".to_owned(),
        Err(error) => told(error),
    };
    Err(format!(
        "{place}: {why}\nTURNBUCKLE_SEED={seed}: {script:?}"
    ))
}

/// What a panic said.
fn told(error: tokio::task::JoinError) -> String {
    match error.into_panic().downcast::<String>() {
        Ok(told) => *told,
        Err(other) => match other.downcast::<&str>() {
            Ok(told) => (*told).to_owned(),
            Err(other) => resume_unwind(other),
        },
    }
}
