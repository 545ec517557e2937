//! The `skill read` command.

use clap::Args;
use serde::Serialize;
use turnbuckle::skills::SKILL_FILE;
use turnbuckle::skills::client::SkillFile;
use turnbuckle::types::ResourceContents;

use super::reader::skill_reader;
use crate::commands::TargetArgs;
use crate::connection::with_server;
use crate::error::CliError;
use crate::output::render_contents;

/// Options of `skill read`.
#[derive(Args)]
pub(crate) struct Options {
    /// Read a skill of which nothing but the frontmatter can be verified
    #[arg(long)]
    allow_dynamic: bool,

    #[command(flatten)]
    pub(super) target_args: TargetArgs,
}

/// The file for JSON output, as `resources/read` returns it.
#[derive(Serialize)]
struct ContentsJson<'a> {
    contents: &'a [ResourceContents],
}

pub(super) async fn run(mut options: Options) -> Result<(), CliError> {
    let (server, mut words) = options.target_args.server()?;
    let uri = words.require("the URI of the skill's SKILL.md")?;
    let path = words.next().unwrap_or_else(|| SKILL_FILE.to_owned());
    words.expect_end()?;
    let common = &options.target_args.common;
    with_server(common, server, async |connection| {
        let reader = skill_reader(connection, common).allow_dynamic(options.allow_dynamic);
        let skill = reader.load_at(&uri).await?;
        let file = match path == SKILL_FILE {
            true => skill.file().clone(),
            false => skill.read(&path).await?,
        };
        let contents = [contents_of(&file)];
        let console = &connection.console;
        if console.is_text() {
            return console.print(&render_contents(console, &contents)?);
        }
        if console.args.out.is_some() {
            render_contents(console, &contents)?;
        }
        let contents = &contents;
        console.print_json(&serde_json::to_string(&ContentsJson { contents })?)
    })
    .await
}

/// Returns a file as the contents of a resource.
fn contents_of(file: &SkillFile) -> ResourceContents {
    let contents = match file.text() {
        Some(text) => ResourceContents::text(file.uri(), text),
        None => ResourceContents::blob(file.uri(), file.bytes()),
    };
    let mime_type = file.mime_type().map(str::to_owned);
    match contents {
        ResourceContents::Text(mut text) => {
            text.mime_type = mime_type;
            text.into()
        }
        ResourceContents::Blob(mut blob) => {
            blob.mime_type = mime_type;
            blob.into()
        }
        other => other,
    }
}
