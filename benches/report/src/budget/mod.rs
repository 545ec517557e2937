//! `cargo xtask budget`: the instructions and allocations of one request, against the budget in
//! `benches/budget/budget.toml`.
//!
//! The processes are those of `benches/budget`. Each runs under valgrind with N and with 2N
//! requests, whose other end is in a process that is not counted; the difference over N is one
//! request, free of start-up. Instructions are the process's own in user space, without the kernel's. The
//! counts repeat, so a change shows however small it is.

#[path = "../../../budget/src/asleep.rs"]
mod asleep;
mod client;
mod compare;
mod connection;
mod file;
mod load;
mod process;
mod rows;

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::{fs, thread};

use crate::process::{cargo, run as run_command, target};
use crate::result::Result;
use compare::{Findings, compare, limit};
use file::{File, Measure, Row, Rows};
use process::{Programs, first_line_of, output_file};
use rows::{Counter, Work};

/// The number of rows that are counted at a time: counts do not depend on the load of the machine.
const LANES: usize = 2;

/// The rows that are counted.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Only rows whose names begin so, with their floors
    #[arg(value_name = "ROW")]
    rows: Vec<String>,
    /// Make the counts the budget
    #[arg(long)]
    accept: bool,
}

/// Counts rows and compares them with the budget, or accepts them.
pub(crate) fn run(options: &Options) -> Result {
    let valgrind = first_line_of("valgrind", &["--version"]);
    let valgrind = valgrind.ok_or("valgrind is missing: install the package valgrind")?;
    let all = rows::all();
    let names: Vec<_> = all.iter().map(|row| row.name).collect();
    let counters = select(&all, &options.rows)?;
    let programs = build(&counters)?;
    let mut rows = count(&programs, &counters)?;
    let mut file = File::read()?;
    if !options.accept {
        count_again(&programs, &counters, &file, &mut rows)?;
    }
    print(&counters, &rows, &file);
    let with = counted_with(valgrind);
    if options.accept {
        file = file.accept(&rows)?;
        if options.rows.is_empty() {
            file = file.accept_all(&with, &names)?;
        }
        file.write()?;
    }
    report(&file, &rows, &differences(&file, &with))
}

/// Compares the sizes of programs with their rows, or accepts them.
pub(crate) fn check_sizes(sizes: &[(&str, u64)], accept: bool) -> Result {
    let rows = sizes.iter().map(|(name, bytes)| {
        let bytes = (Measure::Bytes, *bytes as f64);
        (format!("size-{name}"), row([bytes]))
    });
    let rows = rows.collect();
    let mut file = File::read()?;
    if accept {
        file = file.accept(&rows)?;
        file.write()?;
    }
    report(&file, &rows, "")
}

/// Prints hints; fails with the rows that are over the budget.
fn report(file: &File, rows: &Rows, differences: &str) -> Result {
    let Findings {
        failures, hints, ..
    } = compare(&file.rows, rows);
    for hint in &hints {
        println!("-- {hint}");
    }
    if failures.is_empty() {
        print!("{differences}");
        return Ok(());
    }
    Err(format!(
        "{}\n{differences}where it goes: callgrind_annotate {}; a change that is worth it: \
         `cargo xtask budget --accept`",
        failures.join("\n"),
        output_file("ROW", "callgrind").display()
    )
    .into())
}

/// Builds the programs, each by itself, so that the servers have nothing of what a client needs, and clients
/// nothing of what a bridge needs. A program that no row runs is not built.
fn build(counters: &[&Counter]) -> Result<Programs> {
    let runs = |work: fn(&Work) -> bool| counters.iter().any(|row| work(&row.work));
    let built = |package: &str, is_needed: bool| {
        if is_needed {
            let mut build = cargo(["build", "--quiet", "--profile", "bench", "--package"]);
            run_command(build.arg(package))?;
        }
        Ok::<_, String>(target().join("release").join(package))
    };
    Ok(Programs {
        // The peer of the other two as well.
        servers: built("turnbuckle-budget", true)?,
        clients: built(
            "turnbuckle-budget-client",
            runs(|work| matches!(work, Work::Call(_))),
        )?,
        bridges: built(
            "turnbuckle-budget-bridge",
            runs(|work| matches!(work, Work::Bridge(_))),
        )?,
    })
}

