//! The console: input and output at a terminal or from a file.

use std::io::{IsTerminal, Write};
use std::path::Path;

use tokio::fs::File;
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader, Lines};
use tokio::sync::Mutex;

type Source = Box<dyn AsyncRead + Send + Unpin>;

/// Lines in, lines out. Commands and answers come from the same place, one reader at a time.
pub(crate) struct Console {
    lines: Mutex<Lines<BufReader<Source>>>,
    /// Whether to show a prompt.
    prompts: bool,
}

impl Console {
    pub(crate) fn of_terminal() -> Self {
        Self::new(Box::new(tokio::io::stdin()), std::io::stdin().is_terminal())
    }

    pub(crate) async fn of_file(path: &Path) -> Result<Self, String> {
        let file = File::open(path).await;
        let file = file.map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(Self::new(Box::new(file), false))
    }

    fn new(source: Source, prompts: bool) -> Self {
        Self {
            lines: Mutex::new(BufReader::new(source).lines()),
            prompts,
        }
    }

    /// Reads the next line; `None` at the end.
    pub(crate) async fn read(&self, prompt: &str) -> Option<String> {
        let mut lines = self.lines.lock().await;
        if self.prompts {
            self.write(prompt);
        }
        lines.next_line().await.ok().flatten()
    }

    /// Shows something that a server may have written: nothing in it moves the cursor.
    pub(crate) fn say(&self, text: impl AsRef<str>) {
        let shown = |c: &char| !c.is_control() || matches!(c, '\n' | '\t');
        let text: String = text.as_ref().chars().filter(shown).collect();
        self.write(&format!("{text}\n"));
    }

    fn write(&self, text: &str) {
        let mut out = std::io::stdout().lock();
        // Who closed our output does not want it.
        let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    }
}
