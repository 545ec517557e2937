//! Attacks: what each does to a server's memory, descriptors and sessions, and to the service that an
//! honest client gets meanwhile.
//!
//! Each attack has a server process of its own. Attackers come from `127.0.0.1`, or from many addresses;
//! the honest client comes from `127.0.0.2`. An attack is a row of the table in `list`.

mod attack;
mod calls;
mod floods;
mod honest;
mod list;
mod target;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use crate::problem::Problem;
use crate::role::{itself, runtime};
use attack::{Attack, Attacker};
use honest::{HonestClient, Service};
use target::{Target, Usage};

const USAGE: &str = "usage: turnbuckle-soak attacks [--seconds N] [--only WORD] [--server PROGRAM]";

/// The time that one attack lasts in the long form.
const LONG: Duration = Duration::from_secs(10);

/// The time that one attack lasts in the short form.
const SHORT: Duration = Duration::from_millis(400);

/// The time that the server has to give back what an attack took: the longest of its timeouts, and the
/// minute after which a peer that reads nothing is cut off.
const SETTLE: Duration = Duration::from_secs(80);

/// The time between two looks at the server.
const SAMPLE_INTERVAL: Duration = Duration::from_millis(50);

/// Calls of the honest client that must be answered, in percent, and the time of 99 % of them.
const MIN_ANSWERED_PERCENT: usize = 90;
const MAX_P99: Duration = Duration::from_secs(1);

/// Resident memory above the idle size that a server may have, whatever its clients do.
const MAX_GROWTH_KIB: usize = 256 << 10;

/// The measurements of one attack.
struct Outcome {
    start: Usage,
    peak: Usage,
    end: Usage,
    service: Service,
}

/// The attackers of one attack, in a thread of their own, so that the honest client does not wait for them.
struct Attackers {
    thread: JoinHandle<Result<(), Problem>>,
    over: oneshot::Sender<()>,
}

