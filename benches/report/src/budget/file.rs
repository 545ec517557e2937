//! The budget itself: `benches/budget/budget.toml`.
//!
//! A table per row. `--accept` replaces the counts; `at_most` and `over` are written by hand, and kept.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use serde::Deserialize;
use toml_edit::{DocumentMut, Item, Table, value};

use crate::process::root;
use crate::result::Result;

/// The rows by name.
pub(super) type Rows = BTreeMap<String, Row>;

/// The file with its contents.
pub(super) struct File {
    document: DocumentMut,
    /// The tools that it was counted with, by name.
    pub(super) counted_with: BTreeMap<String, String>,
    pub(super) rows: Rows,
}

#[derive(Deserialize)]
struct Contents {
    #[serde(rename = "counted-with")]
    counted_with: BTreeMap<String, String>,
    #[serde(flatten)]
    rows: Rows,
}

/// One row: its counts, and its goals.
#[derive(Debug, Clone, Default, Deserialize, PartialEq)]
pub(super) struct Row {
    #[serde(flatten)]
    pub(super) counts: BTreeMap<Measure, f64>,
    #[serde(default)]
    pub(super) at_most: BTreeMap<Measure, Goal>,
    /// The reason why a goal is missed.
    pub(super) over: Option<String>,
}

/// The limit of a count: an amount, or the sum of other rows' times or plus something.
#[derive(Debug, Clone, Deserialize, PartialEq)]
#[serde(untagged)]
pub(super) enum Goal {
    Amount(f64),
    Relative {
        of: Others,
        times: Option<f64>,
        plus: Option<f64>,
    },
}

/// The rows that a goal is relative to.
#[derive(Debug, Clone, Deserialize, PartialEq)]
#[serde(untagged)]
pub(super) enum Others {
    One(String),
    Sum(Vec<String>),
}

impl Others {
    pub(super) fn names(&self) -> &[String] {
        match self {
            Self::One(name) => std::slice::from_ref(name),
            Self::Sum(names) => names,
        }
    }
}

/// A quantity that is counted of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Measure {
    Instructions,
    Allocations,
    Bytes,
}

impl Measure {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Instructions => "instructions",
            Self::Allocations => "allocations",
            Self::Bytes => "bytes",
        }
    }

    /// Formats an amount with as many digits as mean something.
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
    pub(super) fn read() -> Result<Self> {
        Self::parse(&fs::read_to_string(path())?)
            .map_err(|error| format!("{}: {error}", path().display()).into())
    }

    fn parse(text: &str) -> Result<Self> {
        let Contents { counted_with, rows } = toml_edit::de::from_str(text)?;
        Ok(Self {
            document: text.parse()?,
            counted_with,
            rows,
        })
    }

    pub(super) fn write(&self) -> Result {
        Ok(fs::write(path(), self.document.to_string())?)
    }

    /// Replaces the counts of some rows. Returns the file with them.
    pub(super) fn accept(mut self, counted: &Rows) -> Result<Self> {
        for (name, row) in counted {
            let table = self
                .document
                .entry(name)
                .or_insert(Item::Table(Table::new()));
            for (measure, amount) in &row.counts {
                table[measure.name()] = match measure {
                    Measure::Allocations => value((amount * 10.0).round() / 10.0),
                    _ => value(amount.round() as i64),
                };
            }
        }
        Self::parse(&self.document.to_string())
    }

    /// Replaces the tools that it was counted with, and removes the rows that are not counted any more.
    pub(super) fn accept_all(
        mut self,
        with: &BTreeMap<String, String>,
        names: &[&str],
    ) -> Result<Self> {
        for (name, version) in with {
            self.document["counted-with"][name] = value(version);
        }
        for name in self.rows.keys() {
            if !names.contains(&name.as_str()) && !name.starts_with("size-") {
                self.document.remove(name);
            }
        }
        Self::parse(&self.document.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_replaced_and_goals_are_kept() {
        let text = "\
# Head
[counted-with]
valgrind = \"1\"

[slow]
instructions = 10

[fast]
instructions = 7
at_most = { bytes = { of = \"slow\", times = 1.5 } }
over = \"it is young\"
";
        let counted = Row {
            counts: [(Measure::Instructions, 1000.4), (Measure::Allocations, 2.0)].into(),
            ..Row::default()
        };
        let rows = Rows::from([
            ("fast".to_owned(), counted.clone()),
            ("new".to_owned(), counted),
        ]);
        let file = File::parse(text).unwrap().accept(&rows).unwrap();
        let text = file.document.to_string();
        assert!(text.starts_with("# Head\n"), "{text}");
        assert!(text.contains("instructions = 1000\n"), "{text}");
        assert!(text.contains("allocations = 2.0\n"), "{text}");
        assert!(file.rows["fast"].over.is_some(), "{text}");
        assert_eq!(file.rows["new"].counts[&Measure::Instructions], 1000.0);
        let with = BTreeMap::from([("valgrind".to_owned(), "2".to_owned())]);
        let file = file.accept_all(&with, &["fast", "slow"]).unwrap();
        assert_eq!(file.counted_with, with);
        assert!(!file.rows.contains_key("new"));
    }

    #[test]
    fn an_unknown_member_is_refused() {
        let head = "[counted-with]\n[fast]\n";
        assert!(File::parse(&format!("{head}instructoins = 5\n")).is_err());
        assert!(File::parse(&format!("{head}at_most = {{ seconds = 5 }}\n")).is_err());
    }

    #[test]
    fn goals_name_rows_that_exist() {
        let file = File::read().unwrap();
        for (name, row) in &file.rows {
            for goal in row.at_most.values() {
                if let Goal::Relative { of, .. } = goal {
                    for of in of.names() {
                        assert!(file.rows.contains_key(of), "{name}: {of}");
                    }
                }
            }
        }
    }
}
