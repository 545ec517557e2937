//! `list`: what the server offers, over all pages.

use clap::Args;
use serde::Serialize;
use serde_json::{Map, Value};
use turnbuckle::client::{List, ListMethod};
use turnbuckle::types::{Prompt, Resource, ResourceTemplate, Tool};

use super::Asked;
use crate::args::Format;
use crate::failure::Failure;
use crate::output::{Ink, Screen, line, pretty, size};
use crate::session::{Session, unwritable, with_server};
use crate::suggest::did_you_mean;
use crate::values::signature;

/// What to list.
#[derive(Args)]
pub(crate) struct Options {
    /// Show the schemas of tools
    #[arg(long)]
    schema: bool,

    #[command(flatten)]
    pub(crate) asked: Asked,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Tools,
    Resources,
    Templates,
    Prompts,
}

const KINDS: [(&str, Kind); 4] = [
    ("tools", Kind::Tools),
    ("resources", Kind::Resources),
    ("templates", Kind::Templates),
    ("prompts", Kind::Prompts),
];

fn kind(word: &str) -> Result<Kind, Failure> {
    let named = KINDS.iter().find(|(name, _)| *name == word);
    named.map(|(_, kind)| *kind).ok_or_else(|| {
        let failure = Failure::usage(format!("{word:?} cannot be listed"));
        let names = || KINDS.map(|(name, _)| name);
        let known = format!("there is {}", names().join(", "));
        failure.hint(did_you_mean(word, names()).unwrap_or(known))
    })
}

pub(crate) async fn run(mut options: Options) -> Result<(), Failure> {
    let (target, mut words) = options.asked.target()?;
    let only = words.next().map(|word| kind(&word)).transpose()?;
    words.end()?;
    with_server(&options.asked.common, target, async |session| {
        let mut lists = Lists {
            session,
            schema: options.schema,
            alone: only.is_some(),
            whole: Map::new(),
            shown: 0,
        };
        for (_, kind) in KINDS {
            if only.unwrap_or(kind) == kind {
                lists.add(kind).await?;
            }
        }
        lists.end()
    })
    .await
}

struct Lists<'a> {
    session: &'a Session,
    schema: bool,
    /// Whether one kind alone was asked for.
    alone: bool,
    /// For JSON: everything under the protocol's names.
    whole: Map<String, Value>,
    shown: usize,
}

