//! A client's server as a process of its own.

mod command;
mod environment;
mod keeper;
mod link;
mod output;
mod stderr;
#[cfg_attr(unix, path = "unix.rs")]
#[cfg_attr(not(unix), path = "other.rs")]
mod system;
mod words;

use std::io;
use std::process::Stdio;
use std::sync::Arc;

use tokio::sync::watch;
use turnbuckle_session::{Connector, Inbox, Link, LinkError, LinkKind, Opening, Pump, Signal};

use crate::StreamTransport;
use keeper::Keeper;
use link::{ChildLink, Leash, Tap};
use output::Output;
use stderr::Drain;
use system::{Group, Process};

pub use command::{Command, ShutdownTimes};
pub use stderr::StderrTo;

/// Runs the command, once for every link. It is known to be a server only when it answers.
impl Connector for Command {
    fn open(&self, inbox: Arc<dyn Inbox>) -> Opening<'_> {
        Box::pin(async move {
            match self.start(inbox) {
                Ok(link) => Ok(link as Arc<dyn Link>),
                Err(error) => Err(LinkError::Unreachable {
                    reason: words::unreachable(self, &error),
                }),
            }
        })
    }

    fn binding(&self) -> LinkKind {
        LinkKind::Duplex
    }

    fn describe(&self) -> String {
        words::line(&self.program, &self.args)
    }
}

impl Command {
    fn start(&self, inbox: Arc<dyn Inbox>) -> io::Result<Arc<ChildLink>> {
        let mut command = tokio::process::Command::from(self.to_std());
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(self.stderr.stdio())
            .kill_on_drop(true);
        let mut process = Process::start(&mut command)?;
        let child = &mut process.child;
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(io::Error::other("its streams are not connected"));
        };
        let stderr = child.stderr.take();

        let (output, inherited) = Output::new(stdout);
        let transport = StreamTransport::new(output, stdin, self.max_line);
        let (tap, lost) = Tap::new(inbox.clone());
        let pump = Pump::start(transport, Arc::new(tap), self.max_queue);
        let (fate, told) = watch::channel(None);
        let leash = Leash {
            signal: Signal::new(),
            group: process.group(),
        };
        let keeper = Keeper {
            process,
            times: self.times,
            stderr: stderr.map(|pipe| Drain::start(pipe, &self.stderr)),
            stdout: inherited,
            pump: Arc::downgrade(&pump),
            lost,
            inbox,
            leash: leash.signal.clone(),
            fate,
        };
        tokio::spawn(keeper.run());
        Ok(Arc::new(ChildLink {
            leash: Arc::new(leash),
            pump,
            fate: told,
        }))
    }
}
