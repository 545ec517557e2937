//! Line-based dialogs with the user on standard input and standard error.

use std::io::{self, IsTerminal as _};
use std::sync::Arc;

use tokio::runtime::Handle;
use tokio::sync::{Mutex, watch};
use turnbuckle::client::QuestionContext;

use crate::input::read_typed_line;
use crate::output::{Console, Style, sanitize_line};

/// Returns whether both standard input and standard error are terminals.
pub(crate) fn is_interactive() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// The user's terminal. One dialog runs at a time; the others wait.
pub(super) struct Terminal {
    pub(super) console: Console,
    dialog_lock: Mutex<()>,
}

/// A dialog that runs on a blocking thread.
pub(super) struct Dialog {
    terminal: Arc<Terminal>,
    /// Closed when nobody waits for the dialog any more.
    awaited: watch::Receiver<()>,
    runtime: Handle,
}

impl Terminal {
    pub(super) fn new(console: Console) -> Self {
        Self {
            console,
            dialog_lock: Mutex::new(()),
        }
    }

    /// Runs a dialog on a blocking thread, after the dialogs before it. If the future is dropped, the
    /// dialog reads no more lines.
    pub(super) async fn run_dialog<T: Send + 'static>(
        self: Arc<Self>,
        talk: impl FnOnce(&Dialog) -> Option<T> + Send + 'static,
    ) -> Option<T> {
        let _turn = self.dialog_lock.lock().await;
        let (_waits, awaited) = watch::channel(());
        let dialog = Dialog {
            terminal: self.clone(),
            awaited,
            runtime: Handle::current(),
        };
        let talked = tokio::task::spawn_blocking(move || talk(&dialog)).await;
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
}

impl std::ops::Deref for Dialog {
    type Target = Terminal;

    fn deref(&self) -> &Terminal {
        &self.terminal
    }
}

impl Dialog {
    /// Reads a line from the user. Returns `None` at the end of the input, and when the dialog is no
    /// longer waited for.
    pub(super) fn read_line(&self, prompt: &str) -> Option<String> {
        self.unless_dropped(read_line(&self.console, prompt))
    }

    /// Asks a yes-or-no question, as [`confirm`] does.
    pub(super) fn confirm(&self, prompt: &str, default: bool) -> Option<bool> {
        self.unless_dropped(confirm(&self.console, prompt, default))
    }

    fn unless_dropped<T>(&self, read: impl Future<Output = Option<T>>) -> Option<T> {
        let mut awaited = self.awaited.clone();
        self.runtime.block_on(async {
            tokio::select! {
                biased;
                _ = awaited.changed() => None,
                read = read => read,
            }
        })
    }
}

/// Asks a yes-or-no question. An empty line means `default`; the end of the input returns `None`.
pub(crate) async fn confirm(console: &Console, prompt: &str, default: bool) -> Option<bool> {
    let choices = if default { "[Y/n]" } else { "[y/N]" };
    loop {
        let typed = read_line(console, &format!("{prompt} {choices} ")).await?;
        match typed.trim().to_lowercase().as_str() {
            "" => return Some(default),
            "y" | "yes" => return Some(true),
            "n" | "no" => return Some(false),
            _ => console.print_message("  y or n, please"),
        }
    }
}

/// Reads a line from standard input. Returns `None` at its end.
pub(crate) async fn read_line(console: &Console, prompt: &str) -> Option<String> {
    console.print_prompt(prompt);
    let typed = read_typed_line().await;
    if typed.is_none() {
        console.print_message("");
    }
    typed
}
