//! The budget itself: `benches/budget/budget.toml`.
//!
//! A table per row. What was counted when it was accepted is rewritten by `--accept`; `at_most` and
//! `over` are written by hand, and kept.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;
use std::{fs, io};

use serde::Deserialize;

use super::rooms::CostByModule;
use crate::process::root;

const HEAD: &str = "\
# What things cost: one request, one start, one session, one program. `cargo xtask budget` counts
# again and fails where it became more; `cargo xtask budget --accept` writes what it counts.
#
# `at_most` is a goal: a number, or `times` and `plus` what another row has. A row that misses one
# says why in `over`. Rooms with less than a hundredth of a row are left out.
";

/// All of it.
#[derive(Debug, Default, Deserialize, PartialEq)]
pub(crate) struct File {
    /// The tools that it was counted with, by name.
    #[serde(default, rename = "counted-with")]
    pub(super) counted_with: BTreeMap<String, String>,
    #[serde(flatten)]
    pub(crate) rows: BTreeMap<String, Row>,
}

/// One row: what was counted, and what may be.
#[derive(Debug, Clone, Default, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub(crate) struct Row {
    pub(super) instructions: Option<f64>,
    pub(super) allocations: Option<f64>,
    pub(crate) bytes: Option<f64>,
    #[serde(default)]
    pub(super) at_most: Goals,
    pub(super) over: Option<String>,
    #[serde(default)]
    pub(super) rooms: CostByModule,
}

#[derive(Debug, Clone, Default, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub(super) struct Goals {
    pub(super) instructions: Option<Goal>,
    pub(super) allocations: Option<Goal>,
    pub(super) bytes: Option<Goal>,
}

#[derive(Debug, Clone, Deserialize, PartialEq)]
#[serde(untagged)]
pub(super) enum Goal {
    Amount(f64),
    Relative {
        of: String,
        times: Option<f64>,
        plus: Option<f64>,
    },
}

/// A quantity that is counted of a row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Measure {
    Instructions,
    Allocations,
    Bytes,
}

impl Measure {
    pub(super) const ALL: [Self; 3] = [Self::Instructions, Self::Allocations, Self::Bytes];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Instructions => "instructions",
            Self::Allocations => "allocations",
            Self::Bytes => "bytes",
        }
    }

    pub(super) fn amount(self, row: &Row) -> Option<f64> {
        match self {
            Self::Instructions => row.instructions,
            Self::Allocations => row.allocations,
            Self::Bytes => row.bytes,
        }
    }

    pub(super) fn goal(self, row: &Row) -> Option<&Goal> {
        match self {
            Self::Instructions => row.at_most.instructions.as_ref(),
            Self::Allocations => row.at_most.allocations.as_ref(),
            Self::Bytes => row.at_most.bytes.as_ref(),
        }
    }

    /// As many digits as mean something.
    pub(super) fn format(self, amount: f64) -> String {
        match self {
            Self::Allocations => format!("{amount:.1}"),
            Self::Instructions | Self::Bytes => format!("{:.0}", amount + 0.0),
        }
    }
}

fn path() -> PathBuf {
    root().join("benches/budget/budget.toml")
}

