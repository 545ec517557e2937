//! A helper process that outlives this one and kills the process group of a server that was left
//! behind.

use std::io::Write as _;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::Pid;
use tokio::process::{Child, Command};
use tokio::time::timeout;
use turnbuckle_types::base::text::Escaped;

/// The shell that runs the helper.
const SHELL: &str = "/bin/sh";

/// Waits for a line. Without one, at the end of its input, kills the process group `$1`. Some shells
/// know no `--`.
const SCRIPT: &str = r#"read -r line || { kill -KILL -- "-$1" || kill -KILL "-$1"; } 2>/dev/null"#;

/// The time that the helper may take to end.
const END_TIMEOUT: Duration = Duration::from_millis(500);

/// A helper process that kills a process group when this process ends without dropping the guard, for
/// instance by SIGKILL: only then does its input end without a line.
///
/// The signal that Linux sends to children of a dead parent (`PR_SET_PDEATHSIG`) does not fit: it is
/// sent when the thread ends that started the child, and to no other process of the group.
pub(super) struct OrphanGuard {
    helper: Child,
    input: UnixStream,
}

impl OrphanGuard {
    /// Starts the helper for the group of this leader. Returns `None` where there is no shell.
    pub(super) fn start(leader: Pid) -> Option<Self> {
        let (input, output) = UnixStream::pair().ok()?;
        input.set_nonblocking(true).ok()?;
        let helper = Command::new(SHELL)
            .args(["-c", SCRIPT, "turnbuckle-orphan-guard"])
            .arg(leader.as_raw_nonzero().to_string())
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::from(OwnedFd::from(output)))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // A Ctrl-C at the terminal is not meant for the helper.
            .process_group(0)
            .spawn();
        match helper {
            Ok(helper) => Some(Self { helper, input }),
            Err(error) => {
                tracing::debug!(error = %Escaped(&error), "no helper ends a server that this process leaves behind");
                None
            }
        }
    }

    /// Tells the helper to leave the group alone.
    pub(super) fn release(&mut self) {
        // Fails only if the helper is gone.
        let _ = self.input.write_all(b"\n");
    }

    /// Waits until the helper has ended, after its release.
    pub(super) async fn wait_for_end(mut self) {
        self.release();
        let _ = timeout(END_TIMEOUT, self.helper.wait()).await;
    }
}

impl Drop for OrphanGuard {
    fn drop(&mut self) {
        self.release();
    }
}
