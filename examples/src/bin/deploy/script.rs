//! The deployment script.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use tokio::io::AsyncReadExt;
use tokio::process::Command;
use turnbuckle::prelude::*;

/// The last bytes of the script's output that are reported.
const MAX_OUTPUT_BYTES: usize = 4096;

/// A program that is run for each deployment.
#[derive(Debug)]
pub(crate) struct Script(PathBuf);

impl Script {
    /// Finds the script at a path.
    pub(crate) fn find(path: &Path) -> Result<Self> {
        let found = path.canonicalize();
        Ok(Self(
            found.map_err(|error| format!("{}: {error}", path.display()))?,
        ))
    }

    /// Runs the script and returns the last [`MAX_OUTPUT_BYTES`] of its standard output. The script
    /// is killed if the client cancels the call. Its standard error is that of this process.
    ///
    /// # Errors
    /// If the script cannot be started or exits with a failure.
    pub(crate) async fn run(&self, action: &str, arguments: [&str; 3]) -> Result<String> {
        let mut child = Command::new(&self.0)
            .arg(action)
            .args(arguments)
            // The standard input of this process carries the messages of the client.
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let mut output = Vec::new();
        if let Some(mut stdout) = child.stdout.take() {
            let mut buffer = [0; MAX_OUTPUT_BYTES];
            loop {
                let read = stdout.read(&mut buffer).await?;
                if read == 0 {
                    break;
                }
                output.extend_from_slice(&buffer[..read]);
                output.drain(..output.len().saturating_sub(MAX_OUTPUT_BYTES));
            }
        }
        let output = String::from_utf8_lossy(&output).into_owned();
        let status = child.wait().await?;
        match status.success() {
            true => Ok(output),
            false => Err(format!("the script failed ({status}):\n{output}").into()),
        }
    }
}