impl Attackers {
    fn start(attack: &Attack, count: usize, place: SocketAddr) -> Result<Self, Problem> {
        let (over, is_over) = oneshot::channel();
        let act = attack.act;
        let runtime = runtime()?;
        let thread = thread::spawn(move || {
            runtime.block_on(async {
                let mut attackers = JoinSet::new();
                for number in 0..count {
                    attackers.spawn(act(Attacker { place, number }));
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

/// The form in which attacks are played.
#[derive(Debug)]
struct Form {
    time: Duration,
    is_short: bool,
    /// The program that is attacked: this one, or another build of it.
    server: PathBuf,
}

/// Plays the attacks whose name contains a word, for so many seconds each, by hand.
pub(crate) fn play(words: &[String]) -> Result<(), Problem> {
    let mut form = Form {
        time: LONG,
        is_short: false,
        server: itself()?,
    };
    let mut only = "";
    for pair in words.chunks(2) {
        match pair {
            [name, value] if name == "--only" => only = value,
            [name, value] if name == "--server" => form.server = value.into(),
            [name, value] if name == "--seconds" => {
                let seconds = value.parse().map_err(|_| format!("no number: {value}"))?;
                form.time = Duration::from_secs(seconds);
            }
            _ => return Err(USAGE.to_owned()),
        }
    }
    runtime()?.block_on(run(&form, only))
}

/// Plays every attack for a moment and with few attackers.
pub(crate) async fn run_briefly() -> Result<(), Problem> {
    let form = Form {
        time: SHORT,
        is_short: true,
        server: itself()?,
    };
    run(&form, "").await
}

async fn run(form: &Form, only: &str) -> Result<(), Problem> {
    println!(
        "{:<44}{:>9}{:>10}{:>10}{:>10}{:>8}{:>8}{:>10}{:>10}{:>9}",
        "attack",
        "attackers",
        "idle MiB",
        "peak MiB",
        "end MiB",
        "files",
        "after",
        "sessions",
        "answered",
        "p99 ms"
    );
    let mut problems = Vec::new();
    for attack in list::ATTACKS.iter().filter(|it| it.name.contains(only)) {
        match attack.play(form).await {
            Ok(outcome) => {
                println!("{}", attack.row(form, &outcome));
                problems.extend(attack.broken_bounds(form, &outcome));
            }
            Err(problem) => problems.push(format!("{}: {problem}", attack.name)),
        }
    }
    match problems.is_empty() {
        true => Ok(()),
        false => Err(problems.join("\n")),
    }
}

impl Attack {
    fn count(&self, form: &Form) -> usize {
        match form.is_short {
            true => self.attackers.div_ceil(10),
            false => self.attackers,
        }
    }

    async fn play(&self, form: &Form) -> Result<Outcome, Problem> {
        let target = Target::start(&form.server).await?;
        let mut honest = HonestClient::connect(target.place).await?;
        let warm_up = Instant::now() + SHORT / 2;
        honest.call_until(warm_up, |_| {}).await;
        honest.take_service();
        let start = target.usage(honest.sessions().await)?;
        let mut peak = start;
        let attackers = Attackers::start(self, self.count(form), target.place)?;
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
        peak.sessions = sessions;
        attackers.end()?;
        let service = honest.take_service();
        let end = self.settle(form, &target, &mut honest, start).await?;
        drop(honest);
        target.end().await?;
        Ok(Outcome {
            start,
            peak,
            end,
            service,
        })
    }

    /// Waits until the server holds what it held before, but not for ever, and returns what it holds.
    async fn settle(
        &self,
        form: &Form,
        target: &Target,
        honest: &mut HonestClient,
        start: Usage,
    ) -> Result<Usage, Problem> {
        let most = if form.is_short { 10 * SHORT } else { SETTLE };
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

    fn row(&self, form: &Form, outcome: &Outcome) -> String {
        let Outcome {
            start,
            peak,
            end,
            service,
        } = outcome;
        let mib = |usage: &Usage| usage.resident_kib as f64 / 1024.0;
        format!(
            "{:<44}{:>9}{:>10.1}{:>10.1}{:>10.1}{:>8}{:>8}{:>10}{:>8} %{:>9.1}",
            self.name,
            self.count(form),
            mib(start),
            mib(peak),
            mib(end),
            peak.files,
            end.files,
            peak.sessions,
            service.answered_percent(),
            service.p99().as_secs_f64() * 1000.0,
        )
    }

    fn broken_bounds(&self, form: &Form, outcome: &Outcome) -> Vec<String> {
        let Outcome {
            start,
            peak,
            end,
            service,
        } = outcome;
        let mut broken = Vec::new();
        let mut hold = |holds: bool, what: String| {
            if !holds {
                broken.push(format!("{}: {what}", self.name));
            }
        };
        // In a moment there are too few calls for more.
        let answered = service.answered_percent();
        let min = if form.is_short {
            1
        } else {
            MIN_ANSWERED_PERCENT
        };
        hold(
            answered >= min,
            format!("an honest client got {answered} % of its answers"),
        );
        hold(
            end.files <= start.files + 1,
            format!("{} descriptors before, {} after", start.files, end.files),
        );
        if form.is_short {
            return broken;
        }
        let p99 = service.p99();
        hold(p99 < MAX_P99, format!("an honest client waited {p99:?}"));
        hold(
            end.sessions <= start.sessions,
            format!("{} sessions before, {} after", start.sessions, end.sessions),
        );
        let growth = peak.resident_kib.saturating_sub(start.resident_kib);
        hold(
            growth <= MAX_GROWTH_KIB,
            format!("{growth} KiB above the idle size"),
        );
        hold(
            !self.holds_end || end.is_near(*start),
            format!(
                "{} KiB before, {} after",
                start.resident_kib, end.resident_kib
            ),
        );
        broken
    }
}
