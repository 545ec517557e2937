//! Where words go, and what they may look like there.

use std::fmt::Write as _;
use std::io::{self, IsTerminal as _, Write as _};
use std::sync::{Arc, Mutex, PoisonError};

use super::json::pretty;
use super::paint::Ink;
use super::terminal::{clean, line};
use crate::args::{Format, Look};
use crate::failure::Failure;

/// Standard output and standard error as they are right now.
#[derive(Debug, Clone)]
pub(crate) struct Screen {
    pub(crate) look: Arc<Look>,
    /// Whether results go to a terminal.
    pub(crate) out_terminal: bool,
    /// Whether words go to a terminal.
    pub(crate) err_terminal: bool,
    colours: bool,
    err_colours: bool,
    /// Columns of the terminal.
    pub(crate) width: usize,
    /// The progress bar that stands on the last line of standard error.
    bar: Arc<Mutex<Option<String>>>,
}

impl std::fmt::Debug for Look {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Look")
            .field("output", &self.output)
            .finish_non_exhaustive()
    }
}

impl Screen {
    pub(crate) fn new(look: &Look) -> Self {
        let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let colours = !look.no_color
            && !set("NO_COLOR")
            && std::env::var_os("TERM").is_none_or(|term| term != "dumb");
        let out_terminal = io::stdout().is_terminal();
        let err_terminal = io::stderr().is_terminal();
        Self {
            look: Arc::new(look.clone()),
            out_terminal,
            // A log of continuous integration that says it is a terminal is none to draw on.
            err_terminal: err_terminal && !set("CI"),
            colours: colours && out_terminal,
            err_colours: colours && err_terminal,
            width: width(),
            bar: Arc::default(),
        }
    }

    /// Whether results are for people.
    pub(crate) fn is_text(&self) -> bool {
        self.look.output == Format::Text
    }

    /// Prints a result. What comes from a server was cleaned before.
    pub(crate) fn print(&self, text: &str) -> Result<(), Failure> {
        self.unbar();
        let mut out = io::stdout().lock();
        let end = if text.ends_with('\n') || text.is_empty() {
            ""
        } else {
            "\n"
        };
        let written = write!(out, "{text}{end}").and_then(|()| out.flush());
        written.map_err(|error| match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::nobody_reads(),
            _ => Failure::new(format!("cannot write the result: {error}")),
        })
    }

    /// Prints a value of the protocol: laid out on a terminal, on one line elsewhere.
    pub(crate) fn print_json(&self, json: &str) -> Result<(), Failure> {
        match self.out_terminal && self.look.output != Format::Ndjson {
            true => self.print(&pretty(json)),
            false if self.out_terminal => self.print(&line_safe(json)),
            false => self.print(&flat(json)),
        }
    }

    /// A word of a result in its colour.
    pub(crate) fn ink(&self, ink: Ink, text: &str) -> String {
        ink.on(self.colours, text)
    }

    /// A word on standard error in its colour.
    pub(crate) fn err_ink(&self, ink: Ink, text: &str) -> String {
        ink.on(self.err_colours, text)
    }

    /// Says something beside the result, unless silence is wanted.
    pub(crate) fn note(&self, text: &str) {
        if !self.look.quiet {
            self.say(text);
        }
    }

    /// Says something that has to be said.
    pub(crate) fn say(&self, text: &str) {
        let bar = self.bar.lock().unwrap_or_else(PoisonError::into_inner);
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

    /// Says something with the cursor left behind it, for an answer.
    pub(crate) fn ask(&self, text: &str) {
        self.unbar();
        let mut err = io::stderr();
        let _ = err.write_all(text.as_bytes());
        let _ = err.flush();
    }

    /// Draws how far a request has come, where that is a terminal.
    pub(crate) fn progress(&self, done: f64, total: Option<f64>, message: Option<&str>) {
        if !self.err_terminal || self.look.quiet {
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
                    self.err_ink(Ink::Good, &"━".repeat(full)),
                    self.err_ink(Ink::Dim, &"━".repeat(CELLS - full)),
                    share * 100.0
                );
            }
            None => {
                let _ = write!(
                    drawn,
                    "{}",
                    self.err_ink(Ink::Good, &line(&done.to_string(), 12))
                );
            }
        }
        if let Some(message) = message {
            let room = self.width.saturating_sub(CELLS + 8).max(10);
            let _ = write!(drawn, "  {}", line(message, room));
        }
        let mut bar = self.bar.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = io::stderr().write_all(format!("\r\u{1b}[2K{drawn}").as_bytes());
        *bar = Some(drawn);
    }

    /// Takes the bar away.
    pub(crate) fn unbar(&self) {
        let mut bar = self.bar.lock().unwrap_or_else(PoisonError::into_inner);
        if bar.take().is_some() {
            let _ = io::stderr().write_all(b"\r\x1b[2K");
        }
    }

    /// What a server wrote on its standard error, or logged.
    pub(crate) fn server_says(&self, who: &str, text: &str) {
        self.say(&format!("{} {}", self.err_ink(Ink::Dim, who), clean(text)));
    }
}

/// JSON on one line, as compact as it came.
fn flat(json: &str) -> String {
    match json.contains('\n') || json.contains('\r') {
        // New lines in JSON stand between values only.
        true => json.replace(['\n', '\r'], ""),
        false => json.to_owned(),
    }
}

/// JSON on one line, harmless for a terminal.
fn line_safe(json: &str) -> String {
    pretty(json)
        .lines()
        .map(str::trim_start)
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(unix)]
fn width() -> usize {
    let size = rustix::termios::tcgetwinsize(io::stderr());
    size.ok()
        .map(|size| usize::from(size.ws_col))
        .filter(|columns| *columns >= 20)
        .unwrap_or(80)
}

#[cfg(not(unix))]
fn width() -> usize {
    let columns = std::env::var("COLUMNS").ok();
    columns
        .and_then(|columns| columns.parse().ok())
        .unwrap_or(80)
}
