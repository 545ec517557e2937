//! The document's tables of instructions, from the file that `cargo xtask budget` holds us to.

use std::collections::BTreeMap;
use std::fs;

use serde::Deserialize;

use super::table::{Table, figure};
use crate::process::root;

const BUDGET: &str = "benches/budget/budget.toml";

/// Rooms that a row names, those with the most instructions first.
const NAMED: usize = 7;

/// The table of the file that is no row.
const COUNTED_WITH: &str = "counted-with";

/// The names of the quantities in the file.
const MEASURES: [&str; 3] = ["instructions", "allocations", "bytes"];

/// The part of a row of the file that a reader of the document wants to know.
#[derive(Deserialize)]
struct Row {
    instructions: Option<f64>,
    allocations: Option<f64>,
    bytes: Option<f64>,
    #[serde(default)]
    at_most: BTreeMap<String, Goal>,
    #[serde(default)]
    rooms: BTreeMap<String, f64>,
}

/// The limit of a figure: an amount, or another row's times or plus something.
#[derive(Deserialize)]
#[serde(untagged)]
enum Goal {
    Amount(f64),
    Relative {
        of: String,
        times: Option<f64>,
        plus: Option<f64>,
    },
}

/// Returns the budget in Markdown: what was counted beside what may be, then where it goes.
pub(super) fn tables() -> Result<String, String> {
    let text =
        fs::read_to_string(root().join(BUDGET)).map_err(|error| format!("{BUDGET}: {error}"))?;
    render(&text).map_err(|error| format!("{BUDGET}: {error}"))
}

fn render(text: &str) -> Result<String, toml::de::Error> {
    let mut file: BTreeMap<String, toml::Value> = toml::from_str(text)?;
    file.remove(COUNTED_WITH);
    let rows = file
        .into_iter()
        .map(|(name, row)| Ok((name, row.try_into()?)));
    let rows = rows.collect::<Result<BTreeMap<String, Row>, toml::de::Error>>()?;
    let mut totals = Table::new(&[
        "row",
        "instructions",
        "at most",
        "allocations",
        "at most",
        "bytes",
        "at most",
    ]);
    let mut rooms = Table::of_text(&["row", "where its instructions are"]);
    for name in names(text) {
        let Some(row) = rows.get(name) else {
            continue;
        };
        let mut cells = vec![name.to_owned()];
        for measure in MEASURES {
            let counted = row.amount(measure);
            let goal = row.at_most.get(measure);
            let allowed = goal.and_then(|goal| goal.amount(&rows, measure));
            let missed = counted.zip(allowed).is_some_and(|(one, other)| one > other);
            cells.push(if missed {
                format!("**{}**", figure(counted))
            } else {
                figure(counted)
            });
            cells.push(goal.map(Goal::to_text).unwrap_or_default());
        }
        totals.row(cells);
        if !row.rooms.is_empty() {
            rooms.row(vec![name.to_owned(), row.largest_rooms()]);
        }
    }
    Ok(format!("{}\n{}", totals.markdown(), rooms.markdown()))
}

/// Returns the rows in the order of the file.
fn names(text: &str) -> impl Iterator<Item = &str> {
    let headings = text
        .lines()
        .filter_map(|line| line.strip_prefix('[')?.strip_suffix(']'));
    headings.filter(|name| *name != COUNTED_WITH && !name.contains('.'))
}

impl Row {
    fn amount(&self, measure: &str) -> Option<f64> {
        match measure {
            "instructions" => self.instructions,
            "allocations" => self.allocations,
            _ => self.bytes,
        }
    }

    /// Returns the rooms with the most instructions, with their shares.
    fn largest_rooms(&self) -> String {
        let whole: f64 = self.rooms.values().sum();
        let mut rooms: Vec<_> = self.rooms.iter().collect();
        rooms.sort_by(|(_, one), (_, other)| other.total_cmp(one));
        let named = rooms.into_iter().take(NAMED);
        let named = named.map(|(room, count)| format!("{room} {:.0} %", 100.0 * count / whole));
        named.collect::<Vec<_>>().join(", ")
    }
}

impl Goal {
    /// Returns what it comes to; nothing while the other row is not counted.
    fn amount(&self, rows: &BTreeMap<String, Row>, measure: &str) -> Option<f64> {
        match self {
            Self::Amount(amount) => Some(*amount),
            Self::Relative { of, times, plus } => {
                let of = rows.get(of)?.amount(measure)?;
                Some(of * times.unwrap_or(1.0) + plus.unwrap_or(0.0))
            }
        }
    }

    fn to_text(&self) -> String {
        match self {
            Self::Amount(amount) => figure(Some(*amount)),
            Self::Relative { of, times, plus } => {
                let times = times.map_or(String::new(), |times| format!("{times} × "));
                let plus = plus.map_or(String::new(), |plus| format!(" + {}", figure(Some(plus))));
                format!("{times}{of}{plus}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"# Head
[counted-with]
rustc = "1"

[z-first]
instructions = 28500.4
allocations = 14
bytes = 9400
at_most = { instructions = 32000, bytes = { of = "a-second", times = 1.5 } }
over = "because"
rooms = { hyper = 300, "wire/rpc" = 600, std = 100 }

[a-second]
bytes = 1
at_most = { bytes = { of = "z-first", plus = 3000 } }
"#;

    #[test]
    fn rows_keep_their_order_and_stand_beside_their_goals() {
        let text = render(TEXT).unwrap();
        let (first, second) = (text.find("| z-first"), text.find("| a-second"));
        assert!(first.unwrap() < second.unwrap(), "{text}");
        assert!(text.contains(" 28,500 |  32,000 |"), "{text}");
        assert!(text.contains("**9,400** |  1.5 × a-second |"), "{text}");
        assert!(text.contains("z-first + 3,000 |"), "{text}");
        assert!(
            text.contains("wire/rpc 60 %, hyper 30 %, std 10 %"),
            "{text}"
        );
        assert!(!text.contains("counted-with"));
    }

    #[test]
    fn the_budget_that_stands_is_rendered() {
        let text = tables().unwrap();
        assert!(text.contains("| ours-http-modern"), "{text}");
    }
}
