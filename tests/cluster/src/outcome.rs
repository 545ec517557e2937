//! The outcomes of what clients do, and which of them a fault explains.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::fault::Fault;
use crate::problem::Problem;

/// The time after the end of an instance in which its open requests end: its lease, and a little.
const LEASE: Duration = Duration::from_secs(10);

/// The time after a fault of the store in which errors that name it are explained.
const STORE: Duration = Duration::from_secs(15);

/// The time between a fault and an action that are shown together.
const NEAR: Duration = Duration::from_secs(5);

/// The most texts of losses that are printed.
const SHOWN: usize = 40;

/// The outcome of one action of a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The outcome that was wanted.
    Done,
    /// An error that says what happened.
    Named(String),
    /// The connection broke, or HAProxy found no server.
    Cut(String),
    /// No end in time.
    Silence(String),
    /// A change was not told to a client that has no id from which to go on.
    Missed(String),
    /// A change was told more than once.
    Repeated(String),
    /// Something else came than should.
    Wrong(String),
}

/// The counts of a run.
pub(crate) struct Tally(Mutex<State>);

struct State {
    began: Instant,
    /// Actions by client and outcome.
    counts: BTreeMap<String, BTreeMap<&'static str, usize>>,
    /// Outcomes that no fault explains.
    lost: Vec<String>,
    faults: Vec<(Fault, Instant, Option<Instant>)>,
}

impl Default for Tally {
    fn default() -> Self {
        Self(Mutex::new(State {
            began: Instant::now(),
            counts: BTreeMap::new(),
            lost: Vec::new(),
            faults: Vec::new(),
        }))
    }
}

impl Tally {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that a fault begins.
    pub(crate) fn begin(&self, fault: Fault) {
        self.lock().faults.push((fault, Instant::now(), None));
    }

    /// Notes that a fault is over.
    pub(crate) fn end(&self, fault: Fault) {
        let mut state = self.lock();
        let last = state.faults.iter_mut().rev().find(|it| it.0 == fault);
        if let Some((_, _, end)) = last {
            *end = Some(Instant::now());
        }
    }

    /// Counts an action of a client that began at `began`.
    pub(crate) fn count(&self, client: &str, action: &str, began: Instant, outcome: Outcome) {
        let mut state = self.lock();
        let kind = match &outcome {
            Outcome::Done => "done",
            Outcome::Named(_) => "named errors",
            Outcome::Cut(_) => "cut",
            Outcome::Silence(_) => "silence",
            Outcome::Missed(_) => "missed",
            Outcome::Repeated(_) => "repeated",
            Outcome::Wrong(_) => "wrong",
        };
        *state
            .counts
            .entry(client.to_owned())
            .or_default()
            .entry(kind)
            .or_default() += 1;
        if !state.explains(&outcome, began) {
            let lost = format!("{client}, {action}: {outcome:?} {}", state.times(began));
            state.lost.push(lost);
        }
    }

    /// Counts something that no fault can explain.
    pub(crate) fn lose(&self, what: String) {
        self.lock().lost.push(what);
    }

    /// Counts orders that were taken twice.
    pub(crate) fn count_orders(&self, file: &Path) -> Result<(), Problem> {
        let orders = fs::read_to_string(file).unwrap_or_default();
        let mut times = BTreeMap::<&str, usize>::new();
        orders
            .lines()
            .for_each(|key| *times.entry(key).or_default() += 1);
        println!("{} orders were taken", times.len());
        for (key, times) in times.into_iter().filter(|(_, times)| *times > 1) {
            self.lose(format!("the order {key} was taken {times} times"));
        }
        Ok(())
    }

    /// Counts keys that stay in the store for ever.
    pub(crate) fn count_left(&self, keys: Vec<String>) {
        keys.into_iter()
            .for_each(|key| self.lose(format!("{key} stays in the store")));
    }

    /// Prints the counts. Returns whether nothing was lost.
    pub(crate) fn print(&self) -> bool {
        let state = self.lock();
        for (client, counts) in &state.counts {
            println!("{client}: {counts:?}");
        }
        let mut faults = BTreeMap::<String, usize>::new();
        for (fault, ..) in &state.faults {
            *faults.entry(format!("{fault:?}")).or_default() += 1;
        }
        println!("faults: {faults:?}");
        println!("lost: {}", state.lost.len());
        state
            .lost
            .iter()
            .take(SHOWN)
            .for_each(|lost| println!("  {lost}"));
        state.lost.is_empty()
    }
}

impl State {
    /// Returns the times of an action that began at `began` and has ended now, and of the faults about it.
    fn times(&self, began: Instant) -> String {
        let seconds = |at: Instant| at.saturating_duration_since(self.began).as_secs_f32();
        let mut times = format!(
            "from {:.2} s to {:.2} s",
            seconds(began),
            seconds(Instant::now())
        );
        for (fault, start, end) in &self.faults {
            let end = end.unwrap_or_else(Instant::now);
            if began <= end + NEAR {
                let (start, end) = (seconds(*start), seconds(end));
                times += &format!(", {fault:?} {start:.2}\u{2013}{end:.2}");
            }
        }
        times
    }

    /// Returns whether a fault explains the outcome of an action that began at `began` and has ended now.
    fn explains(&self, outcome: &Outcome, began: Instant) -> bool {
        let overlaps = |faults: &[Fault], after: Duration| {
            self.faults.iter().any(|(fault, start, end)| {
                let end = end.unwrap_or_else(Instant::now);
                faults.contains(fault) && began <= end + after && *start <= Instant::now()
            })
        };
        match outcome {
            Outcome::Done => true,
            Outcome::Named(_) => {
                overlaps(&[Fault::Kill], LEASE)
                    || overlaps(&[Fault::PauseStore, Fault::EmptyStore], STORE)
            }
            Outcome::Missed(_) => overlaps(
                &[Fault::Kill, Fault::Stop, Fault::Keys],
                Duration::from_secs(5),
            ),
            // An emptied store has lost events, and which changes were told.
            Outcome::Repeated(_) => overlaps(&[Fault::PauseStore, Fault::EmptyStore], STORE),
            Outcome::Cut(_) => {
                overlaps(&[Fault::Kill], Duration::from_secs(1))
                    || overlaps(&[Fault::EmptyStore], STORE)
            }
            Outcome::Silence(_) | Outcome::Wrong(_) => false,
        }
    }
}
