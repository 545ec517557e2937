//! The verbs that work at a connection: each of them is a command, and a line of the shell.

use clap::Subcommand;

use super::{TargetArgs, call, complete, info, list, listen, prompt, raw, read, skill, task};
use crate::error::CliError;

/// A verb that works at a connection.
#[derive(Subcommand)]
pub(crate) enum ServerVerb {
    /// Shows who a server is and what it offers
    #[command(override_usage = "\
turnbuckle info <TARGET> [OPTIONS]
       turnbuckle info [OPTIONS] -- <COMMAND>...")]
    Info(TargetArgs),

    /// Lists what a server offers: tools, resources, templates, prompts, or all of them
    #[command(override_usage = "\
turnbuckle list <TARGET> [tools|resources|templates|prompts] [OPTIONS]
       turnbuckle list [tools|resources|templates|prompts] [OPTIONS] -- <COMMAND>...")]
    List(list::Options),

    /// Calls a tool
    #[command(override_usage = "\
turnbuckle call <TARGET> <TOOL> [ARGUMENT]... [OPTIONS]
       turnbuckle call <TOOL> [ARGUMENT]... [OPTIONS] -- <COMMAND>...

Arguments:
  key=value   a value, converted by the tool's schema
  key:=json   a JSON value
  key=@file   the contents of a file, as text
  {...}       all arguments as JSON; @file or - reads them from a file or standard input")]
    Call(call::Options),

    /// Reads a resource
    #[command(override_usage = "\
turnbuckle read <TARGET> <URI> [OPTIONS]
       turnbuckle read <URI> [OPTIONS] -- <COMMAND>...")]
    Read(TargetArgs),

    /// Fills in a prompt
    #[command(override_usage = "\
turnbuckle prompt <TARGET> <NAME> [key=value]... [OPTIONS]
       turnbuckle prompt <NAME> [key=value]... [OPTIONS] -- <COMMAND>...")]
    Prompt(TargetArgs),

    /// Suggests values for an argument of a prompt or a resource template
    #[command(override_usage = "\
turnbuckle complete <TARGET> <PROMPT|TEMPLATE> <ARGUMENT>[=VALUE] [key=value]... [OPTIONS]
       turnbuckle complete <PROMPT|TEMPLATE> <ARGUMENT>[=VALUE] [key=value]... [OPTIONS] -- <COMMAND>...")]
    Complete(TargetArgs),

    /// Prints change notifications of the server
    #[command(override_usage = "\
turnbuckle listen <TARGET> [OPTIONS]
       turnbuckle listen [OPTIONS] -- <COMMAND>...")]
    Listen(listen::Options),

    /// Sends any request and prints its result
    #[command(override_usage = "\
turnbuckle raw <TARGET> <METHOD> [JSON|@FILE|-] [OPTIONS]
       turnbuckle raw <METHOD> [JSON|@FILE|-] [OPTIONS] -- <COMMAND>...")]
    Raw(TargetArgs),

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
            Self::Info(args)
            | Self::Read(args)
            | Self::Prompt(args)
            | Self::Complete(args)
            | Self::Raw(args) => args,
            Self::List(options) => &mut options.target_args,
            Self::Call(options) => &mut options.target_args,
            Self::Listen(options) => &mut options.target_args,
            Self::Skill(command) => command.target_args(),
            Self::Task(command) => command.target_args(),
        }
    }

    pub(crate) async fn run(self) -> Result<(), CliError> {
        match self {
            Self::Info(args) => info::run(args).await,
            Self::List(options) => list::run(options).await,
            Self::Call(options) => call::run(options).await,
            Self::Read(args) => read::run(args).await,
            Self::Prompt(args) => prompt::run(args).await,
            Self::Complete(args) => complete::run(args).await,
            Self::Listen(options) => listen::run(options).await,
            Self::Raw(args) => raw::run(args).await,
            Self::Skill(command) => skill::run(command).await,
            Self::Task(command) => task::run(command).await,
        }
    }
}
