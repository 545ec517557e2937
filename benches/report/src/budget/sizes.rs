//! The sizes of programs, which `cargo xtask weigh` takes: rows of the budget like the others.

use std::collections::BTreeMap;

use super::compare::compare;
use super::counted;
use super::file::{File, Row};

/// Compares the sizes with their rows, or accepts them.
pub(crate) fn check_sizes(sizes: &[(&str, u64)], accept: bool) -> Result<(), String> {
    let rows: BTreeMap<_, _> = sizes
        .iter()
        .map(|(name, bytes)| {
            let row = Row {
                bytes: Some(*bytes as f64),
                ..Row::default()
            };
            (format!("size-{name}"), row)
        })
        .collect();
    let mut file = File::read()?;
    if accept {
        for (name, row) in &rows {
            file.accept(name, row);
        }
        let order: Vec<_> = counted::all().iter().map(counted::Counter::name).collect();
        file.write(&order)?;
    }
    let found = compare(&file, &rows);
    for hint in &found.hints {
        println!("-- {hint}");
    }
    if found.failures.is_empty() {
        Ok(())
    } else {
        Err(found.failures.join("\n"))
    }
}
