//! A server as a child process of its client.

mod command;
mod command_line;
mod environment;
mod link;
#[cfg(unix)]
mod orphan_guard;
mod output;
mod stderr;
mod stdin;
mod stdout;
mod supervisor;
#[cfg_attr(unix, path = "unix.rs")]
#[cfg_attr(not(unix), path = "other.rs")]
mod system;

use std::io;
use std::process::Stdio;
use std::sync::Arc;

use tokio::sync::watch;
use turnbuckle_session::handler::Signal;
use turnbuckle_session::transport::{
    Connector, Inbox, Link, LinkError, LinkKind, OpenFuture, TransportLink,
};

use crate::stream::StreamTransport;
use link::{ChildLink, ProcessGuard, SupervisedInbox};
use stderr::StderrReader;
use stdin::ServerStdin;
use stdout::ServerStdout;
use supervisor::ProcessSupervisor;
use system::Process;

pub use command::{Command, ShutdownTimeouts};
pub use stderr::StderrMode;

/// Runs the command once for every link. Whether it is a server is known only when it answers.
impl Connector for Command {
    fn open(&self, inbox: Arc<dyn Inbox>) -> OpenFuture<'_> {
        Box::pin(async move {
            match self.start(inbox) {
                Ok(link) => Ok(link as Arc<dyn Link>),
                Err(error) => Err(LinkError::Unreachable {
                    reason: command_line::spawn_error(self, &error),
                }),
            }
        })
    }

    fn link_kind(&self) -> LinkKind {
        LinkKind::Duplex
    }

    fn description(&self) -> String {
        command_line::display(&self.program, &self.args)
    }
}

impl Command {
    /// Starts the program, whose standard output is a pipe.
    fn spawn(&self, stdin: Stdio) -> io::Result<Process> {
        let mut command = tokio::process::Command::from(self.to_std());
        command
            .stdin(stdin)
            .stdout(Stdio::piped())
            .stderr(self.stderr.stdio())
            .kill_on_drop(true);
        let process = Process::start(&mut command, self.ends_with_parent)?;
        if let (Some(on_start), Some(id)) = (&self.on_start, process.child.id()) {
            on_start(id);
        }
        Ok(process)
    }

    fn start(&self, inbox: Arc<dyn Inbox>) -> io::Result<Arc<ChildLink>> {
        let mut process = self.spawn(Stdio::piped())?;
        let child = &mut process.child;
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(io::Error::other(
                "the streams of the new process are not connected",
            ));
        };
        let stderr = child.stderr.take();

        let (output, inherited) = ServerStdout::new(stdout);
        let (input, input_use) = ServerStdin::new(stdin);
        let transport = StreamTransport::new(output, input, self.max_message_bytes);
        let (supervised, lost) = SupervisedInbox::new(inbox.clone());
        let transport_link =
            TransportLink::start(transport, Arc::new(supervised), self.max_queue_bytes);
        let (exit_sender, exit_reason) = watch::channel(None);
        let guard = ProcessGuard {
            shutdown: Signal::new(),
            group: process.group(),
        };
        let supervisor = ProcessSupervisor {
            process,
            shutdown_timeouts: self.shutdown_timeouts,
            stderr: stderr.map(|pipe| StderrReader::start(pipe, &self.stderr)),
            stdout: inherited,
            input_use,
            transport_link: Arc::downgrade(&transport_link),
            lost,
            inbox,
            shutdown: guard.shutdown.clone(),
            exit_reason: exit_sender,
        };
        tokio::spawn(supervisor.run());
        Ok(Arc::new(ChildLink {
            guard: Arc::new(guard),
            transport_link,
            exit_reason,
        }))
    }
}
