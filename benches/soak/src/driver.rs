//! The soak itself: a warm-up, the load, and the look at what is left.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::task::{JoinError, JoinSet};
use tokio::time::{Instant, sleep, timeout};

use crate::attacks;
use crate::bad;
use crate::counts::{Counts, Table};
use crate::good::{self, Shared};
use crate::problem::Problem;
use crate::random::Random;
use crate::role::runtime;
use crate::server::{OVER, process};
use crate::started::Started;
use crate::still::Still;
use crate::volume;

/// Clients that behave badly at a time.
const CROWD: usize = 300;

/// The time that one of them may take, in all.
const PATIENCE: Duration = Duration::from_secs(120);

/// Clients that behave, for each way.
const GOOD: usize = 2;

/// From how long on very many sound sessions and requests come beside the others, too.
const LONG: Duration = Duration::from_secs(10 * 60);

/// From how long on the load comes in four parts instead of two.
const IN_PARTS: Duration = Duration::from_secs(60);

/// Problems that are told.
const TOLD: usize = 20;

/// The plan of a run.
#[derive(Debug)]
pub(crate) struct Plan {
    /// The time that the load lasts.
    pub(crate) time: Duration,
    pub(crate) seed: u64,
}

pub(crate) fn run(plan: &Plan) -> Result<(), Problem> {
    println!("soak: {:?}, --seed {}", plan.time, plan.seed);
    runtime()?.block_on(async {
        if plan.time >= IN_PARTS {
            return soak(plan).await;
        }
        // The short form waits most of the time; attacks have servers of their own meanwhile.
        let (soaked, attacked) = tokio::join!(soak(plan), attacks::run_briefly());
        soaked.and(attacked)
    })
}

async fn soak(plan: &Plan) -> Result<(), Problem> {
    let server = Started::frugal().await?;
    let still = Still::watch();
    let mut problems = Vec::new();
    let mut load = Load::new(&server, plan.seed);
    // The first part warms up: what is held after it is where the others start.
    let parts = if plan.time < IN_PARTS { 2 } else { 4 };
    let part = plan.time / parts;
    load.run(part, None, &mut problems).await;
    let mut server_table = Table::new(server.wait_until_empty().await?);
    if plan.time < IN_PARTS {
        server_table = server_table.counts_only();
    }
    let mut own_table = Table::new(own());
    if plan.time >= LONG {
        load.sessions = volume::SESSIONS.div_ceil(u64::from(parts - 1));
    }
    for number in 2..=parts {
        println!(
            "part {} of {parts}: {} KiB resident",
            number - 1,
            server_table.resident()
        );
        load.run(part, Some(&mut server_table), &mut problems).await;
        let deadline = Instant::now() + 4 * OVER;
        loop {
            sleep(Duration::from_millis(500)).await;
            server_table.sample(server.counts().await?);
            own_table.sample(own());
            let nothing_left = server_table.left().is_empty() && own_table.left().is_empty();
            if nothing_left || Instant::now() > deadline {
                break;
            }
        }
    }
    let told = load.to_string();
    server.end().await?;

    println!("{told}\nthe server\n{server_table}\nthe clients\n{own_table}{still}");
    let left = |who: &str, table: &Table| {
        let left = table.left().into_iter();
        left.map(|it| format!("{who} hold {it}"))
            .collect::<Vec<_>>()
    };
    problems.extend(left("the server's tables", &server_table));
    problems.extend(left("the clients", &own_table));
    problems.truncate(TOLD);
    if problems.is_empty() {
        Ok(())
    } else {
        Err(format!("--seed {}:\n{}", plan.seed, problems.join("\n")))
    }
}

fn own() -> Counts {
    let counts = process().into_iter();
    // The memory of the clients is not what is looked at.
    let counts = counts.filter(|(name, _)| *name != "resident KiB");
    counts
        .map(|(name, count)| (name.to_owned(), count))
        .collect()
}

/// Everybody who asks.
struct Load<'a> {
    server: &'a Started,
    seed: u64,
    /// The number of the next client.
    next: u64,
    /// The number of times that each way was taken, and how many answers of good clients were checked.
    done: BTreeMap<&'static str, u64>,
    checked: u64,
    /// Sound sessions in each part, and how many there were, with their requests.
    sessions: u64,
    opened: u64,
    requests: u64,
}

