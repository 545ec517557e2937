//! A client's end of a link, and the state of processes from `/proc`.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::timeout;
use turnbuckle_session::transport::{
    Connector, Frame, Inbox, Link, LinkError, OutboundKind, OutboundMessage,
};
use turnbuckle_stdio::{Command, ShutdownTimeouts};
use turnbuckle_types::RequestId;

/// Far longer than any step of these tests takes.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(10);

/// A call of an inbox.
#[derive(Debug)]
pub(crate) enum Event {
    Frame(Frame),
    Lost(LinkError),
}

struct Recorder(UnboundedSender<Event>);

impl Inbox for Recorder {
    fn receive(&self, frame: Frame, exchange: Option<&RequestId>) {
        assert!(exchange.is_none());
        let _ = self.0.send(Event::Frame(frame));
    }

    fn is_pending(&self, _: &RequestId) -> bool {
        false
    }

    fn fail(&self, why: LinkError) {
        let _ = self.0.send(Event::Lost(why));
    }
}

/// An open link and the events of its inbox.
pub(crate) struct Client {
    pub(crate) link: Arc<dyn Link>,
    pub(crate) events: UnboundedReceiver<Event>,
}

impl Client {
    pub(crate) async fn open(command: &Command) -> Self {
        Self::try_open(command).await.unwrap()
    }

    pub(crate) async fn try_open(command: &Command) -> Result<Self, LinkError> {
        let (sender, events) = unbounded_channel();
        let link = command.open(Arc::new(Recorder(sender))).await?;
        Ok(Self { link, events })
    }

    pub(crate) async fn send(&self, text: &str) -> Result<(), LinkError> {
        let message = OutboundMessage {
            frame: text.into(),
            kind: OutboundKind::Notification,
            headers: Vec::new(),
        };
        timeout(TIMEOUT, self.link.send(message)).await.unwrap()
    }

    pub(crate) async fn event(&mut self) -> Event {
        let event = timeout(TIMEOUT, self.events.recv()).await;
        event.expect("an event in time").expect("a living link")
    }

    /// Returns the next line.
    pub(crate) async fn line(&mut self) -> String {
        match self.event().await {
            Event::Frame(Frame::Message(line)) => String::from_utf8(line.to_vec()).unwrap(),
            other => panic!("{other:?}"),
        }
    }

    /// Returns the process id on the next line.
    pub(crate) async fn pid(&mut self) -> u32 {
        self.line().await.parse().unwrap()
    }

    /// Returns the error with which the link ended.
    pub(crate) async fn lost(&mut self) -> LinkError {
        match self.event().await {
            Event::Lost(why) => why,
            other => panic!("{other:?}"),
        }
    }

    /// Returns the exit status and the last standard error of the process.
    pub(crate) async fn exit_details(&mut self) -> (String, String) {
        match self.lost().await {
            LinkError::ProcessExited { status, stderr, .. } => (status, stderr),
            other => panic!("{other:?}"),
        }
    }

    /// Closes the link and returns the time that it took.
    pub(crate) async fn close(&self) -> Duration {
        let start = Instant::now();
        timeout(TIMEOUT, self.link.close()).await.unwrap();
        start.elapsed()
    }
}

/// Returns a server that is a shell script.
pub(crate) fn sh(script: &str) -> Command {
    Command::new("/bin/sh").arg("-c").arg(script)
}

/// Returns shutdown timeouts in milliseconds.
pub(crate) fn timeouts(close_timeout: u64, term_timeout: u64) -> ShutdownTimeouts {
    ShutdownTimeouts::new()
        .close_timeout(Duration::from_millis(close_timeout))
        .term_timeout(Duration::from_millis(term_timeout))
}

fn proc_dir(pid: u32) -> PathBuf {
    PathBuf::from(format!("/proc/{pid}"))
}

/// Returns whether nothing of a process is left, not even a zombie.
pub(crate) fn is_gone(pid: u32) -> bool {
    !proc_dir(pid).exists()
}

/// Returns whether a process no longer runs. One that is not our child may remain a zombie until its
/// parent waits for it.
pub(crate) fn is_dead(pid: u32) -> bool {
    let Ok(stat) = std::fs::read_to_string(proc_dir(pid).join("stat")) else {
        return true;
    };
    let state = stat.rsplit(')').next().unwrap().trim_start();
    state.starts_with(['Z', 'X'])
}

pub(crate) async fn until(condition: impl Fn() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(
            start.elapsed() < TIMEOUT,
            "the condition did not become true in time"
        );
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}
