//! The `list` command: lists tools, resources, templates and prompts over all pages.

use clap::Args;
use serde::Serialize;
use serde_json::Value;
use turnbuckle::client::{List, ListMethod};
use turnbuckle::types::{Json, Map, Prompt, Resource, ResourceTemplate, Tool};

use super::TargetArgs;
use crate::args::Format;
use crate::arguments::signature;
use crate::connection::{ServerConnection, with_server};
use crate::error::CliError;
use crate::output::{Console, Style, format_bytes, pretty, sanitize_line};
use turnbuckle_types::base::nearest::did_you_mean;

/// Options of `list`.
#[derive(Args)]
pub(crate) struct Options {
    /// Show the schemas of tools
    #[arg(long)]
    schema: bool,

    #[command(flatten)]
    pub(crate) target_args: TargetArgs,
}

/// The names of the lists that servers offer.
const LISTS: [&str; 4] = ["tools", "resources", "templates", "prompts"];

pub(crate) async fn run(mut options: Options) -> Result<(), CliError> {
    let (server, mut words) = options.target_args.server()?;
    let only = words.next();
    words.expect_end()?;
    if let Some(word) = only.as_deref().filter(|word| !LISTS.contains(word)) {
        let names = format!("the lists are {}", LISTS.join(", "));
        return Err(CliError::usage(format!("{word:?} cannot be listed"))
            .hint(did_you_mean(word, LISTS).unwrap_or(names)));
    }
    with_server(&options.target_args.common, server, async |connection| {
        let mut lists = ListPrinter {
            connection,
            only: only.as_deref(),
            json_lists: Map::new(),
            list_count: 0,
        };
        let (client, console) = (&connection.client, &connection.console);
        let declared = &connection.server.capabilities;
        let show = |tool: &Tool| render_tool(console, tool, options.schema);
        lists
            .print(
                "tools",
                "Tools",
                declared.tools.is_some(),
                client.list_tools(),
                show,
            )
            .await?;
        let (has_resources, list) = (declared.resources.is_some(), client.list_resources());
        let show = |resource: &Resource| render_resource(console, resource);
        lists
            .print("resources", "Resources", has_resources, list, show)
            .await?;
        let list = client.list_resource_templates();
        let show = |template: &ResourceTemplate| render_template(console, template);
        lists
            .print("templates", "Resource templates", has_resources, list, show)
            .await?;
        let (has_prompts, list) = (declared.prompts.is_some(), client.list_prompts());
        let show = |prompt: &Prompt| render_prompt(console, prompt);
        lists
            .print("prompts", "Prompts", has_prompts, list, show)
            .await?;
        lists.finish()
    })
    .await
}

/// Fetches lists and prints them in the chosen format.
struct ListPrinter<'a> {
    connection: &'a ServerConnection,
    /// The only list, if the user names one.
    only: Option<&'a str>,
    /// The lists for JSON output, by the member names of the specification.
    json_lists: Map<Json>,
    list_count: usize,
}

