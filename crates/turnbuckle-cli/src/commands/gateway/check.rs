//! `gateway check`: what each upstream of a gateway offers, and to whom.

use serde::Serialize;
use turnbuckle_gateway::{Gateway, OfferedItem, UpstreamOffer};

use crate::args::{Format, OutputArgs};
use crate::error::{CliError, ExitStatus};
use crate::output::{Console, Style, sanitize_line};

/// The most characters of a name, a URI or a reason that are shown.
const MAX_SHOWN_CHARS: usize = 300;

/// An upstream as JSON.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CheckedUpstream<'a> {
    name: &'a str,
    is_ready: bool,
    status: String,
    tools: Vec<CheckedItem<'a>>,
    prompts: Vec<CheckedItem<'a>>,
    resources: Vec<CheckedItem<'a>>,
    resource_templates: Vec<CheckedItem<'a>>,
    unused_rules: &'a [String],
    left_out: &'a [String],
}

/// An item as JSON.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CheckedItem<'a> {
    name: &'a str,
    own_name: &'a str,
    scopes: &'a [String],
}

impl<'a> From<&'a UpstreamOffer> for CheckedUpstream<'a> {
    fn from(offer: &'a UpstreamOffer) -> Self {
        let items = |items: &'a [OfferedItem]| {
            let items = items.iter().map(|item| CheckedItem {
                name: &item.name,
                own_name: &item.own_name,
                scopes: &item.scopes,
            });
            items.collect()
        };
        Self {
            name: &offer.status.server,
            is_ready: offer.status.is_ready(),
            status: offer.status.to_string(),
            tools: items(&offer.tools),
            prompts: items(&offer.prompts),
            resources: items(&offer.resources),
            resource_templates: items(&offer.resource_templates),
            unused_rules: &offer.unused_rules,
            left_out: &offer.left_out,
        }
    }
}

/// Prints what each upstream offers.
///
/// # Errors
/// Fails if an upstream is not connected, so that its offer is not known, or a rule has no effect.
pub(super) fn print(gateway: &Gateway, output: &OutputArgs) -> Result<(), CliError> {
    let console = Console::new(output);
    let offers = gateway.offers();
    let checked: Vec<CheckedUpstream<'_>> = offers.iter().map(Into::into).collect();
    match console.args.output {
        Format::Json => console.print_json(&serde_json::to_string(&checked)?)?,
        Format::Ndjson => {
            for upstream in &checked {
                console.print_json(&serde_json::to_string(upstream)?)?;
            }
        }
        Format::Text => {
            for upstream in &checked {
                print_text(&console, upstream)?;
            }
        }
    }
    let is_down = |it: &&CheckedUpstream<'_>| !it.is_ready;
    if let Some(upstream) = checked.iter().find(is_down) {
        let error = CliError::new(format!(
            "what {:?} offers is not known: it is not connected",
            upstream.name
        ));
        return Err(error.status(ExitStatus::Incomplete));
    }
    let unused = checked
        .iter()
        .find_map(|it| Some((it.name, it.unused_rules.first()?)));
    match unused {
        Some((name, rule)) => Err(CliError::new(format!(
            "a rule of {name:?} has no effect: {rule}"
        ))),
        None => Ok(()),
    }
}

fn print_text(console: &Console, upstream: &CheckedUpstream<'_>) -> Result<(), CliError> {
    let shown = |text: &str| sanitize_line(text, MAX_SHOWN_CHARS);
    console.print(&console.style(Style::Heading, &shown(&upstream.status)))?;
    for (kind, items) in [
        ("tools", &upstream.tools),
        ("prompts", &upstream.prompts),
        ("resources", &upstream.resources),
        ("resource templates", &upstream.resource_templates),
    ] {
        if items.is_empty() {
            continue;
        }
        console.print(&format!("  {kind} ({})", items.len()))?;
        for item in items {
            let name = console.style(Style::Strong, &shown(item.name));
            let whom = match item.scopes {
                [] => "for everybody".to_owned(),
                scopes => format!("with the scopes {}", scopes.join(" ")),
            };
            let about = format!("is {}, {whom}", item.own_name);
            let about = console.style(Style::Dim, &shown(&about));
            console.print(&format!("    {name}  {about}"))?;
        }
    }
    for line in upstream.unused_rules.iter().chain(upstream.left_out) {
        console.print(&console.style(Style::Warning, &format!("  {}", shown(line))))?;
    }
    Ok(())
}
