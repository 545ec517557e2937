//! The playing of an attack over HTTP.

use std::net::Ipv4Addr;
use std::rc::Rc;
use std::thread::{self, JoinHandle};

use tokio::sync::oneshot;
use tokio::task::{JoinSet, LocalSet};
use tokio::time::{Instant, sleep};

use super::attacker::{Attack, Attacker};
use super::form::{Form, SAMPLE_INTERVAL, SETTLE, SHORT};
use super::honest::{self, Counts, HonestClient};
use super::outcome::Outcome;
use super::target::{KEPT_KIB, Scene, Usage};
use crate::problem::Result;
use crate::process::Process;
use crate::role::runtime;
use crate::route::Route;
use crate::server::HONEST_TOKEN;

/// The most further waves of an attack after which memory was kept.
const MAX_FURTHER_WAVES: usize = 3;

/// The attackers of one attack, in a thread of their own, so that the honest client does not wait for them.
struct Attackers {
    thread: JoinHandle<()>,
    over: oneshot::Sender<()>,
    ended: oneshot::Receiver<()>,
}

impl Attackers {
    fn start(attack: &'static Attack, count: usize, route: Route) -> Result<Self> {
        let (over, is_over) = oneshot::channel();
        let (end, ended) = oneshot::channel();
        let runtime = runtime()?;
        let thread = thread::spawn(move || {
            LocalSet::new().block_on(&runtime, async {
                let mut attackers = JoinSet::new();
                for number in 0..count {
                    attackers.spawn_local((attack.act)(Attacker::new(attack, &route, number)));
                }
                let _ = is_over.await;
                attackers.shutdown().await;
            });
            drop(runtime);
            drop(end);
        });
        Ok(Self {
            thread,
            over,
            ended,
        })
    }

    /// Lets all attackers vanish.
    async fn end(self) -> Result {
        drop(self.over);
        // The thread says nothing more when it ends.
        let _ = self.ended.await;
        Ok(self.thread.join().map_err(|_| "the attackers panicked")?)
    }
}

/// Returns the way of the honest client.
fn honest_route(scene: Scene, mut route: Route) -> Route {
    if scene == Scene::Tokens {
        route.token = Some(HONEST_TOKEN.into());
    } else {
        route.source = Ipv4Addr::new(127, 0, 0, 2);
    }
    route
}

/// An attack that is played.
struct Play<'a> {
    attack: &'static Attack,
    form: &'a Form,
    target: Process,
    attackers_route: Route,
    honest_route: Route,
    outcome: Outcome,
}

pub(super) async fn play(attack: &'static Attack, form: Rc<Form>) -> Result<Outcome> {
    let (target, route) = attack.scene.start(&form.server).await?;
    let mut play = Play {
        attack,
        form: &form,
        target,
        honest_route: honest_route(attack.scene, route.clone()),
        attackers_route: route,
        outcome: Outcome {
            name: attack.name,
            attackers: if form.is_short {
                attack.attackers.div_ceil(10)
            } else {
                attack.attackers
            },
            ..Outcome::default()
        },
    };
    let mut honest = HonestClient::connect(play.honest_route.clone()).await?;
    honest.call_until(Instant::now() + SHORT / 2).await;
    honest.service = Default::default();
    let counts = honest.counts().await?;
    let start = Usage::read(play.target.id)?;
    let peak = play.wave(&mut honest).await?;
    (play.outcome.start, play.outcome.peak) = (start, peak.max(start));
    play.outcome.sessions = honest.peak_sessions;
    play.outcome.service = Some(std::mem::take(&mut honest.service));
    honest.leave().await;
    let mut before = play.settle(start, &counts).await?;
    play.outcome.end = Some(before);
    // glibc gives memory back from the top of its heap alone, and one small block that it caches there, or
    // that tokio or hyper keep, holds all that is below. Free memory there is used again, so that a further
    // wave soon needs no more. Leaked memory is not.
    while !form.is_short && play.outcome.again.len() < MAX_FURTHER_WAVES && !before.is_near(start) {
        let mut honest = HonestClient::connect(play.honest_route.clone()).await?;
        play.wave(&mut honest).await?;
        honest.leave().await;
        let after = play.settle(before, &counts).await?;
        play.outcome.again.push(after);
        if after.resident_kib <= before.resident_kib + KEPT_KIB {
            break;
        }
        before = after;
    }
    play.target.end().await?;
    Ok(play.outcome)
}

impl Play<'_> {
    /// Lets the attackers act for a while and vanish, while the honest client calls. Returns the highest
    /// usage.
    async fn wave(&self, honest: &mut HonestClient) -> Result<Usage> {
        let route = self.attackers_route.clone();
        let running = Attackers::start(self.attack, self.outcome.attackers, route)?;
        let until = Instant::now() + self.form.time;
        let mut peak = Usage::default();
        let sampling = async {
            while Instant::now() < until {
                peak = peak.max(Usage::read(self.target.id)?);
                sleep(SAMPLE_INTERVAL).await;
            }
            Ok::<_, crate::problem::Problem>(())
        };
        let (sampled, ()) = tokio::join!(sampling, honest.call_until(until));
        sampled?;
        running.end().await?;
        Ok(peak)
    }

    /// Waits until the server has given back the resources of an attack, but not for ever. Returns those that
    /// it uses.
    async fn settle(&mut self, start: Usage, counts: &Counts) -> Result<Usage> {
        let deadline = Instant::now() + SETTLE;
        loop {
            let usage = Usage::read(self.target.id)?;
            // This request also lets hyper write its cached date anew, which keeps what is below it.
            let now = honest::counts(&self.honest_route).await;
            let grown = now.as_ref().map_or(Vec::new(), |now| grown(counts, now));
            let is_back = now.is_ok()
                && usage.files <= start.files
                && (self.form.is_short || (grown.is_empty() && usage.is_near(start)));
            if is_back || Instant::now() > deadline {
                self.outcome.grown = grown;
                return now.map(|_| usage);
            }
            sleep(2 * SAMPLE_INTERVAL).await;
        }
    }
}

/// Returns the tables that have more entries than before.
fn grown(before: &Counts, now: &Counts) -> Vec<String> {
    let grown = now.iter().filter_map(|(name, count)| {
        let before = before.get(name).copied().unwrap_or_default();
        (*count > before).then(|| format!("{name}: {before} before, {count} after"))
    });
    grown.collect()
}