impl File {
    /// Reads it; one that is not there yet is empty.
    pub(crate) fn read() -> Result<Self, String> {
        let path = path();
        match fs::read_to_string(&path) {
            Ok(text) => Self::parse(&text).map_err(|error| format!("{}: {error}", path.display())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(format!("{}: {error}", path.display())),
        }
    }

    fn parse(text: &str) -> Result<Self, String> {
        toml::from_str(text).map_err(|error| error.to_string())
    }

    /// Writes it, the rows of `order` in that order and the others behind them.
    pub(crate) fn write(&self, order: &[&str]) -> Result<(), String> {
        let path = path();
        fs::write(&path, self.text(order)).map_err(|error| format!("{}: {error}", path.display()))
    }

    /// Takes over what was counted of a row.
    pub(crate) fn accept(&mut self, name: &str, counted: &Row) {
        let row = self.rows.entry(name.to_owned()).or_default();
        row.instructions = counted.instructions;
        row.allocations = counted.allocations;
        row.bytes = counted.bytes;
        let least = counted.instructions.unwrap_or(0.0) / 100.0;
        let rooms = counted.rooms.iter().filter(|(_, cost)| **cost >= least);
        row.rooms = rooms.map(|(room, cost)| (room.clone(), *cost)).collect();
    }

    fn text(&self, order: &[&str]) -> String {
        let mut text = format!("{HEAD}\n[counted-with]\n");
        for (name, value) in &self.counted_with {
            let _ = writeln!(text, "{name} = {value:?}");
        }
        let ordered = order
            .iter()
            .filter_map(|name| self.rows.get_key_value(*name));
        let others = self
            .rows
            .iter()
            .filter(|(name, _)| !order.contains(&name.as_str()));
        for (name, row) in ordered.chain(others) {
            let _ = write!(text, "\n[{name}]\n{}", row.text());
        }
        text
    }
}

impl Row {
    fn text(&self) -> String {
        let mut text = String::new();
        for measure in Measure::ALL {
            if let Some(amount) = measure.amount(self) {
                let _ = writeln!(text, "{} = {}", measure.name(), measure.format(amount));
            }
        }
        let goals: Vec<_> = Measure::ALL
            .into_iter()
            .filter_map(|measure| {
                let goal = measure.goal(self)?.text();
                Some(format!("{} = {goal}", measure.name()))
            })
            .collect();
        if !goals.is_empty() {
            let _ = writeln!(text, "at_most = {{ {} }}", goals.join(", "));
        }
        if let Some(over) = &self.over {
            let _ = writeln!(text, "over = {over:?}");
        }
        if !self.rooms.is_empty() {
            let mut rooms: Vec<_> = self.rooms.iter().collect();
            rooms.sort_by(|one, other| other.1.total_cmp(one.1));
            let rooms = rooms
                .into_iter()
                .map(|(room, cost)| format!("{room:?} = {cost:.0}"));
            let _ = writeln!(
                text,
                "rooms = {{ {} }}",
                rooms.collect::<Vec<_>>().join(", ")
            );
        }
        text
    }
}

impl Goal {
    fn text(&self) -> String {
        match self {
            Self::Amount(amount) => format!("{amount}"),
            Self::Relative { of, times, plus } => {
                let mut text = format!("{{ of = {of:?}");
                if let Some(times) = times {
                    let _ = write!(text, ", times = {times}");
                }
                if let Some(plus) = plus {
                    let _ = write!(text, ", plus = {plus}");
                }
                text + " }"
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let mut file = File::parse(
            r#"
            [counted-with]
            valgrind = "valgrind-1"
            [fast]
            at_most = { instructions = 10, bytes = { of = "slow", times = 1.5 } }
            over = "it is \"young\""
            [slow]
            at_most = { allocations = { of = "fast", plus = 2 } }
            "#,
        )
        .unwrap();
        let counted = Row {
            instructions: Some(1000.0),
            allocations: Some(2.5),
            bytes: Some(300.0),
            rooms: [("wire/rpc".to_owned(), 990.0), ("std".to_owned(), 9.0)].into(),
            ..Row::default()
        };
        file.accept("fast", &counted);
        file.accept("slow", &counted);
        let row = &file.rows["fast"];
        assert!(row.over.is_some(), "what was written by hand stays");
        assert_eq!(row.rooms.len(), 1, "and what does not matter is left out");
        let text = file.text(&["slow"]);
        assert_eq!(File::parse(&text).unwrap(), file);
        assert!(text.find("[slow]") < text.find("[fast]"));
    }

    #[test]
    fn a_word_that_means_nothing_is_refused() {
        assert!(File::parse("[fast]\ninstructoins = 5\n").is_err());
        assert!(File::parse("[fast]\nat_most = { seconds = 5 }\n").is_err());
    }

    #[test]
    fn the_budget_stands_and_its_goals_are_of_rows_that_do() {
        let file = File::read().unwrap();
        assert!(!file.rows.is_empty() && !file.counted_with.is_empty());
        for (name, row) in &file.rows {
            for goal in Measure::ALL.into_iter().filter_map(|it| it.goal(row)) {
                if let Goal::Relative { of, .. } = goal {
                    assert!(file.rows.contains_key(of), "{name}: {of}");
                }
            }
        }
    }
}
