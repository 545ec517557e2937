//! Measures messages that each instance sends to all others, as cancellations and changes of sessions are.

use std::fs;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use bytes::Bytes;
use clap::{Args, value_parser};
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep};
use turnbuckle_cluster::{Cluster, MessageKind, Received, Receiver};
use turnbuckle_engines::RedisServer;
use turnbuckle_redis::RedisStore;

use crate::problem::Problem;

/// The kind of the messages, which nothing else sends here.
const KIND: MessageKind = MessageKind::SessionChanged;

/// The longest wait for the last messages.
const LAST_WAIT: Duration = Duration::from_secs(10);

/// The processor time of a tick, in which the kernel counts: 10 ms.
const MICROSECONDS_PER_TICK: u64 = 10_000;

/// Options of the measurement.
#[derive(Args)]
pub(crate) struct Options {
    /// The number of instances, all in this process, each with a connection of its own
    #[arg(long, default_value_t = 10)]
    instances: usize,
    /// The messages that each instance sends in a second
    #[arg(long, default_value_t = 1000, value_parser = value_parser!(u32).range(1..=10_000))]
    messages: u32,
    /// The seconds of work
    #[arg(long, default_value_t = 10, value_parser = value_parser!(u32).range(1..=600))]
    seconds: u32,
}

/// The messages that one instance has received.
struct Inbox {
    began: Instant,
    /// The time that each one took, in microseconds.
    delays: Mutex<Vec<u64>>,
}

impl Inbox {
    fn delays(&self) -> MutexGuard<'_, Vec<u64>> {
        self.delays.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Receiver for Inbox {
    fn receive(&self, message: &Received) -> bool {
        let Some(sent) = message.body.first_chunk().copied() else {
            return false;
        };
        let delay = microseconds(self.began).saturating_sub(u64::from_le_bytes(sent));
        self.delays().push(delay);
        true
    }
}

/// Measures, and prints the figures. Fails if a message was lost and no instance was told that it may have been.
pub(crate) async fn run(options: Options) -> Result<(), Problem> {
    let redis = RedisServer::start();
    let began = Instant::now();
    let (mut clusters, mut inboxes) = (Vec::new(), Vec::new());
    for _ in 0..options.instances {
        let store = RedisStore::connect(&redis.url()).await?;
        let cluster = Cluster::new(Arc::new(store))?;
        let inbox = Arc::new(Inbox {
            began,
            delays: Mutex::default(),
        });
        let receiver: Weak<dyn Receiver> = Arc::downgrade(&inbox) as _;
        cluster.add_receiver(KIND, receiver);
        cluster.start();
        cluster.ready().await;
        clusters.push(cluster);
        inboxes.push(inbox);
    }
    let interruptions: Vec<_> = clusters.iter().map(|it| it.interruptions()).collect();
    let (own, store) = (std::process::id(), redis.process().id());
    let used_before = (used_microseconds(own)?, used_microseconds(store)?);

    let work_began = Instant::now();
    let mut senders = JoinSet::new();
    for cluster in &clusters {
        let each = options.messages * options.seconds;
        senders.spawn(send(cluster.clone(), began, options.messages, each));
    }
    while let Some(sent) = senders.join_next().await {
        sent??;
    }
    let took = work_began.elapsed();
    let sent = options.instances * (options.messages * options.seconds) as usize;
    let wanted = sent * options.instances.saturating_sub(1);
    let count = || {
        inboxes
            .iter()
            .map(|inbox| inbox.delays().len())
            .sum::<usize>()
    };
    let end = Instant::now() + LAST_WAIT;
    while count() < wanted && Instant::now() < end {
        sleep(Duration::from_millis(10)).await;
    }

    let received = count();
    let used = (
        used_microseconds(own)? - used_before.0,
        used_microseconds(store)? - used_before.1,
    );
    let mut delays = Vec::with_capacity(received);
    for inbox in &inboxes {
        delays.extend_from_slice(&inbox.delays());
    }
    delays.sort_unstable();
    let part = |percent: usize| delays.get(delays.len() * percent / 100).copied();
    let told = interruptions.iter().filter(|it| it.count() > 0).count();
    println!(
        "{} instances sent {sent} messages in {took:?}; {received} of {wanted} were received",
        options.instances
    );
    println!(
        "p50 {} µs, p99 {} µs; {told} instances were told that messages may be lost",
        part(50).unwrap_or_default(),
        part(99).unwrap_or_default()
    );
    println!(
        "processor time for each message sent: {} µs of all instances together, {} µs of Redis",
        used.0 / sent.max(1) as u64,
        used.1 / sent.max(1) as u64
    );
    for cluster in &clusters {
        cluster.stop().await;
    }
    match received < wanted && told == 0 {
        true => Err("messages were lost in silence".into()),
        false => Ok(()),
    }
}

/// Sends messages at a rate. Each contains the time at which it was sent.
async fn send(
    cluster: Arc<Cluster>,
    began: Instant,
    per_second: u32,
    count: u32,
) -> Result<(), Problem> {
    let mut ticks = interval(Duration::from_secs(1) / per_second);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
    for _ in 0..count {
        ticks.tick().await;
        let sent = microseconds(began).to_le_bytes();
        cluster
            .broadcast(KIND, Bytes::copy_from_slice(&sent))
            .await?;
    }
    Ok(())
}

fn microseconds(since: Instant) -> u64 {
    since.elapsed().as_micros().try_into().unwrap_or(u64::MAX)
}

/// Returns the processor time that a process has used.
fn used_microseconds(process: u32) -> Result<u64, Problem> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat"))?;
    // Behind the name, which may have spaces: the state is field 3, the times in the program and the kernel are
    // 14 and 15.
    let (_, fields) = stat.rsplit_once(") ").ok_or("no state of the process")?;
    let mut ticks = 0;
    for field in fields.split(' ').skip(11).take(2) {
        ticks += field.parse::<u64>()?;
    }
    Ok(ticks * MICROSECONDS_PER_TICK)
}
