//! The walls of the house: rules about the source that the compiler does not hold.
//!
//! A wall is a name, what to do when it is breached, and a function from the project's files to
//! the breaches. Each stands in a file with its own tests, which show it firing.

mod dates;
mod foreign;
mod graph;
mod hygiene;
mod links;
mod mutations;
mod names;
mod purity;
mod quotes;
mod reexports;
mod security;
mod size;
mod source;

use crate::process;
use crate::tree::Tree;

/// One rule.
struct Wall {
    name: &'static str,
    /// What to do about a breach, in one line.
    advice: &'static str,
    check: fn(&Tree) -> Vec<Breach>,
}

/// One place where a rule is broken.
#[derive(Debug, PartialEq, Eq)]
struct Breach {
    path: String,
    /// Counted from 1; 0 when the breach is the whole file's.
    line: usize,
    what: String,
}

impl Breach {
    /// A breach of a file as a whole.
    fn of(path: &str, what: impl Into<String>) -> Self {
        Self {
            path: path.to_owned(),
            line: 0,
            what: what.into(),
        }
    }

    /// A breach at a byte of a file's text.
    fn at(path: &str, text: &str, offset: usize, what: impl Into<String>) -> Self {
        let line = 1 + text.as_bytes()[..offset]
            .iter()
            .filter(|&&byte| byte == b'\n')
            .count();
        Self {
            path: path.to_owned(),
            line,
            what: what.into(),
        }
    }
}

impl std::fmt::Display for Breach {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.path, self.what),
            line => write!(f, "{}:{line}: {}", self.path, self.what),
        }
    }
}

const WALLS: &[Wall] = &[
    dates::WALL,
    graph::ROOMS,
    graph::THIRD_PARTY,
    purity::WALL,
    reexports::WALL,
    foreign::WALL,
    names::METHODS,
    names::HEADERS,
    size::WALL,
    hygiene::IGNORED,
    hygiene::PLACES,
    hygiene::LINTS,
    links::WALL,
    mutations::WALL,
    quotes::ERRORS,
    quotes::CODE,
    security::WALL,
];

/// `cargo xtask tidy`: every wall, every breach.
pub(crate) fn run(_: &[String]) -> Result<(), String> {
    let report = report(&Tree::read(&process::root())?);
    if report.is_empty() {
        println!("{} walls stand", WALLS.len());
        return Ok(());
    }
    Err(report)
}

/// The breached walls with their breaches as text; empty when all stand.
fn report(tree: &Tree) -> String {
    let mut report = String::new();
    for wall in WALLS {
        let breaches = (wall.check)(tree);
        if !breaches.is_empty() {
            report.push_str(&format!("\n{}: {}\n", wall.name, wall.advice));
        }
        for breach in breaches {
            report.push_str(&format!("  {breach}\n"));
        }
    }
    report
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_walls_stand() {
        let report = report(&Tree::read(&process::root()).unwrap());
        assert!(report.is_empty(), "{report}");
    }

    #[test]
    fn a_report_names_the_wall_the_way_out_and_the_place() {
        let date = concat!("2025", "-06-18");
        let text = format!("\nconst OLD: &str = \"{date}\";\n");
        let report = report(&Tree::of(&[("crates/turnbuckle-http/src/a.rs", &text)]));
        assert!(report.contains(dates::WALL.name), "{report}");
        assert!(report.contains(dates::WALL.advice), "{report}");
        assert!(
            report.contains("crates/turnbuckle-http/src/a.rs:2: "),
            "{report}"
        );
    }
}
