//! The instances: three places, each with a port of its own, and the process that serves there.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};
use tokio::time::timeout;
use turnbuckle::SecretKey;
use turnbuckle_engines::ReservedPort;

use crate::problem::Problem;

/// The most keys that an instance takes.
const MAX_KEYS: usize = 16;

/// The number of instances.
pub(crate) const INSTANCES: usize = 3;

/// The time in which an instance must listen.
const START_TIMEOUT: Duration = Duration::from_secs(10);

/// The time in which an instance that was told to stop must have ended.
const STOP_TIMEOUT: Duration = Duration::from_secs(10);

/// The places of the instances.
pub(crate) struct Instances {
    store: String,
    orders: PathBuf,
    /// The keys of the next instance that starts, newest first.
    keys: Vec<String>,
    places: Vec<Slot>,
}

struct Slot {
    port: ReservedPort,
    process: Child,
}

impl Instances {
    /// Starts an instance at each place.
    pub(crate) async fn start(store: String, orders: PathBuf) -> Result<Self, Problem> {
        let mut instances = Self {
            store,
            orders,
            keys: vec![SecretKey::generate()?.to_text()],
            places: Vec::new(),
        };
        for _ in 0..INSTANCES {
            let port = ReservedPort::new()?;
            let process = instances.launch(port.number()).await?;
            instances.places.push(Slot { port, process });
        }
        Ok(instances)
    }

    /// Returns the ports.
    pub(crate) fn ports(&self) -> Vec<u16> {
        self.places
            .iter()
            .map(|place| place.port.number())
            .collect()
    }

    /// Returns the ids of the processes.
    pub(crate) fn process_ids(&self) -> Vec<u32> {
        self.places
            .iter()
            .filter_map(|place| place.process.id())
            .collect()
    }

    /// Makes a new key the newest of the instances that start from now on. It must be known to all before it
    /// is used, as [`KeyRing`](turnbuckle::KeyRing) says.
    pub(crate) fn add_key(&mut self) -> Result<(), Problem> {
        // In a longer run the oldest one goes.
        self.keys.truncate(MAX_KEYS - 1);
        self.keys.push(SecretKey::generate()?.to_text());
        Ok(())
    }

    /// Makes the last key of the list the first.
    pub(crate) fn use_new_key(&mut self) {
        self.keys.rotate_right(1);
    }

    /// Kills the instance at a place, and starts another one there.
    pub(crate) async fn kill(&mut self, place: usize) -> Result<(), Problem> {
        let place = place % self.places.len();
        self.places[place].process.kill().await?;
        self.replace(place).await
    }

    /// Tells the instance at a place to stop, and starts another one there when it has ended.
    pub(crate) async fn stop(&mut self, place: usize) -> Result<(), Problem> {
        let place = place % self.places.len();
        self.end(place).await?;
        self.replace(place).await
    }

    async fn end(&mut self, place: usize) -> Result<(), Problem> {
        let process = &mut self.places[place].process;
        let id = process.id().ok_or("an instance has ended by itself")?;
        let terminated = std::process::Command::new("kill")
            .arg(id.to_string())
            .status()?;
        if !terminated.success() {
            return Err("an instance could not be told to stop".into());
        }
        let ended = timeout(STOP_TIMEOUT, process.wait()).await;
        let status = ended.map_err(|_| "an instance that was told to stop goes on")??;
        match status.success() {
            true => Ok(()),
            false => Err(format!("an instance that was told to stop ended with {status}").into()),
        }
    }

    async fn replace(&mut self, place: usize) -> Result<(), Problem> {
        self.places[place].process = self.launch(self.places[place].port.number()).await?;
        Ok(())
    }

    /// Tells all instances to stop.
    pub(crate) async fn finish(&mut self) -> Result<(), Problem> {
        for place in 0..self.places.len() {
            self.end(place).await?;
        }
        Ok(())
    }

    async fn launch(&self, port: u16) -> Result<Child, Problem> {
        let mut child = Command::new(std::env::current_exe()?)
            .args(["serve", "--port", &port.to_string(), "--store", &self.store])
            .arg("--orders")
            .arg(&self.orders)
            .env("TURNBUCKLE_KEYS", self.keys.join(","))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let output = child.stdout.take().ok_or("no standard output")?;
        let mut lines = BufReader::new(output).lines();
        let ready = timeout(START_TIMEOUT, lines.next_line()).await;
        match ready.map_err(|_| "an instance did not start in time")?? {
            Some(line) if line == "ready" => Ok(child),
            line => Err(format!("an instance did not start: {line:?}").into()),
        }
    }
}
