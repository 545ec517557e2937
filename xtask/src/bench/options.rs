//! What the command line says.

use super::plan::Time;

/// How much is measured, of whom, and where the tables go.
#[derive(Debug, PartialEq)]
pub(super) struct Options {
    pub(super) rounds: usize,
    /// Beginnings of names; empty for all.
    pub(super) only: Vec<String>,
    pub(super) quick: bool,
    /// Whether the tables are put into the document.
    pub(super) write: bool,
    /// Whether anything is measured; without, only what is derived from other files is written.
    pub(super) measure: bool,
}

const USAGE: &str = "cargo xtask bench [--rounds N] [--only NAME…] [--quick] [--write]\n\
                     cargo xtask bench --budget";

impl Options {
    pub(super) fn parse(arguments: &[String]) -> Result<Self, String> {
        let mut options = Self {
            rounds: 0,
            only: Vec::new(),
            quick: false,
            write: false,
            measure: true,
        };
        let mut words = arguments.iter().map(String::as_str).peekable();
        while let Some(word) = words.next() {
            match word {
                "--rounds" => {
                    let rounds = words.next().and_then(|rounds| rounds.parse().ok());
                    options.rounds = rounds.filter(|rounds| *rounds > 0).ok_or(USAGE)?;
                }
                "--only" => {
                    while let Some(name) = words.next_if(|word| !word.starts_with('-')) {
                        options.only.push(name.to_owned());
                    }
                    if options.only.is_empty() {
                        return Err(USAGE.to_owned());
                    }
                }
                "--quick" => options.quick = true,
                "--write" => options.write = true,
                "--budget" => options.measure = false,
                _ => return Err(USAGE.to_owned()),
            }
        }
        if options.rounds == 0 {
            options.rounds = if options.quick { 2 } else { 7 };
        }
        if options.write && !options.only.is_empty() {
            return Err("--write is for whole tables, not for --only some".to_owned());
        }
        Ok(options)
    }

    /// How long a slice takes.
    pub(super) fn time(&self) -> Time {
        match self.quick {
            true => Time {
                warm_ms: 50,
                measured_ms: 150,
            },
            false => Time {
                warm_ms: 200,
                measured_ms: 700,
            },
        }
    }

    /// How many times a program is started in a round.
    pub(super) fn starts(&self) -> usize {
        if self.quick { 1 } else { 5 }
    }

    /// How many sessions are opened.
    pub(super) fn sessions(&self) -> usize {
        if self.quick { 200 } else { 1000 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Options, String> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        Options::parse(&words)
    }

    #[test]
    fn rounds_are_few_when_it_shall_be_quick_unless_told() {
        assert_eq!(parse("").unwrap().rounds, 7);
        assert_eq!(parse("--quick").unwrap().rounds, 2);
        assert_eq!(parse("--rounds 3 --quick").unwrap().rounds, 3);
        let options = parse("--only ours rmcp-tuned --quick").unwrap();
        assert_eq!(options.only, ["ours", "rmcp-tuned"]);
        assert!(options.quick && options.measure && !options.write);
    }

    #[test]
    fn what_is_not_understood_is_told() {
        for line in [
            "--rounds",
            "--rounds 0",
            "--only",
            "--only --quick",
            "fast",
            "--fast",
        ] {
            assert!(
                parse(line).unwrap_err().starts_with("cargo xtask bench"),
                "{line}"
            );
        }
        assert!(parse("--write --only ours").is_err());
    }
}
