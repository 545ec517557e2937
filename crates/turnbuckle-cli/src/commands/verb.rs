//! The verbs that work at a connection: each of them is a command, and a line of the shell.

use clap::Subcommand;

use super::{TargetArgs, call, complete, info, list, listen, prompt, raw, read, skill, task};
use crate::args::Deferred;
use crate::error::CliError;

/// A verb that works at a connection.
#[derive(Subcommand)]
pub(crate) enum ServerVerb {
    /// Shows who a server is and what it offers
    #[command(override_usage = "\
turnbuckle info <TARGET> [OPTIONS]
       turnbuckle info [OPTIONS] -- <COMMAND>...")]
    Info(Deferred<TargetArgs>),

    /// Lists what a server offers: tools, resources, templates, prompts, or all of them
    #[command(override_usage = "\
turnbuckle list <TARGET> [tools|resources|templates|prompts] [OPTIONS]
       turnbuckle list [tools|resources|templates|prompts] [OPTIONS] -- <COMMAND>...")]
    List(Deferred<list::Options>),

    /// Calls a tool
    #[command(override_usage = "\
turnbuckle call <TARGET> <TOOL> [ARGUMENT]... [OPTIONS]
       turnbuckle call <TOOL> [ARGUMENT]... [OPTIONS] -- <COMMAND>...

Arguments:
  key=value   a value, converted by the tool's schema
  key:=json   a JSON value
  key=@file   the contents of a file, as text
  {...}       all arguments as JSON; @file or - reads them from a file or standard input")]
    Call(Deferred<call::Options>),

    /// Reads a resource
    #[command(override_usage = "\
turnbuckle read <TARGET> <URI> [OPTIONS]
       turnbuckle read <URI> [OPTIONS] -- <COMMAND>...")]
    Read(Deferred<TargetArgs>),

    /// Fills in a prompt
    #[command(override_usage = "\
turnbuckle prompt <TARGET> <NAME> [key=value]... [OPTIONS]
       turnbuckle prompt <NAME> [key=value]... [OPTIONS] -- <COMMAND>...")]
    Prompt(Deferred<TargetArgs>),

    /// Suggests values for an argument of a prompt or a resource template
    #[command(override_usage = "\
turnbuckle complete <TARGET> <PROMPT|TEMPLATE> <ARGUMENT>[=VALUE] [key=value]... [OPTIONS]
       turnbuckle complete <PROMPT|TEMPLATE> <ARGUMENT>[=VALUE] [key=value]... [OPTIONS] -- <COMMAND>...")]
    Complete(Deferred<TargetArgs>),

    /// Prints change notifications of the server
    #[command(override_usage = "\
turnbuckle listen <TARGET> [OPTIONS]
       turnbuckle listen [OPTIONS] -- <COMMAND>...")]
    Listen(Deferred<listen::Options>),

    /// Sends any request and prints its result
    #[command(override_usage = "\
turnbuckle raw <TARGET> <METHOD> [JSON|@FILE|-] [OPTIONS]
       turnbuckle raw <METHOD> [JSON|@FILE|-] [OPTIONS] -- <COMMAND>...")]
    Raw(Deferred<TargetArgs>),

    /// Lists, reads and verifies the skills of a server
    #[command(subcommand)]
    Skill(skill::SkillCommand),

    /// Finds calls that became tasks again: their state, their result, their questions
    #[command(subcommand)]
    Task(task::TaskCommand),
}

impl ServerVerb {
    /// Returns the server and the options that every verb has.
    pub(crate) fn target_args(&mut self) -> &mut TargetArgs {
        match self {
            Self::Info(Deferred(args))
            | Self::Read(Deferred(args))
            | Self::Prompt(Deferred(args))
            | Self::Complete(Deferred(args))
            | Self::Raw(Deferred(args)) => args,
            Self::List(Deferred(options)) => &mut options.target_args,
            Self::Call(Deferred(options)) => &mut options.target_args,
            Self::Listen(Deferred(options)) => &mut options.target_args,
            Self::Skill(command) => command.target_args(),
            Self::Task(command) => command.target_args(),
        }
    }

    pub(crate) async fn run(self) -> Result<(), CliError> {
        match self {
            Self::Info(Deferred(args)) => info::run(args).await,
            Self::List(Deferred(options)) => list::run(options).await,
            Self::Call(Deferred(options)) => call::run(options).await,
            Self::Read(Deferred(args)) => read::run(args).await,
            Self::Prompt(Deferred(args)) => prompt::run(args).await,
            Self::Complete(Deferred(args)) => complete::run(args).await,
            Self::Listen(Deferred(options)) => listen::run(options).await,
            Self::Raw(Deferred(args)) => raw::run(args).await,
            Self::Skill(command) => skill::run(command).await,
            Self::Task(command) => task::run(command).await,
        }
    }
}
