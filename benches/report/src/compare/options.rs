//! The options of `cargo xtask bench`.

use super::plan::Time;

/// The options of `cargo xtask bench`.
#[derive(clap::Args, Debug, Default)]
pub(crate) struct Options {
    /// Rounds: 7, or 2 with --quick, unless given
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: Option<u32>,
    /// Only servers whose names begin so, with their floors
    #[arg(long, num_args = 1.., value_name = "NAME")]
    pub(super) only: Vec<String>,
    /// Take short measurements
    #[arg(long)]
    quick: bool,
    /// Put the tables into docs/performance.md
    #[arg(long, conflicts_with = "only")]
    pub(super) write: bool,
    /// Measure nothing, and only put the table of the budget into docs/performance.md
    #[arg(long)]
    pub(super) budget: bool,
}

impl Options {
    pub(super) fn rounds(&self) -> usize {
        self.rounds
            .map_or(if self.quick { 2 } else { 7 }, |rounds| rounds as usize)
    }

    /// Returns how long a slice takes.
    pub(super) fn time(&self) -> Time {
        if self.quick {
            Time {
                warm_ms: 50,
                measured_ms: 150,
            }
        } else {
            Time {
                warm_ms: 200,
                measured_ms: 700,
            }
        }
    }

    /// Returns how often a program is started in a round.
    pub(super) fn starts(&self) -> usize {
        if self.quick { 1 } else { 5 }
    }

    /// Returns how many sessions are opened.
    pub(super) fn sessions(&self) -> usize {
        if self.quick { 200 } else { 1000 }
    }
}
