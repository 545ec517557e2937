//! The tables of a run, in Markdown.

use super::contestants::Binding;
use super::rounds::{CONNECTIONS, Entry, IN_FLIGHT};

/// Calls that take longer than this and hardly any CPU wait for a timer of TCP, in microseconds.
const LATE: f64 = 10_000.0;

/// Returns all tables of a run.
pub(super) fn tables(entries: &[Entry]) -> String {
    let sections = [
        ("HTTP", http(entries)),
        ("Standard input and output", stdio(entries)),
        ("Start and memory", starts(entries)),
        ("The driver", ceiling(entries)),
        ("Left out", faults(entries)),
    ];
    let sections = sections.map(|(title, table)| match table.as_str() {
        "" => String::new(),
        table => format!("### {title}\n\n{table}\n"),
    });
    sections.concat()
}

/// Returns a Markdown table; nothing without rows.
fn table(head: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let rows: String = rows.map(|cells| line(&cells)).collect();
    if rows.is_empty() {
        return rows;
    }
    let rule = format!("|---|{}\n", "--:|".repeat(head.len() - 1));
    format!("| {} |\n{rule}{rows}", head.join(" | "))
}

/// Returns the contestants of a binding that have figures, each with its floor.
fn rows_with_floors(entries: &[Entry], binding: Binding) -> impl Iterator<Item = (&Entry, &Entry)> {
    let floor = |of: &Entry| {
        let floor = of.contestant.floor();
        entries.iter().find(|entry| entry.contestant.name == floor)
    };
    entries
        .iter()
        .filter(move |entry| entry.contestant.binding == binding)
        .filter(|entry| !entry.contestant.is_ceiling() && !entry.rounds.is_empty())
        .filter_map(move |entry| Some((entry, floor(entry)?)))
}

fn http(entries: &[Entry]) -> String {
    let head = [
        "over HTTP",
        "calls/s, 1 connection",
        "16 connections",
        "64 connections",
        "× the floor's rate at 16",
        "CPU µs a call",
        "× the floor's CPU",
        "p50 µs at 16",
        "p99 µs at 16",
    ];
    let rows = rows_with_floors(entries, Binding::Http).map(|(entry, floor)| {
        vec![
            entry.contestant.title.to_owned(),
            alone(entry),
            middle(entry.rates(16)),
            middle(entry.rates(64)),
            ratio(&entry.rates(16), &floor.rates(16)),
            middle(entry.cpu(16)),
            ratio(&entry.cpu(16), &floor.cpu(16)),
            middle(entry.latency(16, |latency| latency.p50)),
            middle(entry.latency(16, |latency| latency.p99)),
        ]
    });
    table(&head, rows)
}

/// Returns the rate of one connection, and a mark where most of each call is waiting for a timer.
fn alone(entry: &Entry) -> String {
    let rate = Spread::new(entry.rates(1)).map(|spread| spread.median);
    let cpu = Spread::new(entry.cpu(1)).map_or(0.0, |spread| spread.median);
    let time = rate.map_or(0.0, |rate| 1e6 / rate);
    let rate = figure(rate);
    if time > LATE && cpu < time / 10.0 {
        format!("{rate} (late by {:.0} ms)", time / 1e3)
    } else {
        rate
    }
}

fn stdio(entries: &[Entry]) -> String {
    let head = [
        "on pipes",
        "calls/s, one at a time",
        "× the floor's rate",
        "64 in flight",
        "× the floor's rate at 64",
        "CPU µs a call, one at a time",
        "at 64",
        "p50 µs, one at a time",
        "p99 µs",
    ];
    let rows = rows_with_floors(entries, Binding::Stdio).map(|(entry, floor)| {
        vec![
            entry.contestant.title.to_owned(),
            middle(entry.rates(1)),
            ratio(&entry.rates(1), &floor.rates(1)),
            middle(entry.rates(64)),
            ratio(&entry.rates(64), &floor.rates(64)),
            middle(entry.cpu(1)),
            middle(entry.cpu(64)),
            middle(entry.latency(1, |latency| latency.p50)),
            middle(entry.latency(1, |latency| latency.p99)),
        ]
    });
    table(&head, rows)
}

fn starts(entries: &[Entry]) -> String {
    let head = [
        "",
        "ms from exec to the first answer",
        "resident MB after it",
        "kB an idle session",
    ];
    let entries = entries.iter().filter(|entry| {
        let contestant = &entry.contestant;
        !entry.rounds.is_empty() && (contestant.starts() || contestant.has_sessions())
    });
    let rows = entries.map(|entry| {
        let binding = match entry.contestant.binding {
            Binding::Http => "over HTTP",
            Binding::Stdio => "on pipes",
        };
        let rounds = || entry.rounds.iter();
        let starts = rounds().flat_map(|round| round.starts_ms.iter().copied().map(Some));
        let idle = rounds().map(|round| round.idle_kb.map(|kb| kb as f64 / 1024.0));
        let session = rounds().map(|round| round.session_bytes.map(|bytes| bytes / 1024.0));
        vec![
            format!("{}, {binding}", entry.contestant.title),
            Spread::new(starts).map_or_else(|| figure(None), Spread::to_text),
            middle(idle),
            middle(session),
        ]
    });
    table(&head, rows)
}

