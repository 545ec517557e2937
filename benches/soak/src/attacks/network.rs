//! The playing of an attack over HTTP.

use std::net::Ipv4Addr;
use std::thread::{self, JoinHandle};

use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use super::attack::{Attack, Attacker};
use super::form::{Form, SAMPLE_INTERVAL, SHORT};
use super::honest::{self, HonestClient, Service};
use super::outcome::Outcome;
use super::target::{KEPT_KIB, Scene, Target, Usage};
use crate::problem::Problem;
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
    fn start(attack: &'static Attack, count: usize, route: Route) -> Result<Self, Problem> {
        let (over, is_over) = oneshot::channel();
        let (end, ended) = oneshot::channel();
        let runtime = runtime()?;
        let thread = thread::spawn(move || {
            runtime.block_on(async {
                let mut attackers = JoinSet::new();
                for number in 0..count {
                    attackers.spawn((attack.act)(Attacker::new(attack, &route, number)));
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
    async fn end(self) -> Result<(), Problem> {
        drop(self.over);
        // The thread says nothing more when it ends.
        let _ = self.ended.await;
        let ended = self.thread.join();
        ended.map_err(|_| "the attackers panicked".to_owned())
    }
}

/// Returns the way of the honest client.
fn honest_route(scene: Scene, mut route: Route) -> Route {
    if scene == Scene::Tokens {
        route.source = Some(Ipv4Addr::LOCALHOST);
        route.token = Some(HONEST_TOKEN.into());
    } else {
        route.source = Some(Ipv4Addr::new(127, 0, 0, 2));
    }
    route
}

pub(super) async fn play(attack: &'static Attack, form: &Form) -> Result<Outcome, Problem> {
    let attackers = if form.is_short {
        attack.attackers.div_ceil(10)
    } else {
        attack.attackers
    };
    let target = Target::start(&form.server, attack.scene).await?;
    let route = honest_route(attack.scene, target.route.clone());
    let mut honest = HonestClient::connect(route.clone()).await?;
    let warm_up = Instant::now() + SHORT / 2;
    honest.call_until(warm_up, |_| {}).await;
    honest.take_service();
    let start = target.usage(honest.sessions().await?)?;
    let (peak, service) = wave(attack, attackers, form, &target, honest).await?;
    let end = settle(form, &target, &route, start).await?;
    // glibc gives memory back from the top of its heap alone, and one small block that it caches there, or
    // that tokio or hyper keep, holds all that is below. What is free there is used again, so that a further
    // wave soon needs no more; what leaks does.
    let mut again = Vec::new();
    let mut before = end;
    while !form.is_short && again.len() < MAX_FURTHER_WAVES && !before.is_near(start) {
        let honest = HonestClient::connect(route.clone()).await?;
        wave(attack, attackers, form, &target, honest).await?;
        let after = settle(form, &target, &route, before).await?;
        again.push(after);
        if after.resident_kib <= before.resident_kib + KEPT_KIB {
            break;
        }
        before = after;
    }
    target.end().await?;
    Ok(Outcome {
        name: attack.name,
        attackers,
        start,
        peak: peak.max(start),
        end: Some(end),
        again,
        service: Some(service),
    })
}

/// Lets the attackers act for a while and vanish, while the honest client calls. Returns the highest usage,
/// and the service of that client.
async fn wave(
    attack: &'static Attack,
    attackers: usize,
    form: &Form,
    target: &Target,
    mut honest: HonestClient,
) -> Result<(Usage, Service), Problem> {
    let running = Attackers::start(attack, attackers, target.route.clone())?;
    let until = Instant::now() + form.time;
    let mut peak = Usage::default();
    let sampling = async {
        while Instant::now() < until {
            peak = peak.max(target.usage(0)?);
            sleep(SAMPLE_INTERVAL).await;
        }
        Ok::<_, Problem>(())
    };
    let mut sessions = 0;
    let calling = honest.call_until(until, |count| sessions = sessions.max(count));
    let (sampled, ()) = tokio::join!(sampling, calling);
    sampled?;
    peak.sessions = sessions;
    running.end().await?;
    let service = honest.take_service();
    honest.leave().await;
    Ok((peak, service))
}

/// Waits until the server holds what it held before, but not for ever, and returns what it holds.
async fn settle(
    form: &Form,
    target: &Target,
    route: &Route,
    start: Usage,
) -> Result<Usage, Problem> {
    let deadline = Instant::now() + form.settle_time();
    loop {
        let mut usage = target.usage(0)?;
        // This request also lets hyper write its cached date anew, which keeps what is below it.
        let sessions = honest::sessions(route.clone()).await;
        usage.sessions = *sessions.as_ref().unwrap_or(&usize::MAX);
        let is_back = usage.files <= start.files
            && (form.is_short || (usage.sessions <= start.sessions && usage.is_near(start)));
        if is_back || Instant::now() > deadline {
            return sessions.map(|_| usage);
        }
        sleep(2 * SAMPLE_INTERVAL).await;
    }
}
