//! Line-based dialogs with the user on standard input and standard error.

use std::io::{self, BufRead as _, IsTerminal as _};
use std::sync::Arc;

use turnbuckle::client::QuestionContext;

use crate::output::{Console, Style, sanitize_line};

/// The longest line that is read, in bytes.
const MAX_LINE_BYTES: u64 = 64 << 10;

/// Returns whether both standard input and standard error are terminals.
pub(crate) fn is_interactive() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// The user's terminal. One dialog runs at a time; the others wait.
pub(super) struct Terminal {
    pub(super) console: Console,
    dialog_lock: tokio::sync::Mutex<()>,
}

impl Terminal {
    pub(super) fn new(console: Console) -> Self {
        Self {
            console,
            dialog_lock: tokio::sync::Mutex::new(()),
        }
    }

    /// Runs a dialog on a blocking thread, after the dialogs before it.
    pub(super) async fn run_dialog<T: Send + 'static>(
        self: Arc<Self>,
        talk: impl FnOnce(&Self) -> Option<T> + Send + 'static,
    ) -> Option<T> {
        let _turn = self.dialog_lock.lock().await;
        let me = self.clone();
        let talked = tokio::task::spawn_blocking(move || talk(&me)).await;
        talked.ok().flatten()
    }

    /// Prints which server asks.
    pub(super) fn print_asker(&self, question: &QuestionContext) {
        let name = question.server_name().map(|name| sanitize_line(name, 80));
        let who = name.unwrap_or_else(|| "The server".to_owned());
        let address = format!("({})", sanitize_line(question.address(), 200));
        self.console.print_message(&format!(
            "\n{} {} asks:",
            self.console.style_stderr(Style::Strong, &who),
            self.console.style_stderr(Style::Dim, &address)
        ));
    }

    /// Reads a line from the user. Returns `None` at the end of the input.
    pub(super) fn read_line(&self, prompt: &str) -> Option<String> {
        read_line(&self.console, prompt)
    }

    /// Asks a yes-or-no question, as [`confirm`] does.
    pub(super) fn confirm(&self, prompt: &str, default: bool) -> Option<bool> {
        confirm(&self.console, prompt, default)
    }
}

/// Asks a yes-or-no question. An empty line means `default`; the end of the input returns `None`.
pub(crate) fn confirm(console: &Console, prompt: &str, default: bool) -> Option<bool> {
    let choices = if default { "[Y/n]" } else { "[y/N]" };
    loop {
        let typed = read_line(console, &format!("{prompt} {choices} "))?;
        match typed.trim().to_lowercase().as_str() {
            "" => return Some(default),
            "y" | "yes" => return Some(true),
            "n" | "no" => return Some(false),
            _ => console.print_message("  y or n, please"),
        }
    }
}

/// Reads a line from standard input. Returns `None` at its end.
pub(crate) fn read_line(console: &Console, prompt: &str) -> Option<String> {
    console.print_prompt(prompt);
    let mut typed = Vec::new();
    let mut input = io::Read::take(io::stdin().lock(), MAX_LINE_BYTES);
    match input.read_until(b'\n', &mut typed) {
        Ok(0) | Err(_) => {
            console.print_message("");
            None
        }
        Ok(_) => {
            let typed = String::from_utf8_lossy(&typed);
            Some(typed.trim_end_matches(['\n', '\r']).to_owned())
        }
    }
}