impl ListPrinter<'_> {
    /// Prints a list that the user names, or that the server declares if the user names none.
    async fn print<M: ListMethod>(
        &mut self,
        name: &str,
        title: &str,
        is_declared: bool,
        mut list: List<M>,
        show: impl Fn(&M::Item) -> String,
    ) -> Result<(), CliError>
    where
        M::Item: Serialize,
    {
        if !self.only.map_or(is_declared, |only| only == name) {
            return Ok(());
        }
        let console = &self.connection.console;
        match console.args.output {
            Format::Ndjson => {
                while let Some(item) = list.next().await {
                    let json = serde_json::to_string(&item?)?;
                    console.print_json(&json)?;
                }
            }
            Format::Json => {
                let items = list.fetch_all().await?;
                let items = Json::encode(&items)?;
                let member = match name {
                    "templates" => "resourceTemplates",
                    name => name,
                };
                self.json_lists.insert(member, items);
            }
            Format::Text => {
                let items = list.fetch_all().await?;
                let blank = if self.list_count > 0 { "\n" } else { "" };
                if self.only.is_none() {
                    let head = console.style(Style::Heading, title);
                    console.print(&format!("{blank}{head} ({})\n", items.len()))?;
                } else if items.is_empty() {
                    console.print_note("none");
                }
                for item in &items {
                    console.print(&show(item))?;
                }
            }
        }
        self.list_count += 1;
        Ok(())
    }

    fn finish(self) -> Result<(), CliError> {
        let console = &self.connection.console;
        match console.args.output {
            Format::Json => {
                let json = serde_json::to_string(&self.json_lists)?;
                console.print_json(&json)
            }
            _ if self.list_count == 0 => {
                console.print_note("the server offers no tools, resources or prompts");
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

/// Returns a name, and its title if that is different.
fn title_line(console: &Console, name: &str, title: Option<&str>) -> String {
    let shown = console.style(Style::Strong, &sanitize_line(name, 500));
    match title.filter(|title| *title != name) {
        Some(title) => format!("{shown}  {}", sanitize_line(title, 80)),
        None => shown,
    }
}

fn append_description(console: &Console, mut head: String, description: Option<&str>) -> String {
    if let Some(description) = description {
        let room = console.width.saturating_sub(4).max(40);
        let most = if console.args.verbose { 2000 } else { room };
        head += &format!(
            "\n    {}",
            console.style(Style::Dim, &sanitize_line(description, most))
        );
    }
    head
}

fn render_tool(console: &Console, tool: &Tool, schema: bool) -> String {
    let input: Value = serde_json::from_str(tool.input_schema.as_str()).unwrap_or_default();
    let mut head = console.style(Style::Strong, &sanitize_line(&tool.name, 128));
    head += &format!(
        "({})",
        sanitize_line(
            &match signature(&input) {
                none if none == "no arguments" => String::new(),
                some => some,
            },
            400
        )
    );
    if let Some(hints) = &tool.annotations {
        if hints.read_only_hint == Some(true) {
            head += &console.style(Style::Good, "  read-only");
        } else if hints.destructive_hint == Some(true) {
            head += &console.style(Style::Warning, "  destructive");
        }
    }
    let about = tool.description.as_deref().or(tool.title.as_deref());
    let mut shown = append_description(console, head, about);
    if schema {
        let indented = |json: &str| pretty(json).replace('\n', "\n    ");
        shown += &format!("\n    input {}", indented(tool.input_schema.as_str()));
        if let Some(output) = &tool.output_schema {
            shown += &format!("\n    output {}", indented(output.as_str()));
        }
    }
    shown
}

fn render_resource(console: &Console, resource: &Resource) -> String {
    let title = resource.title.as_deref().unwrap_or(&resource.name);
    let mut head = title_line(console, &resource.uri, Some(title));
    let mut facts: Vec<String> = Vec::new();
    facts.extend(
        resource
            .mime_type
            .as_deref()
            .map(|mime| sanitize_line(mime, 80)),
    );
    facts.extend(
        resource
            .size
            .as_ref()
            .and_then(|bytes| bytes.as_u64())
            .map(format_bytes),
    );
    if !facts.is_empty() {
        head += &format!("  {}", console.style(Style::Dim, &facts.join(", ")));
    }
    append_description(console, head, resource.description.as_deref())
}

fn render_template(console: &Console, template: &ResourceTemplate) -> String {
    let title = template.title.as_deref().unwrap_or(&template.name);
    let mut head = title_line(console, &template.uri_template, Some(title));
    if let Some(mime) = &template.mime_type {
        head += &format!("  {}", console.style(Style::Dim, &sanitize_line(mime, 80)));
    }
    append_description(console, head, template.description.as_deref())
}

fn render_prompt(console: &Console, prompt: &Prompt) -> String {
    let arguments = prompt.arguments.iter().flatten().map(|argument| {
        let optional = if argument.required == Some(true) {
            ""
        } else {
            "?"
        };
        format!("{}{optional}", sanitize_line(&argument.name, 80))
    });
    let arguments = arguments.collect::<Vec<_>>().join(", ");
    let head = format!(
        "{}({arguments})",
        console.style(Style::Strong, &sanitize_line(&prompt.name, 128))
    );
    let about = prompt.description.as_deref().or(prompt.title.as_deref());
    append_description(console, head, about)
}