impl fmt::Display for Load<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all: u64 = self.done.values().sum();
        let checked = self.checked;
        writeln!(
            f,
            "{all} bad clients, {checked} answers checked of good ones"
        )?;
        if self.opened > 0 {
            let (opened, requests) = (self.opened, self.requests);
            writeln!(f, "{opened} sessions and {requests} requests beside them")?;
        }
        for (name, count) in &self.done {
            writeln!(f, "{count:>8} {name}")?;
        }
        Ok(())
    }
}

impl<'a> Load<'a> {
    fn new(server: &'a Started, seed: u64) -> Self {
        Self {
            server,
            seed,
            next: 0,
            done: BTreeMap::new(),
            checked: 0,
            sessions: 0,
            opened: 0,
            requests: 0,
        }
    }

    fn random(&mut self) -> Random {
        self.next += 1;
        Random::new(self.seed, self.next)
    }

    /// Lets everybody come for that time, and leave.
    async fn run(
        &mut self,
        time: Duration,
        mut table: Option<&mut Table>,
        problems: &mut Vec<Problem>,
    ) {
        let until = Instant::now() + time;
        let shared = Arc::new(Shared::default());
        let mut good = JoinSet::new();
        for way in good::BINDINGS
            .into_iter()
            .cycle()
            .take(GOOD * good::BINDINGS.len())
        {
            let (urls, random) = (self.server.urls.clone(), self.random());
            let shared = shared.clone();
            good.spawn(async move {
                let behaved = good::behave(way, urls, random, shared).await;
                behaved.map_err(|problem| format!("a good client ({way:?}): {problem}"))
            });
        }
        // Done before the others are, so that they are not waited for.
        let very_many = volume::load(self.server.place, self.sessions, time * 9 / 10);
        let very_many = tokio::spawn(very_many);
        let places = Arc::new(Semaphore::new(CROWD));
        let mut bad = JoinSet::new();
        let mut look = Instant::now();
        while Instant::now() < until {
            let Ok(place) = places.clone().acquire_owned().await else {
                break;
            };
            let mut random = self.random();
            let way = bad::any(&mut random);
            *self.done.entry(way.name).or_default() += 1;
            let (at, number) = (self.server.place, self.next);
            bad.spawn(async move {
                let _place = place;
                let acted = timeout(PATIENCE, (way.act)(at, random)).await;
                let acted = acted.unwrap_or_else(|_| Err("it takes for ever".to_owned()));
                acted.map_err(|problem| format!("{} ({number}): {problem}", way.name))
            });
            keep(problems, std::iter::from_fn(|| bad.try_join_next()));
            keep(problems, std::iter::from_fn(|| good.try_join_next()));
            if let Some(table) = table.as_deref_mut()
                && look.elapsed() > Duration::from_secs(1)
            {
                look = Instant::now();
                match self.server.counts().await {
                    Ok(counts) => table.sample(counts),
                    Err(problem) => problems.push(problem),
                }
            }
        }
        keep(problems, all(&mut bad).await);
        match very_many.await {
            Ok(Ok(requests)) => {
                self.opened += self.sessions;
                self.requests += requests;
            }
            other => keep(problems, [other.map(|failed| failed.map(drop))]),
        }
        shared.over.store(true, Ordering::Relaxed);
        keep(problems, all(&mut good).await);
        self.checked += shared.checked.load(Ordering::Relaxed);
    }
}

/// Keeps what went wrong, up to a point.
fn keep(problems: &mut Vec<Problem>, ended: impl IntoIterator<Item = Ended>) {
    for ended in ended {
        let problem = match ended {
            Ok(Ok(())) => continue,
            Ok(Err(problem)) => problem,
            Err(panicked) => panicked.to_string(),
        };
        if problems.len() < TOLD {
            eprintln!("{problem}");
            problems.push(problem);
        }
    }
}

/// The end of a client.
type Ended = Result<Result<(), Problem>, JoinError>;

/// Waits for all of them.
async fn all(clients: &mut JoinSet<Result<(), Problem>>) -> Vec<Ended> {
    let mut ended = Vec::new();
    while let Some(one) = clients.join_next().await {
        ended.push(one);
    }
    ended
}
