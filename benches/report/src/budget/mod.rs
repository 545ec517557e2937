//! `cargo xtask budget`: what one request costs, in instructions and allocations, against the
//! budget in `benches/budget/budget.toml`.
//!
//! The processes are those of `benches/budget`. Each runs under valgrind with N and with 2N
//! requests, whose other end is in a process that is not measured; the difference over N is one
//! request, free of start-up. Instructions are the process's own in user space: the kernel's are
//! not counted. The figures repeat, so a change shows however small it is.

#[path = "../../../budget/src/asleep.rs"]
mod asleep;
mod client;
mod compare;
mod connection;
mod counted;
mod file;
mod load;
mod memory;
mod modes;
mod rooms;
mod sizes;
mod start;
mod valgrind;

use std::collections::BTreeMap;

use crate::process::{cargo, run as run_command, target};
use compare::{Findings, compare};
use counted::{Counter, count, counted_with};
use file::{File, Measure, Row};
use valgrind::Programs;

pub(crate) use sizes::check_sizes;

/// The rows that are counted.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Only rows whose names begin so, with their floors; `start` times the start of a process
    #[arg(value_name = "ROW")]
    rows: Vec<String>,
    /// Make the counts the budget
    #[arg(long)]
    accept: bool,
}

/// Counts rows and compares them with the budget, or accepts them.
pub(crate) fn run(options: &Options) -> Result<(), String> {
    let valgrind = valgrind::ensure_installed()?;
    let programs = build()?;
    if options.rows == ["start"] {
        return start::compare(&programs);
    }
    let wanted: Vec<_> = options.rows.iter().collect();
    let counters = select(counted::all(), &wanted)?;
    let floors: BTreeMap<_, _> = counters.iter().map(|it| (it.name(), it.floor())).collect();
    let order: Vec<_> = counters.iter().map(Counter::name).collect();
    let all: Vec<_> = counted::all().iter().map(Counter::name).collect();

    let mut rows = count(&programs, counters)?;
    let mut file = File::read()?;
    if !options.accept {
        count_again(&programs, &file, &mut rows)?;
    }
    print(&order, &floors, &rows, &file);
    let with = counted_with(&valgrind);
    if options.accept {
        for (name, row) in &rows {
            file.accept(name, row);
        }
        if wanted.is_empty() || file.counted_with.is_empty() {
            file.counted_with.clone_from(&with);
        }
        if wanted.is_empty() {
            let known = |name: &str| all.contains(&name) || name.starts_with("size-");
            file.rows.retain(|name, _| known(name));
        }
        file.write(&all)?;
    }
    let Findings {
        failures, hints, ..
    } = compare(&file, &rows);
    for hint in &hints {
        println!("-- {hint}");
    }
    let others = differences(&file, &with);
    if failures.is_empty() {
        print!("{others}");
        return Ok(());
    }
    Err(format!(
        "{}\n{others}where it goes: callgrind_annotate {}; a change that is worth it: \
         `cargo xtask budget --accept`",
        failures.join("\n"),
        valgrind::output_file("ROW", "callgrind").display()
    ))
}

/// Counts what fails once more: what a server does now and then, such as looking for what is idle,
/// may have fallen into one of two runs.
fn count_again(
    programs: &Programs,
    file: &File,
    rows: &mut BTreeMap<String, Row>,
) -> Result<(), String> {
    let grown = compare(file, rows).grown;
    let again = counted::all()
        .into_iter()
        .filter(|it| grown.contains(it.name()));
    for (name, second) in count(programs, again.collect())? {
        let first = rows.entry(name).or_default();
        if second.instructions <= first.instructions && second.bytes <= first.bytes {
            *first = second;
        }
    }
    Ok(())
}

/// Builds both programs, each by itself, so that the servers have nothing of what a client needs.
fn build() -> Result<Programs, String> {
    let built = |package: &str| {
        let build = [
            "build",
            "--quiet",
            "--profile",
            "bench",
            "--package",
            package,
        ];
        run_command(&mut cargo(build))?;
        Ok::<_, String>(target().join("release").join(package))
    };
    Ok(Programs {
        servers: built("turnbuckle-budget")?,
        clients: built("turnbuckle-budget-client")?,
    })
}

/// Returns what this machine has that the budget was not counted with.
fn differences(file: &File, with: &BTreeMap<String, String>) -> String {
    let differs = |(name, here): &(&String, &String)| file.counted_with.get(*name) != Some(here);
    let different: Vec<_> = with
        .iter()
        .filter(differs)
        .map(|(name, here)| {
            let accepted = file.counted_with.get(name);
            let accepted = accepted.map_or("nothing", String::as_str);
            format!("{name} is {here:?}, and {accepted:?} in the budget")
        })
        .collect();
    if different.is_empty() {
        return String::new();
    }
    format!(
        "!! COUNTED WITH SOMETHING ELSE: {}.\n!! What differs may be due to that: count the commit \
         before as well, or accept on the machine that decides.\n",
        different.join("; ")
    )
}

