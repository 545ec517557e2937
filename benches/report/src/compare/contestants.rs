//! The servers that are compared: floors, ours, and the servers of other SDKs. All have the same tool.

use super::plan::Dialect::{self, Bare, Modern, Session};
use crate::result::Result;

/// A server in one way of being started and asked.
#[derive(Debug, Clone, Copy)]
pub(super) struct Contestant {
    /// The name for `--only`.
    pub(super) name: &'static str,
    /// The name in the tables.
    pub(super) title: &'static str,
    pub(super) program: Program,
    pub(super) arguments: &'static [&'static str],
    pub(super) dialect: Dialect,
    pub(super) binding: Binding,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Binding {
    Http,
    Stdio,
}

/// A program, by the name of its binary where it is one of several.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Program {
    Floor(&'static str),
    Ours(&'static str),
    Rmcp(&'static str),
    Node,
    Python,
}

impl Program {
    /// Returns whether the bench cannot do without it.
    pub(super) fn is_own(self) -> bool {
        matches!(self, Self::Floor(_) | Self::Ours(_))
    }
}

impl Contestant {
    /// Returns what it is compared with: the floor of its binding that reads the same message.
    pub(super) fn floor(&self) -> &'static str {
        match (self.binding, self.dialect) {
            (Binding::Http, Bare | Session) => "floor-hyper",
            (Binding::Http, Modern) => "floor-hyper-modern",
            (Binding::Stdio, Bare | Session) => "floor-lines",
            (Binding::Stdio, Modern) => "floor-lines-modern",
        }
    }

    /// Returns whether it answers without reading what it is asked: it shows how fast the driver can be.
    pub(super) fn is_ceiling(&self) -> bool {
        self.name.starts_with("ceiling")
    }

    /// Returns whether its start is measured: on pipes, where the first answer needs no port to be told.
    pub(super) fn starts(&self) -> bool {
        let is_variant = self.dialect == Modern || self.arguments.contains(&"batched");
        self.binding == Binding::Stdio && !is_variant && !self.is_ceiling()
    }

    /// Returns whether its idle sessions are weighed.
    pub(super) fn has_sessions(&self) -> bool {
        self.binding == Binding::Http && self.dialect == Session
    }
}

/// Each row: its name, title, program with arguments, and dialect.
type Row = (
    &'static str,
    &'static str,
    Program,
    &'static [&'static str],
    Dialect,
);

#[rustfmt::skip] // A line each: it is a table.
const HTTP: &[Row] = &[
    ("ceiling-http", "the driver's ceiling", Program::Floor("responder"), &["http"], Bare),
    ("floor-hyper", "floor: bare hyper", Program::Floor("floor-hyper"), &[], Bare),
    ("floor-hyper-modern", "floor: bare hyper, message of 2026-07-28", Program::Floor("floor-hyper"), &[], Modern),
    ("floor-axum", "floor: axum", Program::Floor("floor-axum"), &[], Bare),
    ("ours-http-modern", "**turnbuckle**, 2026-07-28", Program::Ours("echo-http"), &[], Modern),
    ("ours-http-stateless", "**turnbuckle**, 2025, no session", Program::Ours("echo-http"), &["stateless"], Bare),
    ("ours-http-session", "**turnbuckle**, 2025, session", Program::Ours("echo-http"), &[], Session),
    ("ours-http-hundred", "**turnbuckle**, 2026-07-28, 100 tools", Program::Ours("echo-http"), &["99"], Modern),
    ("rmcp-http-modern", "rmcp README, 2026-07-28", Program::Rmcp("readme-http"), &[], Modern),
    ("rmcp-http-session", "rmcp README, 2025, session", Program::Rmcp("readme-http"), &[], Session),
    ("rmcp-http-hundred", "rmcp README, 2026-07-28, 100 tools", Program::Rmcp("hundred"), &["http"], Modern),
    ("rmcp-tuned-http-modern", "rmcp tuned, 2026-07-28", Program::Rmcp("tuned"), &["http"], Modern),
    ("rmcp-tuned-http-stateless", "rmcp tuned, 2025, no session", Program::Rmcp("tuned"), &["http"], Bare),
    ("rmcp-tuned-http-session", "rmcp tuned, 2025, session", Program::Rmcp("tuned"), &["http-session"], Session),
    ("typescript-http-modern", "TypeScript, 2026-07-28", Program::Node, &["http"], Modern),
    ("typescript-http-stateless", "TypeScript, 2025, no session", Program::Node, &["http"], Bare),
    ("typescript-http-session", "TypeScript, 2025, session", Program::Node, &["session"], Session),
    ("python-http-modern", "Python tuned, 2026-07-28", Program::Python, &["tuned"], Modern),
    ("python-http-stateless", "Python tuned, 2025, no session", Program::Python, &["tuned"], Bare),
    ("python-http-session", "Python README, 2025, session", Program::Python, &["http"], Session),
];

