//! A program that is run to its end for what it prints.

use std::io;
use std::process::{ExitStatus, Stdio};

use tokio::io::{AsyncRead, AsyncReadExt as _};

use super::command::Command;
use super::stderr::StderrReader;
use super::supervisor::captured_stderr;

impl Command {
    /// Runs the program to its end, without input, and returns its status and what it has written to its standard
    /// output: for programs beside servers, such as one that prints headers. Its process group is killed when it ends, and
    /// when the future is dropped.
    ///
    /// # Errors
    /// Returns an error if the program cannot be started, or writes more than `max_bytes`.
    pub async fn output(&self, max_bytes: usize) -> io::Result<(ExitStatus, Vec<u8>)> {
        let mut process = self.spawn(Stdio::null())?;
        let stdout = process.child.stdout.take();
        let stderr = process.child.stderr.take();
        let stderr = stderr.map(|pipe| StderrReader::start(pipe, &self.stderr));
        let end = async {
            process.wait_for_end().await;
            // What is left of the group may hold the output open.
            let status = process.reap();
            status.ok_or_else(|| io::Error::other("its status is not known"))
        };
        let (output, status) = tokio::try_join!(read(stdout, max_bytes), end)?;
        captured_stderr(stderr).await;
        Ok((status, output))
    }
}

/// Reads a pipe to its end.
async fn read(pipe: Option<impl AsyncRead + Unpin>, max_bytes: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if let Some(pipe) = pipe {
        let mut pipe = pipe.take((max_bytes as u64).saturating_add(1));
        pipe.read_to_end(&mut bytes).await?;
    }
    match bytes.len() > max_bytes {
        true => Err(io::Error::other(format!(
            "it prints more than {max_bytes} bytes"
        ))),
        false => Ok(bytes),
    }
}
