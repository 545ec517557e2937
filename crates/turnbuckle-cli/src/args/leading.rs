//! Options that stand before the verb: `turnbuckle -o json list my-server`.
//!
//! They are moved behind the verb, and so are parsed together with those that stand there: options that
//! can be repeated add up, and options that exclude each other are refused wherever they stand. (clap's
//! `global` would keep one of the two places, and would check each place by itself.)

use std::ffi::OsString;

use clap::builder::Resettable;
use clap::{Arg, ArgAction, Args as _, Command, Id, value_parser};

use super::CommonArgs;

/// Returns the words of a command line, which begin with the name of the program, with the options that
/// stand before the name of a subcommand behind it.
///
/// # Errors
/// Fails if these options are unknown or lack their values.
pub(crate) fn move_options_behind_verb(
    cli: &Command,
    words: Vec<OsString>,
) -> Result<Vec<OsString>, clap::Error> {
    let mut words = words.into_iter();
    let mut moved: Vec<OsString> = words.next().into_iter().collect();
    let mut rest: Vec<OsString> = words.collect();
    let mut options = Vec::new();
    let mut command = cli;
    while command.has_subcommands() && !uses_own_options(command, &rest) {
        let Some(verb_at) = find_verb(&rest)? else {
            // The parser shows the help, and which verbs there are.
            rest.retain(|word| HELP_WORDS.iter().any(|help| word == help));
            options.clear();
            break;
        };
        options.extend(rest.drain(..verb_at));
        moved.push(rest.remove(0));
        let verb = moved.last().and_then(|verb| verb.to_str());
        match verb.and_then(|verb| command.find_subcommand(verb)) {
            Some(subcommand) => command = subcommand,
            // The parser reports the unknown verb.
            None => break,
        }
    }
    moved.append(&mut options);
    moved.append(&mut rest);
    Ok(moved)
}

/// Returns whether the words are the options of the command itself, which it takes instead of a subcommand.
fn uses_own_options(command: &Command, words: &[OsString]) -> bool {
    let name = words.first().and_then(|word| word.to_str());
    let subcommand = name.and_then(|name| command.find_subcommand(name));
    command.is_args_conflicts_with_subcommands_set() && subcommand.is_none()
}

/// The words that ask for the help or the version.
const HELP_WORDS: [&str; 4] = ["-h", "--help", "-V", "--version"];

/// Returns the position of the first word that is neither an option nor its value; `None` without such
/// a word, or if the options before it ask for the help or the version.
fn find_verb(words: &[OsString]) -> Result<Option<usize>, clap::Error> {
    let is_word = |word: &OsString| !word.as_encoded_bytes().starts_with(b"-");
    if words.first().is_some_and(is_word) {
        return Ok(Some(0));
    }
    let flag = |name, short, long| {
        let flag = Arg::new(name).short(short).long(long);
        flag.action(ArgAction::SetTrue)
    };
    // Values and combinations are checked later, together with the options behind the verb.
    let parser = CommonArgs::augment_args(Command::new("turnbuckle"))
        .mut_args(|option| {
            let option = option
                .requires(Resettable::<Id>::Reset)
                .conflicts_with(Resettable::<Id>::Reset);
            match option.get_action().takes_values() {
                true => option.value_parser(value_parser!(OsString)),
                false => option,
            }
        })
        .arg(flag("help", 'h', "help"))
        .arg(flag("version", 'V', "version"))
        .disable_help_flag(true)
        .no_binary_name(true)
        .allow_external_subcommands(true)
        .override_usage("turnbuckle [OPTIONS] <COMMAND>");
    let found = parser.try_get_matches_from(words)?;
    if found.get_flag("help") || found.get_flag("version") {
        return Ok(None);
    }
    let behind = found.subcommand().map(|(_, behind)| {
        let behind = behind.get_many::<OsString>("");
        behind.map_or(0, |behind| behind.count())
    });
    Ok(behind.map(|behind| words.len() - behind - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reorder(words: &str) -> Result<String, clap::Error> {
        let verb = |name| Command::new(name);
        let cli = Command::new("turnbuckle")
            .subcommand(verb("call"))
            .subcommand(verb("auth").subcommand(verb("status")))
            .subcommand(
                verb("gateway")
                    .args_conflicts_with_subcommands(true)
                    .subcommand(verb("check")),
            );
        let words = words.split(' ').map(OsString::from).collect();
        let moved = move_options_behind_verb(&cli, words)?;
        let moved: Vec<_> = moved.iter().map(|word| word.to_string_lossy()).collect();
        Ok(moved.join(" "))
    }

    #[test]
    fn options_before_the_verb_are_moved_behind_it_and_nothing_else_is() {
        for (words, expected) in [
            ("t call a -q -- b -v", "t call a -q -- b -v"),
            ("t -o json call a -q", "t call -o json a -q"),
            (
                "t -qojson -H a:b call -H c:d x",
                "t call -qojson -H a:b -H c:d x",
            ),
            ("t --config=call call call", "t call --config=call call"),
            ("t -s call call x", "t call -s call x"),
            ("t -q auth -v status x", "t auth status -q -v x"),
            ("t gateway -f x", "t gateway -f x"),
            ("t gateway --port 1 --help", "t gateway --port 1 --help"),
            ("t -q gateway check x", "t gateway check -q x"),
            // Checked later, together with `--trace`.
            (
                "t --trace-secrets --timeout x call --trace a",
                "t call --trace-secrets --timeout x --trace a",
            ),
            ("t -q --help", "t --help"),
            ("t -q -V call", "t -V"),
            ("t -q", "t"),
            ("t", "t"),
            ("t -q nonsense -o json", "t nonsense -q -o json"),
        ] {
            assert_eq!(reorder(words).unwrap(), expected, "{words}");
        }
        for words in ["t --nonsense call", "t call -o", "t -o"] {
            assert_eq!(reorder(words).is_err(), words != "t call -o", "{words}");
        }
    }
}
