//! The playing of an attack over HTTP.

use std::net::Ipv4Addr;
use std::thread::{self, JoinHandle};

use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use super::attack::{Attack, Attacker};
use super::form::{Form, SAMPLE_INTERVAL, SHORT};
use super::honest::HonestClient;
use super::outcome::Outcome;
use super::target::{Scene, Target, Usage};
use crate::problem::Problem;
use crate::role::runtime;
use crate::route::Route;
use crate::server::HONEST_TOKEN;

/// The attackers of one attack, in a thread of their own, so that the honest client does not wait for them.
struct Attackers {
    thread: JoinHandle<Result<(), Problem>>,
    over: oneshot::Sender<()>,
}

impl Attackers {
    fn start(attack: &'static Attack, count: usize, route: Route) -> Result<Self, Problem> {
        let (over, is_over) = oneshot::channel();
        let runtime = runtime()?;
        let thread = thread::spawn(move || {
            runtime.block_on(async {
                let mut attackers = JoinSet::new();
                for number in 0..count {
                    attackers.spawn((attack.act)(Attacker::new(attack, &route, number)));
                }
                let _ = is_over.await;
                attackers.shutdown().await;
                Ok(())
            })
        });
        Ok(Self { thread, over })
    }

    /// Lets all attackers vanish.
    fn end(self) -> Result<(), Problem> {
        drop(self.over);
        let ended = self.thread.join();
        ended.map_err(|_| "the attackers panicked".to_owned())?
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
    let attackers = match form.is_short {
        true => attack.attackers.div_ceil(10),
        false => attack.attackers,
    };
    let target = Target::start(&form.server, attack.scene).await?;
    let route = honest_route(attack.scene, target.route.clone());
    let mut honest = HonestClient::connect(route).await?;
    let warm_up = Instant::now() + SHORT / 2;
    honest.call_until(warm_up, |_| {}).await;
    honest.take_service();
    let start = target.usage(honest.sessions().await)?;
    let mut peak = start;
    let running = Attackers::start(attack, attackers, target.route.clone())?;
    let until = Instant::now() + form.time;
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
    peak.sessions = peak.sessions.max(sessions);
    running.end()?;
    let service = honest.take_service();
    let end = settle(form, &target, &mut honest, start).await?;
    drop(honest);
    target.end().await?;
    Ok(Outcome {
        name: attack.name,
        attackers,
        start,
        peak,
        end: Some(end),
        service: Some(service),
    })
}

/// Waits until the server holds what it held before, but not for ever, and returns what it holds.
async fn settle(
    form: &Form,
    target: &Target,
    honest: &mut HonestClient,
    start: Usage,
) -> Result<Usage, Problem> {
    let most = form.settle_time();
    let deadline = Instant::now() + most;
    loop {
        let sessions = timeout(most, honest.sessions()).await.unwrap_or_default();
        let usage = target.usage(sessions)?;
        let is_back = usage.files <= start.files + 1
            && (form.is_short || (usage.sessions <= start.sessions && usage.is_near(start)));
        if is_back || Instant::now() > deadline {
            return Ok(usage);
        }
        sleep(2 * SAMPLE_INTERVAL).await;
    }
}
