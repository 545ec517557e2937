//! The `skill list` command.

use serde::Serialize;
use turnbuckle::skills::Skill;

use super::reader::skill_reader;
use crate::args::Format;
use crate::commands::TargetArgs;
use crate::connection::with_server;
use crate::error::CliError;
use crate::output::{Console, Style, format_bytes, sanitize_line};

/// The list for JSON output.
#[derive(Serialize)]
struct SkillsJson<'a> {
    skills: &'a [Skill],
}

pub(super) async fn run(mut args: TargetArgs) -> Result<(), CliError> {
    let (server, words) = args.server()?;
    words.expect_end()?;
    with_server(&args.common, server, async |connection| {
        let console = &connection.console;
        let reader = skill_reader(connection, &args.common);
        let listing = reader.list().fetch_all().await?;
        for rejected in &listing.rejected {
            let uri = rejected.uri.as_deref().unwrap_or("without a URI");
            console.print_warning(&format!(
                "the skill {} is left out: {}",
                sanitize_line(uri, 200),
                sanitize_line(&rejected.reason.to_string(), 400)
            ));
        }
        match console.args.output {
            Format::Json => {
                let skills = &listing.skills;
                console.print_json(&serde_json::to_string(&SkillsJson { skills })?)?;
            }
            Format::Ndjson => {
                for skill in listing.iter() {
                    console.print_json(&serde_json::to_string(skill)?)?;
                }
            }
            Format::Text => {
                if listing.is_empty() {
                    console.print_note("none; a server may serve skills that it does not list");
                }
                for skill in listing.iter() {
                    console.print(&render(console, skill))?;
                }
            }
        }
        for collision in listing.name_collisions(reader.server()) {
            console.print_note(&format!(
                "{} skills have the name {}: their URIs tell them apart",
                collision.origins.len(),
                collision.name
            ));
        }
        Ok(())
    })
    .await
}

/// Returns the name, URI, description and size of a skill.
fn render(console: &Console, skill: &Skill) -> String {
    let name = console.style(Style::Strong, &sanitize_line(skill.name(), 64));
    let size = match (skill.files(), skill.total_bytes()) {
        (Some(files), Some(bytes)) => format!("{} files, {}", files.len(), format_bytes(bytes)),
        _ => "dynamic: it cannot be verified".to_owned(),
    };
    let room = console.width.saturating_sub(4).max(40);
    let most = if console.args.verbose { 2000 } else { room };
    let description = sanitize_line(skill.description(), most);
    let uri = sanitize_line(skill.uri().as_str(), 500);
    format!(
        "{name}  {uri}\n    {}\n    {}",
        console.style(Style::Dim, &description),
        console.style(Style::Dim, &size)
    )
}