/// Counts rows, several at a time.
fn count(programs: &Programs, counters: &[&Counter]) -> Result<Rows> {
    // The long ones first, or one of them would be left alone at the end.
    let mut waiting = counters.to_vec();
    waiting.sort_by_key(|row| row.counts_heap && !matches!(row.work, Work::Hold(..)));
    let waiting = Mutex::new(waiting.into_iter());
    let next = || {
        let mut waiting = waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.next()
    };
    let work = || {
        let mut rows = Rows::new();
        while let Some(row) = next() {
            rows.insert(row.name.to_owned(), count_row(programs, row)?);
        }
        Ok::<_, Box<dyn std::error::Error + Send + Sync>>(rows)
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..LANES).map(|_| scope.spawn(work)).collect();
        let mut rows = Rows::new();
        for worker in workers {
            rows.extend(worker.join().map_err(|_| "a count panicked")??);
        }
        Ok(rows)
    })
}

/// Counts what one request adds, or what a whole start takes, or what one of many things keeps.
fn count_row(programs: &Programs, counter: &Counter) -> Result<Row> {
    use Measure::{Allocations, Bytes, Instructions};

    let (shorter, longer) = (counter.requests, 2 * counter.requests);
    match counter.work {
        Work::Hold(held, count) => {
            let bytes = programs.bytes_of_one(counter, held, count)?;
            return Ok(row([(Bytes, bytes)]));
        }
        Work::Start => {
            let instructions = (Instructions, programs.instructions(counter, 0)?);
            let heap = programs.heap(counter, 0)?;
            return Ok(row([
                instructions,
                (Allocations, heap.blocks),
                (Bytes, heap.bytes),
            ]));
        }
        _ => {}
    }
    let of_one = |once: f64, twice: f64| (twice - once) / shorter as f64;
    let once = programs.instructions(counter, shorter)?;
    let instructions = of_one(once, programs.instructions(counter, longer)?);
    let mut counted = row([(Instructions, instructions)]);
    if counter.counts_heap {
        let (once, twice) = (
            programs.heap(counter, shorter)?,
            programs.heap(counter, longer)?,
        );
        let heap = [
            (Allocations, of_one(once.blocks, twice.blocks)),
            (Bytes, of_one(once.bytes, twice.bytes)),
        ];
        counted.counts.extend(heap);
    }
    Ok(counted)
}

fn row<const N: usize>(counts: [(Measure, f64); N]) -> Row {
    Row {
        counts: counts.into(),
        ..Row::default()
    }
}

/// Counts rows that fail once more: occasional work of a server, such as a sweep, may have fallen into
/// one of two runs.
fn count_again(programs: &Programs, counters: &[&Counter], file: &File, rows: &mut Rows) -> Result {
    let grown = compare(&file.rows, rows).grown;
    let again = counters.iter().filter(|row| grown.contains(row.name));
    let again: Vec<_> = again.copied().collect();
    for (name, second) in count(programs, &again)? {
        let first = rows.entry(name).or_default();
        let mut counts = second.counts.iter();
        if counts.all(|(measure, count)| first.counts.get(measure) >= Some(count)) {
            *first = second;
        }
    }
    Ok(())
}

/// Returns the versions that counts depend on beside the code and its lock file.
fn counted_with(valgrind: String) -> BTreeMap<String, String> {
    let cpu = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let has_avx2 = cpu.split_whitespace().any(|flag| flag == "avx2");
    let vectors = if has_avx2 { " with avx2" } else { "" };
    let version = |program| {
        let version = first_line_of(program, &["--version"]);
        version.unwrap_or_else(|| "unknown".to_owned())
    };
    [
        ("cpu", format!("{}{vectors}", std::env::consts::ARCH)),
        ("libc", version("ldd")),
        ("rustc", version("rustc")),
        ("valgrind", valgrind),
    ]
    .map(|(name, version)| (name.to_owned(), version))
    .into()
}

/// Returns how this machine differs from the one that the budget was counted on.
fn differences(file: &File, with: &BTreeMap<String, String>) -> String {
    let different = with.iter().filter_map(|(name, here)| {
        let accepted = file
            .counted_with
            .get(name)
            .map_or("nothing", String::as_str);
        (accepted != here).then(|| format!("{name} is {here:?}, and {accepted:?} in the budget"))
    });
    let different: Vec<_> = different.collect();
    if different.is_empty() {
        return String::new();
    }
    format!(
        "!! COUNTED WITH SOMETHING ELSE: {}.\n!! Differences may be due to that: count the commit \
         before as well, or accept on the machine that decides.\n",
        different.join("; ")
    )
}

