//! The line editor of the shell at a terminal: history, and completion with Tab.

use std::collections::VecDeque;
use std::io::{self, IsTerminal as _};
use std::sync::{Arc, Mutex, PoisonError};

use rustyline::completion::{Completer, Pair};
use rustyline::config::Configurer as _;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::MemHistory;
use rustyline::validate::Validator;
use rustyline::{CompletionType, Config, Context, Editor, Helper};
use tokio::runtime::Handle;
use tokio::time::timeout;

use super::PROMPT;
use super::line_completer::LineCompleter;
use crate::commands::offers::TIME_LIMIT;
use crate::input::{LineSource, is_reading, read_line_of};
use crate::observe::has_secret;

/// The most lines of the history, which is in memory only.
const MAX_HISTORY: usize = 200;

/// An editor of lines at the terminal.
pub(super) struct LineEditor {
    source: LineSource,
    _mode: TerminalMode,
}

impl LineEditor {
    /// Creates an editor. Returns `None` if the terminal cannot show one.
    pub(super) fn new(completer: LineCompleter) -> Option<Self> {
        let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        if is_dumb || !io::stdout().is_terminal() {
            return None;
        }
        let mode = TerminalMode::save()?;
        let helper = Arc::new(TabCompleter {
            completer,
            runtime: Handle::current(),
        });
        let history = Mutex::new(VecDeque::new());
        Some(Self {
            source: Arc::new(move || {
                let mut history = history.lock().unwrap_or_else(PoisonError::into_inner);
                edit_line(&helper, &mut history)
            }),
            _mode: mode,
        })
    }

    /// Returns the next line, or `None` at the end of the input.
    pub(super) async fn read_line(&self) -> Option<String> {
        read_line_of(self.source.clone()).await
    }

    /// Returns whether the editor can read the next line: a question that was given up may have left a
    /// read of the input behind.
    pub(super) fn is_ready(&self) -> bool {
        !is_reading()
    }
}

/// Reads a line. An interrupt drops the line that was begun.
///
/// Each line has an editor of its own: while there is one it handles Ctrl-C, which is to cancel the
/// request of a verb afterwards.
fn edit_line(helper: &Arc<TabCompleter>, history: &mut VecDeque<String>) -> Option<String> {
    let config = Config::builder()
        .completion_type(CompletionType::List)
        .build();
    let mut editor = Editor::with_history(config, MemHistory::new()).ok()?;
    editor.set_max_history_size(MAX_HISTORY).ok()?;
    editor.set_helper(Some(SharedHelper(helper.clone())));
    for line in &*history {
        editor.add_history_entry(line).ok()?;
    }
    loop {
        match editor.readline(PROMPT) {
            Ok(line) => {
                if !line.starts_with(char::is_whitespace) && !has_secret(&line) {
                    history.push_back(line.clone());
                }
                if history.len() > MAX_HISTORY {
                    history.pop_front();
                }
                return Some(line);
            }
            Err(ReadlineError::Interrupted | ReadlineError::Signal(_)) => {}
            Err(_) => return None,
        }
    }
}

/// Completes with Tab.
struct TabCompleter {
    completer: LineCompleter,
    runtime: Handle,
}

/// The helper of each editor.
struct SharedHelper(Arc<TabCompleter>);

impl Completer for SharedHelper {
    type Candidate = Pair;

    fn complete(
        &self,
        line: &str,
        cursor: usize,
        _: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<Pair>)> {
        let completing = self.0.completer.complete(&line[..cursor]);
        let runtime = &self.0.runtime;
        let found = runtime.block_on(async { timeout(TIME_LIMIT, completing).await });
        let Ok((start, candidates)) = found else {
            return Ok((cursor, Vec::new()));
        };
        let is_one = candidates.len() == 1;
        let pair = |word: String| Pair {
            // The next word begins, unless the value of an argument does.
            replacement: match is_one && !word.ends_with('=') {
                true => format!("{word} "),
                false => word.clone(),
            },
            display: word,
        };
        Ok((start, candidates.into_iter().map(pair).collect()))
    }
}

impl Hinter for SharedHelper {
    type Hint = String;
}

impl Highlighter for SharedHelper {}

impl Validator for SharedHelper {}

impl Helper for SharedHelper {}

/// The mode of the terminal before the shell, which is set again after it: a read that a signal has ended
/// leaves the terminal without echo.
#[cfg(unix)]
struct TerminalMode(rustix::termios::Termios);

#[cfg(unix)]
impl TerminalMode {
    fn save() -> Option<Self> {
        rustix::termios::tcgetattr(io::stdin()).ok().map(Self)
    }
}

#[cfg(unix)]
impl Drop for TerminalMode {
    fn drop(&mut self) {
        use std::io::Write as _;

        if is_reading() {
            let now = rustix::termios::OptionalActions::Now;
            let _ = rustix::termios::tcsetattr(io::stdin(), now, &self.0);
            // The end of bracketed paste, which the editor turns on.
            let _ = io::stdout().write_all(b"\x1b[?2004l\n");
        }
    }
}

#[cfg(not(unix))]
struct TerminalMode;

#[cfg(not(unix))]
impl TerminalMode {
    fn save() -> Option<Self> {
        Some(Self)
    }
}
