//! Every server in every revision that it and we have, with every step.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout, timeout_at};
use turnbuckle::Revision;
use turnbuckle::client::EraPreference;
use turnbuckle::http::HttpConnector;
use turnbuckle::session::handler::{Limits, Signal};
use turnbuckle::session::transport;
use turnbuckle::session::transport::{TransportConnector, TransportContext};
use turnbuckle::{Client, ClientBuilder};

use crate::answers::{ServerMessages, install};
use crate::pair;
use crate::peers::{Binding, Peer, Peers, Surface};
use crate::problem::Problem;
use crate::scene::{Scene, same};
use crate::start::{Programs, Started, StderrTail};
use crate::steps::STEPS;

/// Time limit of one step, connecting and closing included.
const STEP: Duration = Duration::from_secs(15);
/// Number of servers that run at the same time.
const AT_ONCE: usize = 4;

/// One row: a server, and how it is spoken with.
#[derive(Clone)]
struct Row {
    peer: Arc<Peer>,
    surface: Arc<Surface>,
    era: EraPreference,
    /// Revision that the connection has to negotiate.
    revision: Revision,
}

/// Outcome of one step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Cell {
    /// The step succeeded.
    Ok,
    /// The step succeeded in the part that the revision supports, named here.
    Partly(&'static str),
    /// The step was skipped, for the reason given.
    Lacks(&'static str),
    /// Something else.
    Failed,
}

/// Outcomes of one row.
#[derive(Debug)]
pub(crate) struct RowResult {
    pub(crate) peer: String,
    /// The revision, marked where it was not asked for.
    pub(crate) revision: String,
    /// In the order of [`columns`].
    pub(crate) cells: Vec<Cell>,
    /// Descriptions of all failures.
    pub(crate) problems: Vec<String>,
}

/// Returns the column headings of the table.
pub(crate) fn columns() -> Vec<String> {
    let steps = STEPS.iter().map(|step| step.name);
    ["connect"]
        .into_iter()
        .chain(steps)
        .chain(["close"])
        .map(str::to_owned)
        .collect()
}

/// Takes all rows of the servers whose name begins with `only`, until `end` at the latest.
pub(crate) async fn run(
    peers: &Peers,
    only: &str,
    programs: &Programs,
    end: Instant,
) -> Result<Vec<RowResult>, Problem> {
    let mut rows = Vec::new();
    for peer in peers.all.iter().filter(|peer| peer.name.starts_with(only)) {
        rows.extend(rows_of(peers, peer)?);
    }
    let mut all: Vec<RowResult> = rows.iter().map(Row::unfinished_result).collect();
    let turns = Arc::new(Semaphore::new(AT_ONCE));
    let mut running = JoinSet::new();
    for (at, row) in rows.into_iter().enumerate() {
        let (programs, turns) = (programs.clone(), turns.clone());
        running.spawn(async move {
            let _turn = turns.acquire().await;
            (at, row.take(&programs).await)
        });
    }
    while let Ok(Some(ended)) = timeout_at(end, running.join_next()).await {
        if let Ok((at, taken)) = ended {
            all[at] = taken;
        }
    }
    Ok(all)
}

/// Returns one row per revision of the peer, and one in which the client names no revision: it must
/// end up with the newest of the server.
fn rows_of(peers: &Peers, peer: &Arc<Peer>) -> Result<Vec<Row>, Problem> {
    let surface = peers.surface(peer)?;
    let row = |era, revision| Row {
        peer: peer.clone(),
        surface: surface.clone(),
        era,
        revision,
    };
    let pinned = peer
        .revisions
        .iter()
        .map(|revision| row(EraPreference::Only(*revision), *revision));
    let newest = peers
        .newest(peer)
        .filter(|newest| peer.revisions.contains(newest));
    let left_open = newest.map(|newest| row(EraPreference::Auto, newest));
    Ok(pinned.chain(left_open).collect())
}

impl Row {
    fn begun(&self) -> RowResult {
        RowResult {
            peer: self.peer.name.clone(),
            revision: match self.era {
                EraPreference::Auto => format!("{} (auto)", self.revision),
                _ => self.revision.to_string(),
            },
            cells: Vec::new(),
            problems: Vec::new(),
        }
    }

    /// Returns the result to report if the row never ends.
    fn unfinished_result(&self) -> RowResult {
        let mut taken = self.begun();
        taken.note("all", Err("it did not come to an end".into()));
        taken.cells.resize(columns().len(), Cell::Failed);
        taken
    }

    /// Takes all steps with a server of its own.
    async fn take(self, programs: &Programs) -> RowResult {
        let stderr = StderrTail::default();
        let mut taken = self.begun();
        match with_timeout(self.connect(programs, &stderr)).await {
            Ok((scene, server)) => {
                taken.note("connect", Ok(()));
                self.steps(&scene, &mut taken).await;
                let closed = with_timeout(async {
                    scene.client.close().await;
                    server.end().await
                });
                let closed = closed.await;
                taken.note("close", closed);
            }
            Err(problem) => {
                taken.note("connect", Err(problem));
                taken.cells.resize(columns().len(), Cell::Failed);
            }
        }
        let stderr = stderr.text();
        if !taken.problems.is_empty() && !stderr.is_empty() {
            taken.problems.push(format!("the server said: {stderr}"));
        }
        taken
    }

    async fn steps(&self, scene: &Scene, taken: &mut RowResult) {
        for step in STEPS {
            if let Some(reason) = (step.lacks)(scene.features) {
                taken.cells.push(Cell::Lacks(reason));
            } else if !self.peer.can(step.name) {
                taken
                    .cells
                    .push(Cell::Lacks("the server has nothing to try it with"));
            } else {
                let outcome = with_timeout((step.take)(scene)).await;
                taken.note(step.name, outcome);
                if let (Some(cell @ Cell::Ok), Some(reason)) =
                    (taken.cells.last_mut(), (step.narrows)(scene.features))
                {
                    *cell = Cell::Partly(reason);
                }
            }
        }
    }

    /// Starts the server, connects, and sees to what was agreed upon.
    async fn connect(
        &self,
        programs: &Programs,
        stderr: &StderrTail,
    ) -> Result<(Scene, Running), Problem> {
        let messages = Arc::new(ServerMessages::default());
        let builder = Client::builder("interop-client", env!("CARGO_PKG_VERSION")).era(self.era);
        let builder = install(builder, &messages)?;
        let (client, server) = Box::pin(self.open(builder, programs, stderr)).await?;
        let agreed = client
            .server_info()
            .map(|server| (server.revision, server.link_kind));
        same(&agreed, &Some((self.revision, self.peer.binding.kind())))?;
        let features = client.features().ok_or("no revision was agreed upon")?;
        let surface = self.surface.clone();
        let scene = Scene {
            client,
            features,
            messages,
            surface,
        };
        Ok((scene, server))
    }

    async fn open(
        &self,
        builder: ClientBuilder,
        programs: &Programs,
        stderr: &StderrTail,
    ) -> Result<(Client, Running), Problem> {
        Ok(match self.peer.binding {
            Binding::Memory => {
                let (ours, theirs) = transport::memory_pair();
                let (server, limits) = (pair::server()?, Limits::default());
                let context = TransportContext::default();
                let served = transport::serve(server, theirs, limits, context, Signal::new());
                let serving = tokio::spawn(async move { drop(served.await) });
                let client = builder.connect(TransportConnector::new(ours)).await?;
                (client, Running::Here(serving))
            }
            Binding::Stdio => {
                let command = programs.command(&self.peer, stderr)?;
                (builder.connect(command).await?, Running::Child)
            }
            // The older transport is found by itself.
            Binding::Http | Binding::Sse => {
                let server = programs.start(&self.peer, stderr).await?;
                let client = builder.connect(HttpConnector::new(&server.url)?).await?;
                (client, Running::There(Box::new(server)))
            }
        })
    }
}

/// A server that runs.
enum Running {
    Here(tokio::task::JoinHandle<()>),
    /// The client's own.
    Child,
    There(Box<Started>),
}

impl Running {
    async fn end(self) -> Result<(), Problem> {
        match self {
            Self::Here(serving) => Ok(serving.await?),
            Self::Child => Ok(()),
            Self::There(server) => server.end().await,
        }
    }
}

impl RowResult {
    fn note(&mut self, step: &str, outcome: Result<(), Problem>) {
        self.cells.push(match &outcome {
            Ok(()) => Cell::Ok,
            Err(_) => Cell::Failed,
        });
        if let Err(problem) = outcome {
            let Self { peer, revision, .. } = self;
            self.problems
                .push(format!("{peer} {revision}, {step}: {problem}"));
        }
    }
}

async fn with_timeout<T>(action: impl Future<Output = Result<T, Problem>>) -> Result<T, Problem> {
    let late = |_| format!("not done within {STEP:?}").into();
    timeout(STEP, action)
        .await
        .unwrap_or_else(|error| Err(late(error)))
}
