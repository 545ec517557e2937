//! Options of a command that are described when the command is used.

use clap::builder::{Resettable, StyledStr};
use clap::{ArgMatches, Args, Command, Error, FromArgMatches, Id};

/// The options of a command. They are described to the parser only when the command is used or its help
/// is shown: to describe those of all commands takes longer than the rest of a start.
pub(crate) struct Deferred<T>(pub(crate) T);

impl<T: Args> Args for Deferred<T> {
    fn group_id() -> Option<Id> {
        T::group_id()
    }

    fn augment_args(command: Command) -> Command {
        command.defer(describe::<T>)
    }

    fn augment_args_for_update(command: Command) -> Command {
        command.defer(T::augment_args_for_update)
    }
}

impl<T: FromArgMatches> FromArgMatches for Deferred<T> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        T::from_arg_matches(matches).map(Self)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        self.0.update_from_arg_matches(matches)
    }
}

/// Describes the options. The command keeps what its help says of it, which would be what the type says.
fn describe<T: Args>(command: Command) -> Command {
    let about: Resettable<StyledStr> = command.get_about().cloned().into();
    let long_about: Resettable<StyledStr> = command.get_long_about().cloned().into();
    T::augment_args(command).about(about).long_about(long_about)
}
