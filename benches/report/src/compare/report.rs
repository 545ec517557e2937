//! The tables of a run.

use super::contestants::Binding;
use super::rounds::Entry;
use super::statistics::Spread;
use super::table::{Table, figure, ratio};
use super::weight::Weight;

/// Calls that take longer than this and hardly any CPU wait for a timer of TCP, in microseconds.
const LATE: f64 = 10_000.0;

/// Returns all that a run has to say, in Markdown.
pub(super) fn tables(entries: &[Entry], weights: &[(&'static str, Weight)]) -> String {
    let sections = [
        ("HTTP", http(entries)),
        ("Standard input and output", stdio(entries)),
        ("Start and memory", standing(entries)),
        ("What a minimal server takes", minimal(weights)),
        ("The driver", ceiling(entries)),
        ("Left out", faults(entries)),
    ];
    let mut text = String::new();
    for (title, section) in sections {
        if let Some(section) = section {
            text.push_str(&format!("### {title}\n\n{section}\n"));
        }
    }
    text
}

/// Returns the contestants of a binding that have figures, each with its floor.
fn measured_time(entries: &[Entry], binding: Binding) -> Vec<(&Entry, &Entry)> {
    let floor = |of: &Entry| {
        let floor = of.contestant.floor();
        entries.iter().find(|entry| entry.contestant.name == floor)
    };
    entries
        .iter()
        .filter(|entry| entry.contestant.binding == binding)
        .filter(|entry| !entry.contestant.is_ceiling() && !entry.rounds.is_empty())
        .filter_map(|entry| Some((entry, floor(entry)?)))
        .collect()
}

fn http(entries: &[Entry]) -> Option<String> {
    let rows = measured_time(entries, Binding::Http);
    let mut table = Table::new(&[
        "over HTTP",
        "calls/s, 1 connection",
        "16 connections",
        "64 connections",
        "× the floor's rate at 16",
        "CPU µs a call",
        "× the floor's CPU",
        "p50 µs at 16",
        "p99 µs at 16",
    ]);
    for (entry, floor) in &rows {
        table.row(vec![
            entry.contestant.title.to_owned(),
            alone(entry),
            middle(entry.rates(16)),
            middle(entry.rates(64)),
            ratio(Spread::of_ratios(&entry.rates(16), &floor.rates(16))),
            middle(entry.cpu(16)),
            ratio(Spread::of_ratios(&entry.cpu(16), &floor.cpu(16))),
            middle(entry.latency(16, |latency| latency.p50)),
            middle(entry.latency(16, |latency| latency.p99)),
        ]);
    }
    (!rows.is_empty()).then(|| table.markdown())
}

/// Returns the rate of one connection, and a mark where most of each call is waiting for a timer.
fn alone(entry: &Entry) -> String {
    let rate = median(entry.rates(1));
    let took = rate.map_or(0.0, |rate| 1e6 / rate);
    let cpu = median(entry.cpu(1)).unwrap_or(0.0);
    let rate = figure(rate);
    if took > LATE && cpu < took / 10.0 {
        format!("{rate} (late by {:.0} ms)", took / 1e3)
    } else {
        rate
    }
}

fn stdio(entries: &[Entry]) -> Option<String> {
    let rows = measured_time(entries, Binding::Stdio);
    let mut table = Table::new(&[
        "on pipes",
        "calls/s, one at a time",
        "× the floor's rate",
        "64 in flight",
        "× the floor's rate at 64",
        "CPU µs a call, one at a time",
        "at 64",
        "p50 µs, one at a time",
        "p99 µs",
    ]);
    for (entry, floor) in &rows {
        table.row(vec![
            entry.contestant.title.to_owned(),
            middle(entry.rates(1)),
            ratio(Spread::of_ratios(&entry.rates(1), &floor.rates(1))),
            middle(entry.rates(64)),
            ratio(Spread::of_ratios(&entry.rates(64), &floor.rates(64))),
            middle(entry.cpu(1)),
            middle(entry.cpu(64)),
            middle(entry.latency(1, |latency| latency.p50)),
            middle(entry.latency(1, |latency| latency.p99)),
        ]);
    }
    (!rows.is_empty()).then(|| table.markdown())
}

/// Returns what a server is before anybody calls it.
fn standing(entries: &[Entry]) -> Option<String> {
    let mut table = Table::new(&[
        "",
        "ms from exec to the first answer",
        "resident MB after it",
        "kB an idle session",
    ]);
    let mut any = false;
    for entry in entries {
        let contestant = &entry.contestant;
        if entry.rounds.is_empty() || !(contestant.starts() || contestant.has_sessions()) {
            continue;
        }
        any = true;
        let starts = entry.rounds.iter().flat_map(|round| round.starts_ms.iter());
        let idle = entry.rounds.iter().filter_map(|round| round.idle_kb);
        let sessions = entry.rounds.iter().filter_map(|round| round.session_bytes);
        let binding = match contestant.binding {
            Binding::Http => "over HTTP",
            Binding::Stdio => "on pipes",
        };
        table.row(vec![
            format!("{}, {binding}", contestant.title),
            ratio(Spread::new(starts.copied())),
            figure(Spread::new(idle.map(|kb| kb as f64 / 1024.0)).map(|spread| spread.median)),
            figure(Spread::new(sessions.map(|bytes| bytes / 1024.0)).map(|spread| spread.median)),
        ]);
    }
    any.then(|| table.markdown())
}

fn minimal(weights: &[(&'static str, Weight)]) -> Option<String> {
    let mut table = Table::new(&["", "crates", "stripped MB"]);
    for (title, weight) in weights {
        table.row(vec![
            (*title).to_owned(),
            weight
                .crates
                .map_or("–".to_owned(), |crates| crates.to_string()),
            figure(weight.bytes.map(|bytes| bytes as f64 / 1e6)),
        ]);
    }
    (!weights.is_empty()).then(|| table.markdown())
}

/// Returns how fast the driver is against servers that do nothing, and what it costs itself.
fn ceiling(entries: &[Entry]) -> Option<String> {
    let mut table = Table::new(&["", "calls/s", "CPU µs of the driver a call"]);
    let mut any = false;
    for entry in entries.iter().filter(|entry| entry.contestant.is_ceiling()) {
        let (kind, widths) = match entry.contestant.binding {
            Binding::Http => ("over HTTP, connections:", &super::rounds::CONNECTIONS[..]),
            Binding::Stdio => ("on pipes, in flight:", &super::rounds::IN_FLIGHT[..]),
        };
        for &width in widths {
            any |= !entry.rounds.is_empty();
            table.row(vec![
                format!("{kind} {width}"),
                middle(entry.rates(width)),
                middle(entry.figures(width, |slice| Some(slice.driver_us))),
            ]);
        }
    }
    any.then(|| table.markdown())
}

/// Returns the servers that could not be measured in every round, and why.
fn faults(entries: &[Entry]) -> Option<String> {
    let mut text = String::new();
    for entry in entries {
        if let Some(fault) = &entry.fault {
            let rounds = entry.rounds.len();
            text.push_str(&match rounds {
                0 => format!("- {}: {fault}\n", entry.contestant.name),
                _ => format!(
                    "- {}, after {rounds} rounds: {fault}\n",
                    entry.contestant.name
                ),
            });
        }
    }
    (!text.is_empty()).then_some(text)
}

fn median(figures: Vec<Option<f64>>) -> Option<f64> {
    Spread::new(figures.into_iter().flatten()).map(|spread| spread.median)
}

fn middle(figures: Vec<Option<f64>>) -> String {
    figure(median(figures))
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
            fault: None,
        }
    }

    #[test]
    fn ratios_stand_beside_the_floor_and_a_late_answer_is_marked() {
        let entries = [
            entry("floor-hyper", &[1000.0, 2000.0, 4000.0], 50.0),
            entry("ours-http-session", &[900.0, 1800.0, 3600.0], 50.0),
            entry("rmcp-http-session", &[22.0, 22.0, 23.0], 44_000.0),
        ];
        let text = tables(&entries, &[]);
        let row = |title: &str| {
            let mut lines = text.lines();
            lines.find(|line| line.contains(title)).unwrap().to_owned()
        };
        let ours = row("turnbuckle**, 2025, session");
        assert!(
            ours.contains(" 1,800 |") && ours.contains("0.90 (0.90–0.90)"),
            "{ours}"
        );
        let theirs = row("rmcp README, 2025, session");
        assert!(theirs.contains("22 (late by 45 ms)"), "{theirs}");
        assert!(!ours.contains("late"));
        assert!(
            text.contains("| **turnbuckle**, 2025, session, over HTTP |"),
            "{text}"
        );
        assert!(text.contains("1.50 |"), "{text}");
        assert!(!text.contains("pipes") && !text.contains("The driver"));
    }

    #[test]
    fn who_is_missing_is_named_with_the_reason() {
        let mut missing = entry("python-stdio", &[], 0.0);
        missing.fault = Some("no python3".to_owned());
        let mut broken = entry("floor-lines", &[1.0], 0.0);
        broken.fault = Some("hung up".to_owned());
        let text = tables(&[missing, broken], &[]);
        assert!(
            text.contains("### Left out\n\n- python-stdio: no python3\n"),
            "{text}"
        );
        assert!(
            text.contains("- floor-lines, after 1 rounds: hung up\n"),
            "{text}"
        );
        assert!(text.contains("floor: a loop over lines"));
    }

    #[test]
    fn weights_and_the_ceiling_have_tables_of_their_own() {
        let weight = Weight {
            crates: Some(58),
            bytes: Some(2_345_678),
        };
        let ceiling = entry("ceiling-http", &[150_000.0], 10.0);
        let text = tables(&[ceiling], &[("ours", weight)]);
        assert!(text.contains("| ours |     58 |        2.35 |"), "{text}");
        assert!(text.contains("over HTTP, connections: 64"), "{text}");
        assert!(text.contains("150,000 |"), "{text}");
        assert!(!text.contains("× the floor"));
    }
}
