//! The script that deploys.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use tokio::io::AsyncReadExt;
use tokio::process::Command;
use turnbuckle::prelude::*;

/// The last bytes of the script's output that are reported.
const TOLD: usize = 4096;

/// A program that is run for each deployment.
#[derive(Debug)]
pub(crate) struct Script(PathBuf);

impl Script {
    pub(crate) fn find(path: &Path) -> Result<Self> {
        let found = path.canonicalize();
        Ok(Self(
            found.map_err(|error| format!("{}: {error}", path.display()))?,
        ))
    }

    /// Runs it to its end, and gives the end of what it printed. It ends with the call: a client that
    /// cancels stops it. What it says on standard error goes to ours.
    pub(crate) async fn run(&self, verb: &str, words: [&str; 3]) -> Result<String> {
        let mut child = Command::new(&self.0)
            .arg(verb)
            .args(words)
            // Standard input is where our client speaks.
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let mut told = Vec::new();
        if let Some(mut output) = child.stdout.take() {
            let mut piece = [0; TOLD];
            loop {
                let read = output.read(&mut piece).await?;
                if read == 0 {
                    break;
                }
                told.extend_from_slice(&piece[..read]);
                told.drain(..told.len().saturating_sub(TOLD));
            }
        }
        let told = String::from_utf8_lossy(&told).into_owned();
        let status = child.wait().await?;
        match status.success() {
            true => Ok(told),
            false => Err(format!("the script failed ({status}):\n{told}").into()),
        }
    }
}
