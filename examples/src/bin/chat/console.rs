//! The console: input from a terminal or a file, output to standard output.

use std::io::{IsTerminal, Write};
use std::path::Path;

use tokio::fs::File;
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader, Lines};
use tokio::sync::Mutex;

type Source = Box<dyn AsyncRead + Send + Unpin>;

/// Reads and writes lines. Commands and answers come from the same input, so one task reads at a
/// time.
pub(crate) struct Console {
    lines: Mutex<Lines<BufReader<Source>>>,
    /// `true` if the input is a terminal, so that prompts are shown.
    shows_prompts: bool,
}

impl Console {
    /// Returns a console that reads from standard input.
    pub(crate) fn from_terminal() -> Self {
        Self::new(Box::new(tokio::io::stdin()), std::io::stdin().is_terminal())
    }

    /// Returns a console that reads from a file.
    pub(crate) async fn from_file(path: &Path) -> Result<Self, String> {
        let file = File::open(path).await;
        let file = file.map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(Self::new(Box::new(file), false))
    }

    fn new(source: Source, shows_prompts: bool) -> Self {
        Self {
            lines: Mutex::new(BufReader::new(source).lines()),
            shows_prompts,
        }
    }

    /// Reads the next line; `None` at the end.
    pub(crate) async fn read(&self, prompt: &str) -> Option<String> {
        let mut lines = self.lines.lock().await;
        if self.shows_prompts {
            self.write(prompt);
        }
        lines.next_line().await.ok().flatten()
    }

    /// Prints a text of a server. Control characters other than newlines and tabs are removed, so
    /// that a server cannot control the terminal.
    pub(crate) fn print(&self, text: impl AsRef<str>) {
        let is_printable = |c: &char| !c.is_control() || matches!(c, '\n' | '\t');
        let text: String = text.as_ref().chars().filter(is_printable).collect();
        self.write(&format!("{text}\n"));
    }

    fn write(&self, text: &str) {
        let mut out = std::io::stdout().lock();
        // An error means that the output was closed; the program goes on.
        let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    }
}