impl Lists<'_> {
    async fn add(&mut self, kind: Kind) -> Result<(), Failure> {
        let capabilities = &self.session.server.capabilities;
        let declared = match kind {
            Kind::Tools => capabilities.tools.is_some(),
            Kind::Resources | Kind::Templates => capabilities.resources.is_some(),
            Kind::Prompts => capabilities.prompts.is_some(),
        };
        // What was asked for outright is asked of the server in any case: it may have forgotten to
        // declare it.
        if !declared && !self.alone {
            return Ok(());
        }
        let client = &self.session.client;
        let screen = self.session.screen.clone();
        let schema = self.schema;
        match kind {
            Kind::Tools => {
                let show = |tool: &Tool| shown_tool(&screen, tool, schema);
                self.list("tools", "Tools", client.list_tools(), show).await
            }
            Kind::Resources => {
                let show = |resource: &Resource| shown_resource(&screen, resource);
                self.list("resources", "Resources", client.list_resources(), show)
                    .await
            }
            Kind::Templates => {
                let list = client.list_resource_templates();
                let show = |template: &ResourceTemplate| shown_template(&screen, template);
                self.list("resourceTemplates", "Resource templates", list, show)
                    .await
            }
            Kind::Prompts => {
                let show = |prompt: &Prompt| shown_prompt(&screen, prompt);
                self.list("prompts", "Prompts", client.list_prompts(), show)
                    .await
            }
        }
    }

    async fn list<M: ListMethod>(
        &mut self,
        member: &str,
        title: &str,
        mut list: List<M>,
        show: impl Fn(&M::Item) -> String,
    ) -> Result<(), Failure>
    where
        M::Item: Serialize,
    {
        let screen = &self.session.screen;
        match screen.look.output {
            Format::Ndjson => {
                while let Some(item) = list.next().await {
                    let json = serde_json::to_string(&item?).map_err(unwritable)?;
                    screen.print_json(&json)?;
                }
            }
            Format::Json => {
                let items = list.all().await?;
                let items = serde_json::to_value(items).map_err(unwritable)?;
                self.whole.insert(member.to_owned(), items);
            }
            Format::Text => {
                let items = list.all().await?;
                let blank = if self.shown > 0 { "\n" } else { "" };
                if !self.alone {
                    let head = screen.ink(Ink::Head, title);
                    screen.print(&format!("{blank}{head} ({})\n", items.len()))?;
                } else if items.is_empty() {
                    screen.note("none");
                }
                for item in &items {
                    screen.print(&show(item))?;
                }
            }
        }
        self.shown += 1;
        Ok(())
    }

    fn end(self) -> Result<(), Failure> {
        let screen = &self.session.screen;
        match screen.look.output {
            Format::Json => {
                let json = serde_json::to_string(&self.whole).map_err(unwritable)?;
                screen.print_json(&json)
            }
            _ if self.shown == 0 => {
                screen.note("the server offers no tools, resources or prompts");
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

/// A title beside a name, if it says more.
fn titled(screen: &Screen, name: &str, title: Option<&str>) -> String {
    let shown = screen.ink(Ink::Strong, &line(name, 500));
    match title.filter(|title| *title != name) {
        Some(title) => format!("{shown}  {}", line(title, 80)),
        None => shown,
    }
}

fn described(screen: &Screen, mut head: String, description: Option<&str>) -> String {
    if let Some(description) = description {
        let room = screen.width.saturating_sub(4).max(40);
        let most = if screen.look.verbose { 2000 } else { room };
        head += &format!("\n    {}", screen.ink(Ink::Dim, &line(description, most)));
    }
    head
}

fn shown_tool(screen: &Screen, tool: &Tool, schema: bool) -> String {
    let input: Value = serde_json::from_str(tool.input_schema.as_str()).unwrap_or_default();
    let mut head = screen.ink(Ink::Strong, &line(&tool.name, 128));
    head += &format!(
        "({})",
        line(
            &match signature(&input) {
                none if none == "no arguments" => String::new(),
                some => some,
            },
            400
        )
    );
    if let Some(hints) = &tool.annotations {
        if hints.read_only_hint == Some(true) {
            head += &screen.ink(Ink::Good, "  reads only");
        } else if hints.destructive_hint == Some(true) {
            head += &screen.ink(Ink::Warn, "  may destroy");
        }
    }
    let about = tool.description.as_deref().or(tool.title.as_deref());
    let mut shown = described(screen, head, about);
    if schema {
        let indented = |json: &str| pretty(json).replace('\n', "\n    ");
        shown += &format!("\n    input {}", indented(tool.input_schema.as_str()));
        if let Some(output) = &tool.output_schema {
            shown += &format!("\n    output {}", indented(output.as_str()));
        }
    }
    shown
}

fn shown_resource(screen: &Screen, resource: &Resource) -> String {
    let title = resource.title.as_deref().unwrap_or(&resource.name);
    let mut head = titled(screen, &resource.uri, Some(title));
    let mut facts: Vec<String> = Vec::new();
    facts.extend(resource.mime_type.as_deref().map(|mime| line(mime, 80)));
    facts.extend(
        resource
            .size
            .as_ref()
            .and_then(|bytes| bytes.as_u64())
            .map(size),
    );
    if !facts.is_empty() {
        head += &format!("  {}", screen.ink(Ink::Dim, &facts.join(", ")));
    }
    described(screen, head, resource.description.as_deref())
}

fn shown_template(screen: &Screen, template: &ResourceTemplate) -> String {
    let title = template.title.as_deref().unwrap_or(&template.name);
    let mut head = titled(screen, &template.uri_template, Some(title));
    if let Some(mime) = &template.mime_type {
        head += &format!("  {}", screen.ink(Ink::Dim, &line(mime, 80)));
    }
    described(screen, head, template.description.as_deref())
}

fn shown_prompt(screen: &Screen, prompt: &Prompt) -> String {
    let arguments = prompt.arguments.iter().flatten().map(|argument| {
        let optional = if argument.required == Some(true) {
            ""
        } else {
            "?"
        };
        format!("{}{optional}", line(&argument.name, 80))
    });
    let arguments = arguments.collect::<Vec<_>>().join(", ");
    let head = format!(
        "{}({arguments})",
        screen.ink(Ink::Strong, &line(&prompt.name, 128))
    );
    let about = prompt.description.as_deref().or(prompt.title.as_deref());
    described(screen, head, about)
}
