//! The rate of changes that ten instances of a server tell each other.
#![allow(clippy::print_stdout, reason = "for programs for people")]

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use turnbuckle_cluster::{ChangeReceiver, Cluster, SharedChange};
use turnbuckle_store::Store;
use turnbuckle_types::base::change_position::ChangePosition;

const INSTANCES: usize = 10;
const CHANGES_PER_SECOND: u32 = 1_000;
const SECONDS: u32 = 5;

/// The time between two groups of changes of one instance.
const INTERVAL: Duration = Duration::from_millis(10);

/// The longest wait for the last change.
const PATIENCE: Duration = Duration::from_secs(30);

/// The changes that one instance has received: the time from the publication of each.
struct Received {
    began: Instant,
    times: Mutex<Vec<Duration>>,
    losses: Mutex<usize>,
}

impl Received {
    fn count(&self) -> usize {
        self.times
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .len()
    }
}

impl ChangeReceiver for Received {
    fn receive_change(&self, change: &SharedChange, _: Option<ChangePosition>) {
        let SharedChange::Resource(uri) = change else {
            return;
        };
        // The URI ends with the time of the publication.
        let published = uri.rsplit(':').next().and_then(|time| time.parse().ok());
        let published = Duration::from_micros(published.expect("our own URI"));
        let time = self.began.elapsed().saturating_sub(published);
        let mut times = self.times.lock().unwrap_or_else(PoisonError::into_inner);
        times.push(time);
    }

    fn receive_position(&self, _: ChangePosition) {}

    fn receive_loss(&self, _: ChangePosition) {
        *self.losses.lock().unwrap_or_else(PoisonError::into_inner) += 1;
    }
}

/// Has ten instances, each with one of `stores`, publish 1,000 changes a second for five seconds, and
/// prints how many arrived and in what time.
///
/// # Panics
/// If there is no randomness, or the changes have not all arrived after 30 seconds.
pub async fn print_change_rate(stores: Vec<Arc<dyn Store>>) {
    assert_eq!(stores.len(), INSTANCES, "one store for each instance");
    let began = Instant::now();
    let mut instances = Vec::new();
    for store in stores {
        let cluster = Cluster::new(store).expect("randomness");
        let received = Arc::new(Received {
            began,
            times: Mutex::default(),
            losses: Mutex::default(),
        });
        let receiver: Weak<Received> = Arc::downgrade(&received);
        cluster.changes().set_receiver(receiver);
        cluster.start();
        cluster.ready().await;
        cluster.changes().ready().await;
        instances.push((cluster, received));
    }
    let cpu_before = cpu_time();
    let publishing = Instant::now();
    let mut tasks = Vec::new();
    for (number, (cluster, _)) in instances.iter().enumerate() {
        let cluster = cluster.clone();
        tasks.push(tokio::spawn(async move {
            let mut ticks = tokio::time::interval(INTERVAL);
            let interval = u32::try_from(INTERVAL.as_millis()).expect("short");
            let group = CHANGES_PER_SECOND * interval / 1000;
            for tick in 0..SECONDS * CHANGES_PER_SECOND / group {
                ticks.tick().await;
                for change in 0..group {
                    let at = began.elapsed().as_micros();
                    let uri = format!("file:///{number}/{tick}/{change}:{at}");
                    cluster
                        .changes()
                        .publish(SharedChange::Resource(uri.into()));
                }
            }
        }));
    }
    for task in tasks {
        task.await.expect("it does not panic");
    }
    let published = INSTANCES * usize::try_from(SECONDS * CHANGES_PER_SECOND).expect("small");
    let took = publishing.elapsed();
    let waiting = Instant::now();
    let is_done = || instances.iter().all(|(_, it)| it.count() >= published);
    while !is_done() && waiting.elapsed() < PATIENCE {
        tokio::time::sleep(INTERVAL).await;
    }
    let late = waiting.elapsed();
    let cpu = cpu_time().saturating_sub(cpu_before);
    let mut times: Vec<Duration> = Vec::new();
    let mut losses = 0;
    for (_, received) in &instances {
        assert_eq!(received.count(), published, "each arrives once everywhere");
        times.extend(
            received
                .times
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .iter(),
        );
        losses += *received
            .losses
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
    }
    times.sort_unstable();
    let part = |percent: usize| times[(times.len() - 1) * percent / 100];
    println!(
        "{published} changes of {INSTANCES} instances in {took:.1?}, {} received, {losses} losses told; \
         the last {late:.1?} after the last was published",
        times.len(),
    );
    println!(
        "from one instance to all: p50 {:.1?}, p99 {:.1?}, most {:.1?}; {cpu:.1?} of CPU in all",
        part(50),
        part(99),
        part(100),
    );
}

/// Returns the CPU time that this process has used.
fn cpu_time() -> Duration {
    let Ok(stat) = std::fs::read_to_string("/proc/self/stat") else {
        return Duration::ZERO;
    };
    // The fields behind the name of the program: utime and stime are the 12th and 13th, in 10 ms.
    let fields = stat.rsplit(')').next().unwrap_or_default();
    let ticks = fields.split_whitespace().skip(11).take(2);
    let ticks: u64 = ticks.filter_map(|it| it.parse::<u64>().ok()).sum();
    Duration::from_millis(ticks * 10)
}