/// Returns the rates of the driver against servers that do nothing, and its own cost.
fn ceiling(entries: &[Entry]) -> String {
    let ceilings = entries
        .iter()
        .filter(|entry| entry.contestant.is_ceiling() && !entry.rounds.is_empty());
    let rows = ceilings.flat_map(|entry| {
        let (kind, widths) = match entry.contestant.binding {
            Binding::Http => ("over HTTP, connections:", &CONNECTIONS[..]),
            Binding::Stdio => ("on pipes, in flight:", &IN_FLIGHT[..]),
        };
        widths.iter().map(move |&width| {
            vec![
                format!("{kind} {width}"),
                middle(entry.rates(width)),
                middle(entry.figures(width, |slice| Some(slice.driver_us))),
            ]
        })
    });
    table(&["", "calls/s", "CPU µs of the driver a call"], rows)
}

/// Returns the servers that could not be measured in every round, with the reasons.
fn faults(entries: &[Entry]) -> String {
    let faults = entries.iter().filter_map(|entry| {
        let (name, rounds) = (entry.contestant.name, entry.rounds.len());
        let fault = entry.fault.as_ref()?;
        Some(format!("- {name}, after {rounds} rounds: {fault}\n"))
    });
    faults.collect()
}

/// The median of some figures, and the quartiles around it.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Spread {
    low: f64,
    median: f64,
    high: f64,
}

impl Spread {
    fn new(figures: impl IntoIterator<Item = Option<f64>>) -> Option<Self> {
        let mut sorted: Vec<f64> = figures.into_iter().flatten().collect();
        sorted.sort_by(f64::total_cmp);
        let quantile = |share: f64| {
            let at = share * sorted.len().checked_sub(1)? as f64;
            let (below, above) = (sorted[at.floor() as usize], sorted[at.ceil() as usize]);
            Some(below + (above - below) * at.fract())
        };
        Some(Self {
            low: quantile(0.25)?,
            median: quantile(0.5)?,
            high: quantile(0.75)?,
        })
    }

    fn to_text(self) -> String {
        let [low, median, high] =
            [self.low, self.median, self.high].map(|value| figure(Some(value)));
        format!("{median} ({low}–{high})")
    }
}

/// Returns the spread of the ratios within a round, such as `0.93 (0.91–0.94)`: the machine may be faster
/// in one round than in another. A round that lacks one of the two does not count.
fn ratio(ours: &[Option<f64>], theirs: &[Option<f64>]) -> String {
    let ratios = ours.iter().zip(theirs).map(|(ours, theirs)| {
        let theirs = theirs.filter(|theirs| *theirs > 0.0)?;
        Some((*ours)? / theirs)
    });
    Spread::new(ratios).map_or_else(|| figure(None), Spread::to_text)
}

fn middle(figures: impl IntoIterator<Item = Option<f64>>) -> String {
    figure(Spread::new(figures).map(|spread| spread.median))
}

/// Returns a figure with three digits or all before the point; a dash for none.
fn figure(value: Option<f64>) -> String {
    match value {
        None => "–".to_owned(),
        Some(value) if value >= 100.0 || value.fract() == 0.0 => format!("{value:.0}"),
        Some(value) if value >= 10.0 => format!("{value:.1}"),
        Some(value) if value >= 0.095 => format!("{value:.2}"),
        Some(value) => format!("{value:.3}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::contestants::select;
    use crate::compare::plan::{Latency, Report, Slice};

    fn entry(name: &str, rates: &[f64], latency: f64) -> Entry {
        let mut contestants = select(&[]).unwrap().into_iter();
        let contestant = contestants.find(|one| one.name == name).unwrap();
        let slice = |width, calls_per_second| Slice {
            width,
            calls_per_second,
            server_us: 10.0,
            driver_us: 5.0,
            latency: Some(Latency {
                p50: latency,
                p99: latency,
            }),
        };
        let rounds = rates.iter().map(|&rate| Report {
            slices: [1, 16, 64].map(|width| slice(width, rate)).into(),
            starts_ms: vec![1.0],
            idle_kb: Some(2048),
            session_bytes: contestant.has_sessions().then_some(1536.0),
        });
        Entry {
            contestant,
            rounds: rounds.collect(),
            fault: rates.is_empty().then(|| "hung up".to_owned()),
        }
    }

    #[test]
    fn a_row_has_its_ratio_to_the_floor_and_a_mark_for_a_late_answer() {
        let entries = [
            entry("floor-hyper", &[1000.0, 2000.0, 4000.0], 50.0),
            entry("ours-http-session", &[900.0, 1800.0, 3600.0], 50.0),
            entry("rmcp-http-session", &[22.0, 22.0, 23.0], 44_000.0),
            entry("ceiling-http", &[150_000.0], 10.0),
            entry("python-stdio", &[], 0.0),
        ];
        let text = tables(&entries);
        for part in [
            "| 1800 | 1800 | 0.90 (0.90–0.90) |",
            "22 (late by 45 ms)",
            "| **turnbuckle**, 2025, session, over HTTP |",
            "over HTTP, connections: 64 | 150000 |",
            "- python-stdio, after 0 rounds: hung up\n",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(!text.contains("on pipes"), "{text}");
    }

    #[test]
    fn quartiles_are_interpolated() {
        let spread = |figures: &[f64]| Spread::new(figures.iter().copied().map(Some));
        let expected = Spread {
            low: 1.25,
            median: 1.5,
            high: 1.75,
        };
        assert_eq!(spread(&[2.0, 1.0]), Some(expected));
        assert_eq!(spread(&[]), None);
        assert_eq!(
            ratio(&[Some(10.0), Some(1.0), None], &[Some(20.0), None, None]),
            "0.50 (0.50–0.50)"
        );
        assert_eq!(figure(Some(0.0123)), "0.012");
    }
}