/// Returns the wanted rows, with the floors that they are compared with.
fn select<'a>(all: &'a [Counter], wanted: &[String]) -> Result<Vec<&'a Counter>> {
    let fits = |name: &str, wanted: &str| {
        let is_name = all.iter().any(|row| row.name == wanted);
        name == wanted || (!is_name && name.starts_with(wanted))
    };
    for wanted in wanted {
        if !all.iter().any(|row| fits(row.name, wanted)) {
            let names: Vec<_> = all.iter().map(|row| row.name).collect();
            return Err(format!("no row {wanted}; there are: {}", names.join(", ")).into());
        }
    }
    let is_wanted =
        |row: &&Counter| wanted.is_empty() || wanted.iter().any(|wanted| fits(row.name, wanted));
    let floors: Vec<_> = all
        .iter()
        .filter(is_wanted)
        .filter_map(|row| row.floor)
        .collect();
    let chosen = all
        .iter()
        .filter(|row| is_wanted(row) || floors.contains(&row.name));
    Ok(chosen.collect())
}

fn print(counters: &[&Counter], rows: &Rows, file: &File) {
    println!("per request, in user space; a start, and memory that is held, as a whole\n");
    println!(
        "{:<28} {:>12} {:>7} {:>10} {:>8} {:>11} {:>9}",
        "", "instructions", "× floor", "goal", "change", "allocations", "bytes"
    );
    for counter in counters {
        let name = counter.name;
        let Some(row) = rows.get(name) else {
            continue;
        };
        let instructions = row.counts.get(&Measure::Instructions);
        let measure = match instructions {
            Some(_) => Measure::Instructions,
            None => Measure::Bytes,
        };
        let floor = counter.floor.and_then(|floor| rows.get(floor));
        let floor = floor.and_then(|floor| floor.counts.get(&Measure::Instructions));
        let ratio = instructions.zip(floor).map(|(own, floor)| own / floor);
        let accepted = file.rows.get(name);
        let goal = accepted.and_then(|row| row.at_most.get(&measure));
        let goal = goal.and_then(|goal| limit(&file.rows, rows, measure, goal));
        let before = accepted.and_then(|row| row.counts.get(&measure));
        let change = row.counts.get(&measure).zip(before);
        let change = change.map(|(now, before)| format!("{:+.1} %", 100.0 * (now / before - 1.0)));
        let shown = |measure: Measure| {
            let amount = row.counts.get(&measure);
            amount.map_or(String::new(), |amount| measure.format(*amount))
        };
        println!(
            "{name:<28} {:>12} {:>7} {:>10} {:>8} {:>11} {:>9}",
            shown(Measure::Instructions),
            ratio.map_or(String::new(), |ratio| format!("{ratio:.2}")),
            goal.map_or(String::new(), |goal| measure.format(goal)),
            change.unwrap_or_default(),
            shown(Measure::Allocations),
            shown(Measure::Bytes),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_brings_its_floor_and_a_beginning_all_rows_that_begin_so() {
        let all = rows::all();
        let names = |wanted: &str| -> Result<Vec<_>> {
            let chosen = select(&all, &[wanted.to_owned()])?;
            Ok(chosen.iter().map(|row| row.name).collect())
        };
        let with_floor = ["floor-http", "ours-http-modern"];
        assert_eq!(names("ours-http-modern").unwrap(), with_floor);
        assert_eq!(names("client-http").unwrap().len(), 3);
        assert_eq!(select(&all, &[]).unwrap().len(), all.len());
        assert!(names("none").unwrap_err().to_string().contains("no row"));
    }

    #[test]
    fn the_budget_has_a_row_for_each_counter_and_floors_stand_first() {
        let file = File::read().unwrap();
        let mut names = Vec::new();
        for row in rows::all() {
            assert!(file.rows.contains_key(row.name), "{}", row.name);
            assert!(
                row.floor.is_none_or(|floor| names.contains(&floor)),
                "{}",
                row.name
            );
            assert!(!names.contains(&row.name), "{}", row.name);
            names.push(row.name);
        }
        for name in file.rows.keys().filter(|name| !name.starts_with("size-")) {
            assert!(names.contains(&name.as_str()), "{name}");
        }
    }

    #[test]
    fn another_version_of_a_tool_is_reported() {
        let file = File::read().unwrap();
        let mut with = file.counted_with.clone();
        assert_eq!(differences(&file, &with), "");
        with.insert("valgrind".to_owned(), "0".to_owned());
        assert!(differences(&file, &with).contains("valgrind is \"0\", and"));
    }
}