#[rustfmt::skip] // A line each: it is a table.
const STDIO: &[Row] = &[
    ("ceiling-lines", "the driver's ceiling", Program::Floor("responder"), &["lines"], Bare),
    ("floor-lines", "floor: a loop over lines", Program::Floor("floor-lines"), &[], Bare),
    ("floor-lines-modern", "floor: a loop over lines, message of 2026-07-28", Program::Floor("floor-lines"), &[], Modern),
    ("floor-lines-batched", "floor: the same, writing once for what came together", Program::Floor("floor-lines"), &["batched"], Bare),
    ("ours-stdio", "**turnbuckle**, 2025", Program::Ours("echo-stdio"), &[], Session),
    ("ours-stdio-modern", "**turnbuckle**, 2026-07-28", Program::Ours("echo-stdio"), &[], Modern),
    ("ours-stdio-thousand", "**turnbuckle**, 2025, 1,000 tools", Program::Ours("echo-stdio"), &["999"], Session),
    ("rmcp-stdio", "rmcp README, 2025", Program::Rmcp("readme-stdio"), &[], Session),
    ("rmcp-stdio-hundred", "rmcp README, 2025, 100 tools", Program::Rmcp("hundred"), &["stdio"], Session),
    ("rmcp-tuned-stdio", "rmcp tuned, 2025", Program::Rmcp("tuned"), &["stdio"], Session),
    ("rmcp-tuned-stdio-modern", "rmcp tuned, 2026-07-28", Program::Rmcp("tuned"), &["stdio"], Modern),
    ("typescript-stdio", "TypeScript, 2025", Program::Node, &["stdio"], Session),
    ("python-stdio", "Python, 2025", Program::Python, &["stdio"], Session),
];

/// Returns those whose names begin with one of `only`, and the floors of these; all without.
pub(super) fn select(only: &[String]) -> Result<Vec<Contestant>> {
    let all = all();
    let meant = |name: &str| only.iter().any(|only| name.starts_with(only.as_str()));
    for only in only {
        if !all.iter().any(|one| one.name.starts_with(only.as_str())) {
            let names: Vec<_> = all.iter().map(|one| one.name).collect();
            return Err(format!("no {only}; there are: {}", names.join(", ")).into());
        }
    }
    let floors: Vec<_> = all
        .iter()
        .filter(|one| meant(one.name))
        .map(Contestant::floor)
        .collect();
    let selected = all
        .into_iter()
        .filter(|one| only.is_empty() || meant(one.name) || floors.contains(&one.name));
    Ok(selected.collect())
}

fn all() -> Vec<Contestant> {
    let http = HTTP.iter().map(|row| (Binding::Http, row));
    let all = http.chain(STDIO.iter().map(|row| (Binding::Stdio, row)));
    let contestants =
        all.map(
            |(binding, &(name, title, program, arguments, dialect))| Contestant {
                name,
                title,
                program,
                arguments,
                dialect,
                binding,
            },
        );
    contestants.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_selects_all_contestants_that_begin_with_it_and_their_floors() {
        let names = |only: &str| -> Result<Vec<_>> {
            let selected = select(&[only.to_owned()])?;
            Ok(selected.iter().map(|one| one.name).collect())
        };
        assert_eq!(names("floor-axum").unwrap(), ["floor-hyper", "floor-axum"]);
        assert_eq!(names("ours-stdio").unwrap().len(), 5);
        assert!(names("theirs").is_err());
        let all = select(&[]).unwrap();
        assert_eq!(all.len(), HTTP.len() + STDIO.len());
        for one in &all {
            assert!(all.iter().any(|floor| floor.name == one.floor()));
            assert_eq!(all.iter().filter(|other| other.name == one.name).count(), 1);
        }
    }
}
