//! The task that looks after one process, from its start until nothing of it is left.

use std::process::ExitStatus;
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::process::ChildStdout;
use tokio::sync::{oneshot, watch};
use tokio::time::timeout;
use turnbuckle_session::{Inbox, Link, LinkError, Pump, Signal};

use super::output::discard;
use super::stderr::Drain;
use super::{Process, ShutdownTimes};

/// How long the end of a process, of its output and of its error output are waited for once one
/// of them has come. Together they come at once, unless somebody else holds a pipe open.
const TOGETHER: Duration = Duration::from_millis(500);

/// How long a killed process may take to be gone.
const AFTER_KILL: Duration = Duration::from_secs(2);

/// Why a link is over; its channel closes when nothing of the process is left.
pub(super) type Fate = watch::Sender<Option<LinkError>>;

pub(super) struct Keeper {
    pub(super) process: Process,
    pub(super) times: ShutdownTimes,
    pub(super) stderr: Option<Drain>,
    /// The pipe that the transport no longer reads.
    pub(super) stdout: oneshot::Receiver<ChildStdout>,
    pub(super) pump: Weak<Pump>,
    /// Why the transport ended by itself.
    pub(super) lost: oneshot::Receiver<LinkError>,
    pub(super) inbox: Arc<dyn Inbox>,
    /// Closing: the process is to be shut down. Cancelled: it is to be killed.
    pub(super) leash: Signal,
    pub(super) fate: Fate,
}

impl Keeper {
    pub(super) async fn run(mut self) {
        let leash = self.leash.clone();
        tokio::select! {
            biased;
            () = leash.closing() => {}
            why = &mut self.lost => self.output_ended(why.unwrap_or(LinkError::Closed)).await,
            () = self.process.ended() => self.process_ended().await,
        }
        self.shut_down().await;
        last_words(self.stderr.take()).await;
    }

    /// The transport ended first. Most often the process is about to follow.
    async fn output_ended(&mut self, why: LinkError) {
        match timeout(TOGETHER, self.process.ended()).await {
            Ok(()) => {
                let status = self.process.reap();
                let stderr = last_words(self.stderr.take()).await;
                self.announce(exited(status, stderr));
            }
            Err(_) => self.announce(why),
        }
    }

    /// The process ended first. What it wrote before is still read.
    async fn process_ended(&mut self) {
        let status = self.process.reap();
        let (read, stderr) = tokio::join!(
            timeout(TOGETHER, &mut self.lost),
            last_words(self.stderr.take())
        );
        if let (Err(_), Some(pump)) = (read, self.pump.upgrade()) {
            // Somebody else holds its output open, whose words are not the server's.
            let _ = timeout(TOGETHER, pump.close()).await;
        }
        self.announce(exited(status, stderr));
    }

    fn announce(&self, why: LinkError) {
        if !self.leash.is_closing() {
            // Told first: whoever finds the way closed knows that the connection is lost.
            self.inbox.lost(why.clone());
            self.fate.send_replace(Some(why));
        }
    }

    /// Waits for the process, whose input is closed or about to be; asks it to end; kills it, and
    /// whatever is left of its group.
    async fn shut_down(&mut self) {
        let (process, times) = (&mut self.process, self.times);
        let politely = async {
            if timeout(times.after_close, process.ended()).await.is_err() && process.terminate() {
                let _ = timeout(times.after_term, process.ended()).await;
            }
        };
        tokio::select! {
            () = politely => {}
            () = self.leash.cancelled() => {}
            never = discard(&mut self.stdout) => match never {},
        }
        self.process.kill();
        if timeout(AFTER_KILL, self.process.ended()).await.is_err() {
            tracing::warn!("a server's process was killed and is still there");
        }
        self.process.reap();
    }
}

async fn last_words(stderr: Option<Drain>) -> String {
    match stderr {
        Some(stderr) => stderr.last_words(TOGETHER).await,
        None => String::new(),
    }
}

fn exited(status: Option<ExitStatus>, stderr: String) -> LinkError {
    let status = status.map_or_else(|| "status unknown".into(), |status| status.to_string());
    LinkError::Exited { status, stderr }
}
