//! The console: lines from standard input, output to standard output.

use std::io::{IsTerminal, Write};

use tokio::io::{AsyncBufReadExt, BufReader, Lines, Stdin};
use tokio::sync::Mutex;

/// Reads and writes lines. Messages and answers come from the same input, so one task reads at a
/// time.
pub(crate) struct Console {
    lines: Mutex<Lines<BufReader<Stdin>>>,
    /// `true` if the input is a terminal, so that prompts are shown.
    shows_prompts: bool,
}

impl Console {
    pub(crate) fn new() -> Self {
        Self {
            lines: Mutex::new(BufReader::new(tokio::io::stdin()).lines()),
            shows_prompts: std::io::stdin().is_terminal(),
        }
    }

    /// Reads the next line; `None` at the end.
    pub(crate) async fn read(&self, prompt: &str) -> Option<String> {
        let mut lines = self.lines.lock().await;
        if self.shows_prompts {
            write(prompt);
        }
        lines.next_line().await.ok().flatten()
    }

    /// Prints a text of a server or a model. Control characters other than newlines and tabs are
    /// removed, so that nobody else controls the terminal.
    pub(crate) fn print(&self, text: impl AsRef<str>) {
        let is_printable = |c: &char| !c.is_control() || matches!(c, '\n' | '\t');
        let text: String = text.as_ref().chars().filter(is_printable).collect();
        write(&format!("{text}\n"));
    }
}

fn write(text: &str) {
    let mut out = std::io::stdout().lock();
    // An error means that the output was closed; the program goes on.
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}
