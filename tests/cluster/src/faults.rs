//! The faults of a run: they befall the instances and the store while clients work.

use std::time::Duration;

use tokio::time::{Instant, sleep, sleep_until};
use turnbuckle_engines::RedisServer;

use crate::fault::Fault;
use crate::instance::{INSTANCES, Instances};
use crate::outcome::Tally;
use crate::problem::Problem;

/// The time between two faults.
const INTERVAL: Duration = Duration::from_secs(2);

/// The time for which the store works after it was halted or emptied.
const STORE_REST: Duration = Duration::from_secs(10);

/// The shortest time between two new keys. An instance takes 16, and an old one must be known for as long as there is
/// something that it has sealed: for the whole of a run of 10 minutes.
const ROTATION_INTERVAL: Duration = Duration::from_secs(45);

/// The time before the end in which nothing happens any more, so that what runs can end.
const CALM: Duration = Duration::from_secs(4);

/// The faults of a run, in turn.
pub(crate) struct Plan {
    faults: Vec<Fault>,
    instances: Instances,
    redis: RedisServer,
    /// The time for which the store is halted.
    pause: Duration,
    /// The number of faults so far.
    done: usize,
    /// The number of instances that were replaced so far.
    replaced: usize,
    rotated_at: Option<Instant>,
}

impl Plan {
    /// Creates the plan of a run, in which the store is halted for `pause` each time.
    pub(crate) fn new(
        faults: Vec<Fault>,
        pause: Duration,
        instances: Instances,
        redis: RedisServer,
    ) -> Self {
        Self {
            faults,
            pause,
            instances,
            redis,
            done: 0,
            replaced: 0,
            rotated_at: None,
        }
    }

    /// Carries out a fault every 2 seconds, until shortly before `end`.
    pub(crate) async fn carry_out(&mut self, end: Instant, tally: &Tally) -> Result<(), Problem> {
        sleep(INTERVAL).await;
        while Instant::now() + CALM < end && !self.faults.is_empty() {
            let next = Instant::now() + INTERVAL;
            let fault = self.faults[self.done % self.faults.len()];
            self.done += 1;
            tally.begin(fault);
            self.apply(fault).await?;
            tally.end(fault);
            // What a fault of the store has delayed is made up for before the next one.
            let rest = match fault {
                Fault::PauseStore | Fault::EmptyStore => STORE_REST,
                _ => Duration::ZERO,
            };
            sleep_until(next.max(Instant::now() + rest)).await;
        }
        Ok(())
    }

    async fn apply(&mut self, fault: Fault) -> Result<(), Problem> {
        match fault {
            Fault::Kill => {
                self.replaced += 1;
                self.instances.kill(self.replaced).await
            }
            Fault::Stop => {
                self.replaced += 1;
                self.instances.stop(self.replaced).await
            }
            Fault::Keys => match self.rotated_at {
                Some(at) if at.elapsed() < ROTATION_INTERVAL => {
                    self.replaced += 1;
                    self.instances.stop(self.replaced).await
                }
                _ => self.rotate_keys().await,
            },
            Fault::PauseStore => {
                self.redis.process().pause();
                sleep(self.pause).await;
                self.redis.process().resume();
                Ok(())
            }
            Fault::EmptyStore => {
                self.redis.stop();
                self.redis.run();
                Ok(())
            }
        }
    }

    /// Lets every instance know a new key, then use it.
    async fn rotate_keys(&mut self) -> Result<(), Problem> {
        self.rotated_at = Some(Instant::now());
        self.instances.add_key()?;
        for place in 0..INSTANCES {
            self.instances.stop(place).await?;
        }
        self.instances.use_new_key();
        for place in 0..INSTANCES {
            self.instances.stop(place).await?;
        }
        Ok(())
    }

    /// Tells the instances to stop, and returns the keys that are left in the store and never expire.
    pub(crate) async fn finish(&mut self) -> Result<Vec<String>, Problem> {
        self.instances.finish().await?;
        keys_without_expiry(&self.redis)
    }
}

/// Returns the keys of Redis without an expiry.
fn keys_without_expiry(redis: &RedisServer) -> Result<Vec<String>, Problem> {
    let script = "local out = {} \
        for _, key in ipairs(redis.call('KEYS', '*')) do \
        if redis.call('PTTL', key) == -1 then out[#out + 1] = key end end \
        return out";
    let cli = turnbuckle_engines::find_program("redis-cli");
    let output = std::process::Command::new(cli)
        .arg("-s")
        .arg(redis.socket())
        .args(["EVAL", script, "0"])
        .output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text
        .lines()
        .filter(|line| !line.is_empty())
        .map(str::to_owned)
        .collect())
}
