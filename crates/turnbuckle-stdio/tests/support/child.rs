//! A client's end of a link, and what `/proc` says of processes.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::timeout;
use turnbuckle_session::{Connector, Frame, Inbox, Link, LinkError, Parcel, ParcelKind};
use turnbuckle_stdio::{Command, ShutdownTimes};
use turnbuckle_types::RequestId;

/// Far longer than anything here takes, and far shorter than a hang.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// What came to an inbox.
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

    fn awaits(&self, _: &RequestId) -> bool {
        false
    }

    fn lost(&self, why: LinkError) {
        let _ = self.0.send(Event::Lost(why));
    }
}

/// An open link, and what comes on it.
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

    pub(crate) async fn carry(&self, text: &str) -> Result<(), LinkError> {
        let parcel = Parcel {
            frame: text.into(),
            kind: ParcelKind::Notification,
            headers: Vec::new(),
        };
        timeout(PATIENCE, self.link.carry(parcel)).await.unwrap()
    }

    pub(crate) async fn event(&mut self) -> Event {
        let event = timeout(PATIENCE, self.events.recv()).await;
        event.expect("an event in time").expect("a living link")
    }

    /// The next line.
    pub(crate) async fn line(&mut self) -> String {
        match self.event().await {
            Event::Frame(Frame::Message(line)) => String::from_utf8(line.to_vec()).unwrap(),
            other => panic!("{other:?}"),
        }
    }

    /// A process id on the next line.
    pub(crate) async fn pid(&mut self) -> u32 {
        self.line().await.parse().unwrap()
    }

    /// Why the link died.
    pub(crate) async fn lost(&mut self) -> LinkError {
        match self.event().await {
            Event::Lost(why) => why,
            other => panic!("{other:?}"),
        }
    }

    /// How the process ended, and what it said last.
    pub(crate) async fn exited(&mut self) -> (String, String) {
        match self.lost().await {
            LinkError::Exited { status, stderr } => (status, stderr),
            other => panic!("{other:?}"),
        }
    }

    /// Closes the link, and says how long that took.
    pub(crate) async fn close(&self) -> Duration {
        let start = Instant::now();
        timeout(PATIENCE, self.link.close()).await.unwrap();
        start.elapsed()
    }
}

/// A server of a few lines.
pub(crate) fn sh(script: &str) -> Command {
    Command::new("/bin/sh").arg("-c").arg(script)
}

/// Short for who is patient, long for who is polite.
pub(crate) fn times(after_close: u64, after_term: u64) -> ShutdownTimes {
    ShutdownTimes::new()
        .after_close(Duration::from_millis(after_close))
        .after_term(Duration::from_millis(after_term))
}

fn proc_of(pid: u32) -> PathBuf {
    PathBuf::from(format!("/proc/{pid}"))
}

/// Whether nothing of a process is left, not even a zombie.
pub(crate) fn is_gone(pid: u32) -> bool {
    !proc_of(pid).exists()
}

/// Whether a process no longer runs. One that is not our child may remain a zombie: waiting for
/// it is somebody else's business.
pub(crate) fn is_dead(pid: u32) -> bool {
    let Ok(stat) = std::fs::read_to_string(proc_of(pid).join("stat")) else {
        return true;
    };
    let state = stat.rsplit(')').next().unwrap().trim_start();
    state.starts_with(['Z', 'X'])
}

pub(crate) async fn until(what: impl Fn() -> bool) {
    let start = Instant::now();
    while !what() {
        assert!(start.elapsed() < PATIENCE, "it never came to be");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}
