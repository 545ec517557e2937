//! The `schema` command: prints the JSON Schema of a revision.

use clap::Args;
use turnbuckle::Revision;
use turnbuckle_types::base::nearest::did_you_mean;
use turnbuckle_wire::definitions::JsonSchema;

use crate::args::parse_revision;
use crate::error::CliError;
use crate::output::write_stdout;

/// The options of the command.
#[derive(Args)]
pub(crate) struct Options {
    /// The revision
    #[arg(
        long,
        value_name = "REVISION",
        default_value = Revision::NEWEST.as_str(),
        value_parser = parse_revision
    )]
    protocol_version: Revision,

    /// Print only this definition, such as CallToolResult, and those that it refers to
    #[arg(long, value_name = "NAME")]
    definition: Option<String>,
}

/// Runs the command.
pub(crate) fn run(options: &Options) -> Result<(), CliError> {
    let revision = options.protocol_version;
    let mut schema = JsonSchema::for_revision(revision);
    if let Some(name) = &options.definition {
        let hint = did_you_mean(name, schema.definition_names());
        schema = schema.select(name).ok_or_else(|| {
            let hint = hint.map_or_else(String::new, |hint| format!("; {hint}"));
            CliError::usage(format!("{revision} has no definition {name:?}{hint}"))
        })?;
    }
    write_stdout(format!("{schema:#}\n").as_bytes())
}