/// Returns the wanted ones, with the floors that they are compared with.
fn select(all: Vec<Counter>, wanted: &[&String]) -> Result<Vec<Counter>, String> {
    let exact = |wanted: &str| all.iter().any(|it| it.name() == wanted);
    let fits = |name: &str, wanted: &str| {
        if exact(wanted) {
            name == wanted
        } else {
            name.starts_with(wanted)
        }
    };
    if let Some(none) = wanted
        .iter()
        .find(|wanted| !all.iter().any(|it| fits(it.name(), wanted)))
    {
        let names: Vec<_> = all.iter().map(Counter::name).collect();
        return Err(format!("no row {none}; there are: {}", names.join(", ")));
    }
    let is_wanted =
        |name: &str| wanted.is_empty() || wanted.iter().any(|wanted| fits(name, wanted));
    let floors: Vec<_> = all
        .iter()
        .filter(|it| is_wanted(it.name()))
        .filter_map(Counter::floor)
        .collect();
    let chosen: Vec<_> = all
        .iter()
        .map(|it| is_wanted(it.name()) || floors.contains(&it.name()))
        .collect();
    let chosen = all.into_iter().zip(chosen);
    Ok(chosen.filter_map(|(it, is)| is.then_some(it)).collect())
}

fn print(
    order: &[&str],
    floors: &BTreeMap<&str, Option<&str>>,
    rows: &BTreeMap<String, Row>,
    file: &File,
) {
    println!("per request, in user space; a start, and what is left, as a whole\n");
    println!(
        "{:<28} {:>12} {:>7} {:>10} {:>8} {:>11} {:>9}",
        "", "instructions", "× floor", "goal", "change", "allocations", "bytes"
    );
    for name in order {
        let Some(row) = rows.get(*name) else {
            continue;
        };
        let instructions = row.instructions;
        let floor = floors.get(name).copied().flatten();
        let floor = floor.and_then(|floor| rows.get(floor)?.instructions);
        let ratio = instructions.zip(floor).map(|(own, floor)| own / floor);
        let accepted = file.rows.get(*name);
        let measure = match instructions {
            Some(_) => Measure::Instructions,
            None => Measure::Bytes,
        };
        let goal = accepted
            .and_then(|it| compare::limit(file, rows, measure, measure.goal(it)?))
            .map(|goal| measure.format(goal));
        let before = accepted.and_then(|row| measure.amount(row));
        let change = measure
            .amount(row)
            .zip(before.filter(|before| *before != 0.0))
            .map(|(now, before)| format!("{:+.1} %", 100.0 * (now / before - 1.0)));
        let shown = |measure: Measure| measure.amount(row).map(|it| measure.format(it));
        println!(
            "{name:<28} {:>12} {:>7} {:>10} {:>8} {:>11} {:>9}",
            shown(Measure::Instructions).unwrap_or_default(),
            ratio.map(|it| format!("{it:.2}")).unwrap_or_default(),
            goal.unwrap_or_default(),
            change.unwrap_or_default(),
            shown(Measure::Allocations).unwrap_or_default(),
            shown(Measure::Bytes).unwrap_or_default(),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(wanted: &[&str]) -> Result<Vec<&'static str>, String> {
        let wanted: Vec<_> = wanted.iter().map(|name| (*name).to_owned()).collect();
        let wanted: Vec<_> = wanted.iter().collect();
        let chosen = select(counted::all(), &wanted)?;
        Ok(chosen.iter().map(Counter::name).collect())
    }

    #[test]
    fn a_row_brings_its_floor_and_a_beginning_all_that_begin_so() {
        let with_floor = ["floor-http", "ours-http-modern"];
        assert_eq!(names(&["ours-http-modern"]).unwrap(), with_floor);
        assert_eq!(names(&["client-http"]).unwrap().len(), 3);
        assert_eq!(names(&[]).unwrap().len(), counted::all().len());
        assert!(names(&["carrier-pigeon"]).unwrap_err().contains("no row"));
    }

    #[test]
    fn what_it_was_counted_with_is_said_when_it_differs() {
        let with = |version: &str| BTreeMap::from([("valgrind".to_owned(), version.to_owned())]);
        let file = File {
            counted_with: with("1"),
            ..File::default()
        };
        assert_eq!(differences(&file, &with("1")), "");
        assert!(differences(&file, &with("2")).contains("valgrind is \"2\", and \"1\""));
    }

    #[test]
    fn the_budget_has_a_row_for_everything_that_is_counted_and_no_other() {
        let file = File::read().unwrap();
        let all: Vec<_> = counted::all().iter().map(Counter::name).collect();
        for name in &all {
            assert!(file.rows.contains_key(*name), "{name}");
        }
        for name in file.rows.keys() {
            assert!(
                all.contains(&name.as_str()) || name.starts_with("size-"),
                "{name}"
            );
        }
    }
}
