//! Questions and answers, one line at a time.

use std::io::{self, BufRead as _, IsTerminal as _};
use std::sync::Arc;

use turnbuckle::client::Question;

use crate::output::{Ink, Screen, line};

/// The longest answer, in bytes.
const LONGEST: u64 = 64 << 10;

/// Whether a person is there to be asked.
pub(super) fn is_there() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// The terminal, for one question after the other.
pub(super) struct Terminal {
    pub(super) screen: Screen,
    turn: tokio::sync::Mutex<()>,
}

impl Terminal {
    pub(super) fn new(screen: Screen) -> Self {
        Self {
            screen,
            turn: tokio::sync::Mutex::new(()),
        }
    }

    /// Has a conversation with the user on a thread of its own, when it is this question's turn.
    pub(super) async fn converse<T: Send + 'static>(
        self: Arc<Self>,
        talk: impl FnOnce(&Self) -> Option<T> + Send + 'static,
    ) -> Option<T> {
        let _turn = self.turn.lock().await;
        let me = self.clone();
        let talked = tokio::task::spawn_blocking(move || talk(&me)).await;
        talked.ok().flatten()
    }

    /// Says who asks.
    pub(super) fn introduce(&self, question: &Question) {
        let name = question.server_name().map(|name| line(name, 80));
        let who = name.unwrap_or_else(|| "The server".to_owned());
        let address = format!("({})", line(question.address(), 200));
        self.screen.say(&format!(
            "\n{} {} asks:",
            self.screen.err_ink(Ink::Strong, &who),
            self.screen.err_ink(Ink::Dim, &address)
        ));
    }

    /// The next line that the user types; none once there are no more.
    pub(super) fn read(&self, prompt: &str) -> Option<String> {
        self.screen.ask(prompt);
        let mut typed = Vec::new();
        let mut input = io::Read::take(io::stdin().lock(), LONGEST);
        match input.read_until(b'\n', &mut typed) {
            Ok(0) | Err(_) => {
                self.screen.say("");
                None
            }
            Ok(_) => {
                let typed = String::from_utf8_lossy(&typed);
                Some(typed.trim_end_matches(['\n', '\r']).to_owned())
            }
        }
    }

    /// Asks for a yes or a no; an empty line is `usual`. None if there is no answer.
    pub(super) fn agrees(&self, prompt: &str, usual: bool) -> Option<bool> {
        let choices = if usual { "[Y/n]" } else { "[y/N]" };
        loop {
            let typed = self.read(&format!("{prompt} {choices} "))?;
            match typed.trim().to_lowercase().as_str() {
                "" => return Some(usual),
                "y" | "yes" => return Some(true),
                "n" | "no" => return Some(false),
                _ => self.screen.say("  y or n, please"),
            }
        }
    }
}
