//! The task that supervises one child process from its start until its process group is gone.

use std::process::ExitStatus;
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::process::ChildStdout;
use tokio::sync::{oneshot, watch};
use tokio::time::timeout;
use turnbuckle_session::handler::Signal;
use turnbuckle_session::transport::{Inbox, Link, LinkError, TransportLink};

use super::command::ShutdownTimeouts;
use super::stderr::StderrReader;
use super::stdin::InputUse;
use super::stdout::discard;
use super::system::Process;

/// The time to wait for the others of three events once one of them has come: the end of a process,
/// of its output and of its error output. They come together unless another process holds a pipe
/// open.
pub(super) const EXIT_GRACE: Duration = Duration::from_millis(500);

/// The time to wait for a killed process to end.
const KILL_TIMEOUT: Duration = Duration::from_secs(2);

/// The channel of the reason why a link has ended. It closes when the process group is gone.
pub(super) type ExitReason = watch::Sender<Option<LinkError>>;

/// The supervisor of one child process.
pub(super) struct ProcessSupervisor {
    pub(super) process: Process,
    pub(super) shutdown_timeouts: ShutdownTimeouts,
    pub(super) stderr: Option<StderrReader>,
    /// The pipe of standard output, once the transport no longer reads it.
    pub(super) stdout: oneshot::Receiver<ChildStdout>,
    pub(super) input_use: InputUse,
    pub(super) transport_link: Weak<TransportLink>,
    /// The reason why the transport ended by itself.
    pub(super) lost: oneshot::Receiver<LinkError>,
    pub(super) inbox: Arc<dyn Inbox>,
    /// Closed to shut the process down, cancelled to kill it.
    pub(super) shutdown: Signal,
    pub(super) exit_reason: ExitReason,
}

impl ProcessSupervisor {
    pub(super) async fn run(mut self) {
        let shutdown = self.shutdown.clone();
        tokio::select! {
            biased;
            () = shutdown.closing() => {}
            error = &mut self.lost => {
                self.output_ended(error.unwrap_or(LinkError::Closed)).await;
            }
            () = self.process.wait_for_end() => self.process_ended().await,
        }
        self.shut_down().await;
        captured_stderr(self.stderr.take()).await;
        self.process.release_helper().await;
    }

    /// Handles the end of the transport. Most often the process ends at the same time.
    async fn output_ended(&mut self, error: LinkError) {
        match timeout(EXIT_GRACE, self.process.wait_for_end()).await {
            Ok(()) => {
                let status = self.process.reap();
                self.process.release_helper().await;
                let stderr = captured_stderr(self.stderr.take()).await;
                self.report_exit(status, stderr).await;
            }
            Err(_) => self.report_loss(error),
        }
    }

    /// Handles the end of the process. Its remaining output is still read.
    async fn process_ended(&mut self) {
        let status = self.process.reap();
        self.process.release_helper().await;
        let (read, stderr) = tokio::join!(
            timeout(EXIT_GRACE, &mut self.lost),
            captured_stderr(self.stderr.take())
        );
        // Without the end of the output, another process holds it open. What it writes is not the
        // server's.
        drop(read);
        self.report_exit(status, stderr).await;
    }

    /// Reports the end of the process, once nothing can be written to it any more.
    async fn report_exit(&self, status: Option<ExitStatus>, stderr: String) {
        if let Some(link) = self.transport_link.upgrade() {
            let _ = timeout(EXIT_GRACE, link.close()).await;
        }
        let status = status.map_or_else(|| "status unknown".into(), |status| status.to_string());
        self.report_loss(LinkError::ProcessExited {
            status,
            stderr,
            may_have_read: self.input_use.may_have_read(),
        });
    }

    fn report_loss(&self, error: LinkError) {
        if !self.shutdown.is_closing() {
            // Reported first, so that a sender is refused only after the client knows of the loss.
            self.inbox.fail(error.clone());
            self.exit_reason.send_replace(Some(error));
        }
    }

    /// Waits for the process, whose input is closed or about to be; then asks it to end; then kills
    /// it and whatever is left of its process group.
    async fn shut_down(&mut self) {
        let (process, timeouts) = (&mut self.process, self.shutdown_timeouts);
        let graceful = async {
            if timeout(timeouts.close_timeout, process.wait_for_end())
                .await
                .is_err()
                && process.terminate()
            {
                let _ = timeout(timeouts.term_timeout, process.wait_for_end()).await;
            }
        };
        tokio::select! {
            () = graceful => {}
            () = self.shutdown.cancelled() => {}
            never = discard(&mut self.stdout) => match never {},
        }
        self.process.kill();
        if timeout(KILL_TIMEOUT, self.process.wait_for_end())
            .await
            .is_err()
        {
            tracing::warn!("the process of a server was killed and has not ended yet");
        }
        self.process.reap();
    }
}

/// Reads the rest of a standard error and returns its last part.
pub(super) async fn captured_stderr(stderr: Option<StderrReader>) -> String {
    match stderr {
        Some(stderr) => stderr.finish(EXIT_GRACE).await,
        None => String::new(),
    }
}
