//! Standard output and standard error of the tool.

use std::fmt::Write as _;
use std::io::{self, IsTerminal as _, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::style::Style;
use crate::args::{Format, OutputArgs};
use crate::error::CliError;
use crate::json::{one_line, pretty};
use turnbuckle_types::base::terminal::{sanitize, sanitize_line};

/// Prints results to standard output and messages to standard error.
#[derive(Debug, Clone)]
pub(crate) struct Console {
    pub(crate) args: Arc<OutputArgs>,
    /// True if standard output is a terminal.
    pub(crate) stdout_is_terminal: bool,
    /// True if standard error is a terminal that progress can be drawn on.
    pub(crate) stderr_is_terminal: bool,
    stdout_colors: bool,
    stderr_colors: bool,
    /// The number of columns of the terminal.
    pub(crate) width: usize,
    /// The progress bar on the last line of standard error, if one is shown.
    progress_bar: Arc<Mutex<Option<String>>>,
    /// The rest of `--max-log-bytes`.
    log_budget: Arc<Mutex<LogBudget>>,
    /// True if a part of the result could not be shown or saved.
    is_incomplete: Arc<AtomicBool>,
    /// True if no message is printed.
    is_silent: bool,
}

impl Console {
    pub(crate) fn new(args: &OutputArgs) -> Self {
        let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let colours = !args.no_color
            && !set("NO_COLOR")
            && std::env::var_os("TERM").is_none_or(|term| term != "dumb");
        let stdout_is_terminal = io::stdout().is_terminal();
        let err_terminal = io::stderr().is_terminal();
        Self {
            args: Arc::new(args.clone()),
            stdout_is_terminal,
            // CI logs may claim to be terminals but cannot redraw a line.
            stderr_is_terminal: err_terminal && !set("CI"),
            stdout_colors: colours && stdout_is_terminal,
            stderr_colors: colours && err_terminal,
            width: terminal_width(),
            progress_bar: Arc::default(),
            log_budget: Arc::new(Mutex::new(LogBudget {
                bytes: args.max_log_bytes,
                omitted: 0,
            })),
            is_incomplete: Arc::default(),
            is_silent: false,
        }
    }

    /// Returns a console that prints no message, whatever its kind.
    pub(crate) fn silent(args: &OutputArgs) -> Self {
        Self {
            is_silent: true,
            ..Self::new(args)
        }
    }

    /// Returns the same console with other options, for a line of the shell.
    pub(crate) fn with_args(&self, args: &OutputArgs) -> Self {
        Self {
            progress_bar: self.progress_bar.clone(),
            log_budget: self.log_budget.clone(),
            ..Self::new(args)
        }
    }

    /// Returns whether results are printed for people.
    pub(crate) fn is_text(&self) -> bool {
        self.args.output == Format::Text
    }

    /// Records that a part of the result could not be shown or saved.
    pub(crate) fn set_incomplete(&self) {
        self.is_incomplete.store(true, Ordering::Relaxed);
    }

    /// Returns whether a part of the result could not be shown or saved.
    pub(crate) fn is_incomplete(&self) -> bool {
        self.is_incomplete.load(Ordering::Relaxed)
    }

    /// Prints a result. Text of servers must be sanitized by the caller.
    pub(crate) fn print(&self, text: &str) -> Result<(), CliError> {
        self.clear_progress();
        let mut out = io::stdout().lock();
        let end = if text.ends_with('\n') || text.is_empty() {
            ""
        } else {
            "\n"
        };
        let written = write!(out, "{text}{end}").and_then(|()| out.flush());
        written.map_err(stdout_error)
    }

    /// Prints a JSON value: formatted on a terminal, on one line elsewhere.
    pub(crate) fn print_json(&self, json: &str) -> Result<(), CliError> {
        if self.stdout_is_terminal && self.args.output != Format::Ndjson {
            self.print(&pretty(json))
        } else {
            self.print(&one_line(json))
        }
    }

    /// Styles part of a result.
    pub(crate) fn style(&self, style: Style, text: &str) -> String {
        style.apply(self.stdout_colors, text)
    }

    /// Styles text for standard error.
    pub(crate) fn style_stderr(&self, style: Style, text: &str) -> String {
        style.apply(self.stderr_colors, text)
    }

    /// Prints a message to standard error unless `--quiet` is set.
    pub(crate) fn print_note(&self, text: &str) {
        if !self.args.quiet {
            self.print_message(text);
        }
    }

    /// Prints a message to standard error, even with `--quiet`.
    pub(crate) fn print_message(&self, text: &str) {
        if self.is_silent {
            return;
        }
        let bar = self
            .progress_bar
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let mut words = String::new();
        if bar.is_some() {
            words.push_str("\r\u{1b}[2K");
        }
        words.push_str(text);
        words.push('\n');
        if let Some(bar) = &*bar {
            words.push_str(bar);
        }
        let _ = io::stderr().write_all(words.as_bytes());
    }

    /// Prints a prompt to standard error without a line break.
    pub(crate) fn print_prompt(&self, text: &str) {
        self.clear_progress();
        let mut err = io::stderr();
        let _ = err.write_all(text.as_bytes());
        let _ = err.flush();
    }

    /// Draws a progress bar if standard error is a terminal.
    pub(crate) fn draw_progress(&self, done: f64, total: Option<f64>, message: Option<&str>) {
        if !self.stderr_is_terminal || self.args.quiet {
            return;
        }
        const CELLS: usize = 24;
        let mut drawn = String::new();
        match total.filter(|total| *total > 0.0) {
            Some(total) => {
                let share = (done / total).clamp(0.0, 1.0);
                let full = (0..CELLS)
                    .filter(|cell| (*cell as f64) < share * CELLS as f64)
                    .count();
                let _ = write!(
                    drawn,
                    "{}{} {:>3.0}%",
                    self.style_stderr(Style::Good, &"━".repeat(full)),
                    self.style_stderr(Style::Dim, &"━".repeat(CELLS - full)),
                    share * 100.0
                );
            }
            None => {
                let _ = write!(
                    drawn,
                    "{}",
                    self.style_stderr(Style::Good, &sanitize_line(&done.to_string(), 12))
                );
            }
        }
        if let Some(message) = message {
            let room = self.width.saturating_sub(CELLS + 8).max(10);
            let _ = write!(drawn, "  {}", sanitize_line(message, room));
        }
        self.draw_line(drawn);
    }

    /// Draws the state of a task in the place of the progress bar, if standard error is a terminal.
    pub(crate) fn draw_status(&self, status: &str, message: Option<&str>) {
        if !self.stderr_is_terminal || self.args.quiet {
            return;
        }
        let room = self.width.saturating_sub(status.len() + 4).max(10);
        let message = message.map(|message| sanitize_line(message, room));
        let status = self.style_stderr(Style::Good, status);
        self.draw_line(format!("{status}  {}", message.unwrap_or_default()));
    }

    fn draw_line(&self, drawn: String) {
        let mut bar = self
            .progress_bar
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let _ = io::stderr().write_all(format!("\r\u{1b}[2K{drawn}").as_bytes());
        *bar = Some(drawn);
    }

    /// Removes the progress bar.
    pub(crate) fn clear_progress(&self) {
        let mut bar = self
            .progress_bar
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if bar.take().is_some() {
            let _ = io::stderr().write_all(b"\r\x1b[2K");
        }
    }

    /// Prints text of the server, such as a log message, after a label. What exceeds
    /// `--max-log-bytes` is left out and counted.
    pub(crate) fn print_server_line(&self, label: &str, text: &str) {
        let label = self.style_stderr(Style::Dim, label);
        self.print_within_budget(&format!("{label} "), text);
    }

    /// Prints a warning about the server, unless `--quiet` is set, within `--max-log-bytes`. Text of
    /// the server must be sanitized by the caller.
    pub(crate) fn print_warning(&self, text: &str) {
        if !self.args.quiet {
            self.print_within_budget("warning: ", text);
        }
    }

    fn print_within_budget(&self, label: &str, text: &str) {
        let mut budget = self.log_budget();
        let Some(text) = budget.take(text, label.len() + 1) else {
            return;
        };
        self.print_message(&format!("{label}{}", sanitize(text)));
        if budget.omitted > 0 {
            self.print_message("… further messages are left out (--max-log-bytes)");
        }
    }

    /// Prints how many messages of the server were left out, if any were.
    pub(crate) fn report_omitted(&self) {
        let omitted = std::mem::take(&mut self.log_budget().omitted);
        if omitted > 0 {
            let count = format!("… {omitted} messages were left out (--max-log-bytes)");
            self.print_message(&count);
        }
    }

    fn log_budget(&self) -> MutexGuard<'_, LogBudget> {
        self.log_budget
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// The bytes of the server's messages that may still be printed.
#[derive(Debug)]
struct LogBudget {
    bytes: usize,
    /// The number of messages that were cut or left out.
    omitted: u64,
}

impl LogBudget {
    /// Returns the part of a message that may be printed, with `overhead` bytes beside it; `None` once
    /// a message was cut.
    fn take<'a>(&mut self, text: &'a str, overhead: usize) -> Option<&'a str> {
        if self.omitted > 0 {
            self.omitted += 1;
            return None;
        }
        let room = self.bytes.saturating_sub(overhead);
        self.bytes = room.saturating_sub(text.len());
        if text.len() <= room {
            return Some(text);
        }
        self.omitted = 1;
        let end = (0..=room).rev().find(|end| text.is_char_boundary(*end));
        text.get(..end.unwrap_or(0))
    }
}

/// Returns the number of columns of the terminal.
#[cfg(unix)]
fn terminal_width() -> usize {
    let size = rustix::termios::tcgetwinsize(io::stderr());
    size.ok()
        .map(|size| usize::from(size.ws_col))
        .filter(|columns| *columns >= 20)
        .unwrap_or(80)
}

/// Returns the number of columns that `COLUMNS` names, or 80.
#[cfg(not(unix))]
fn terminal_width() -> usize {
    let columns = std::env::var("COLUMNS").ok();
    columns
        .and_then(|columns| columns.parse().ok())
        .unwrap_or(80)
}

/// Writes a result that needs no server to standard output.
pub(crate) fn write_stdout(result: &[u8]) -> Result<(), CliError> {
    let mut out = io::stdout().lock();
    let written = out.write_all(result).and_then(|()| out.flush());
    written.map_err(stdout_error)
}

fn stdout_error(error: io::Error) -> CliError {
    match error.kind() {
        io::ErrorKind::BrokenPipe => CliError::closed_output(),
        _ => CliError::new(format!("cannot write the result: {error}")),
    }
}
