//! Three tools instead of all: they search, describe and call the tools of the upstreams.
//!
//! The tools of the upstreams are in the gateway, with all rules, but in no list. A call of `call_tool` is a call
//! of the tool that it names, with its scopes, layers and line in the audit log.

use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};
use turnbuckle::prelude::Result;
use turnbuckle::servers::{ServerItem, Servers, WeakServers};
use turnbuckle::types::{ProtocolError, Schema, ToolAnnotations};
use turnbuckle::{Failure, HandlerContext, NoHandler, RawArguments, ServerBuilder, Tool, types};
use turnbuckle_types::base::nearest::did_you_mean;
use turnbuckle_types::base::text::shorten_to;

/// The most tools that a search finds.
const MAX_FOUND: usize = 20;

/// The most words of a query that are looked for.
const MAX_WORDS: usize = 16;

/// The most characters of a description in the result of a search.
const MAX_DESCRIPTION_CHARS: usize = 200;

const SEARCH_SCHEMA: &str =
    r#"{"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}"#;
const DESCRIBE_SCHEMA: &str =
    r#"{"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}"#;
const CALL_SCHEMA: &str = r#"{"type": "object", "properties":
    {"name": {"type": "string"}, "arguments": {"type": "object"}}, "required": ["name"]}"#;

/// The name of the tool that calls others.
const CALL_TOOL: &str = "call_tool";

/// The three tools, which know the upstreams once they are started.
#[derive(Clone, Default)]
pub(crate) struct LazyTools(Arc<OnceLock<WeakServers>>);

/// The arguments of a search.
#[derive(Deserialize)]
struct Search {
    query: String,
}

/// The arguments of a description.
#[derive(Deserialize)]
struct Describe {
    name: String,
}

/// The result of a search.
#[derive(Serialize)]
struct Found {
    tools: Vec<FoundTool>,
    /// The number of further ones.
    more: usize,
}

/// A tool that was found.
#[derive(Serialize)]
struct FoundTool {
    name: String,
    description: String,
}

impl LazyTools {
    /// Adds the three tools to the server of the gateway.
    pub(crate) fn add_to(&self, server: ServerBuilder) -> ServerBuilder {
        let (search, describe) = (self.clone(), self.clone());
        let search_tools = builder("search_tools", SEARCH_SCHEMA, true)
            .description("Finds tools by words of their names and descriptions. No words find all.")
            .handler(move |arguments: RawArguments, context: HandlerContext| {
                let search = search.clone();
                async move {
                    let query = arguments.0.decode::<Search>()?.query;
                    search.search(&query, &context).await
                }
            });
        let describe_tool = builder("describe_tool", DESCRIBE_SCHEMA, true)
            .description("Returns the definition of a tool: what it does, and its arguments.")
            .handler(move |arguments: RawArguments, context: HandlerContext| {
                let describe = describe.clone();
                async move {
                    let name = arguments.0.decode::<Describe>()?.name;
                    describe.describe(&name, &context).await
                }
            });
        let call_tool = builder(CALL_TOOL, CALL_SCHEMA, false)
            .description("Calls a tool that search_tools finds, with the arguments that describe_tool shows.")
            .handler(|_: RawArguments| async {
                let reason = "`name` must be the name of a tool that search_tools finds";
                Result::<String>::Err(ProtocolError::invalid_params(reason).into())
            });
        server
            .tool(search_tools)
            .tool(describe_tool)
            .tool(call_tool)
            .redirect_calls(CALL_TOOL)
    }

    /// Sets the upstreams.
    pub(crate) fn start(&self, servers: &Servers) {
        self.0.get_or_init(|| servers.downgrade());
    }

    fn servers(&self) -> Result<Servers> {
        let servers = self.0.get().and_then(WeakServers::upgrade);
        servers.ok_or_else(|| Failure::new("the upstreams are closed"))
    }

    async fn search(&self, query: &str, context: &HandlerContext) -> Result<String> {
        let query = query.to_lowercase();
        let words: Vec<&str> = query.split_whitespace().take(MAX_WORDS).collect();
        let tools = self.servers()?.tools_for(context).await;
        let mut ranked: Vec<(usize, &ServerItem<types::Tool>)> = tools
            .iter()
            .map(|tool| (score(&tool.item, &words), tool))
            .filter(|(score, _)| words.is_empty() || *score > 0)
            .collect();
        // Tools of the same score stay in their order.
        ranked.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
        let more = ranked.len().saturating_sub(MAX_FOUND);
        let found = ranked
            .into_iter()
            .take(MAX_FOUND)
            .map(|(_, tool)| FoundTool {
                name: tool.item.name.clone(),
                description: shorten_to(
                    tool.item.description.as_deref().unwrap_or_default(),
                    MAX_DESCRIPTION_CHARS,
                ),
            });
        let tools = found.collect();
        Ok(serde_json::to_string(&Found { tools, more })?)
    }

    async fn describe(&self, name: &str, context: &HandlerContext) -> Result<String> {
        let servers = self.servers()?;
        if let Some(tool) = servers.tool_for(name, context).await? {
            return Ok(serde_json::to_string(&*tool.item)?);
        }
        let tools = servers.tools_for(context).await;
        let names = tools.iter().map(|tool| &*tool.item.name);
        let help = did_you_mean(name, names).unwrap_or_else(|| "use search_tools".to_owned());
        Err(Failure::new(format!(
            "there is no tool {name:.64?}: {help}"
        )))
    }
}

/// Returns the builder of a tool with a schema of this file.
fn builder(name: &'static str, schema: &str, is_read_only: bool) -> Tool<NoHandler> {
    Tool::builder(name)
        // The schemas are constants, and tests call each tool.
        .input_schema(schema.parse().unwrap_or_else(|_| Schema::object()))
        .annotations(ToolAnnotations::new().read_only_hint(is_read_only))
}

/// Returns how many words a tool has, those of its name counted three times.
fn score(tool: &types::Tool, words: &[&str]) -> usize {
    let name = tool.name.to_lowercase();
    let text = [&tool.title, &tool.description]
        .map(|text| text.as_deref().map(str::to_lowercase).unwrap_or_default());
    let score_of = |word: &&str| {
        let in_name = if name.contains(*word) { 3 } else { 0 };
        in_name + usize::from(text.iter().any(|text| text.contains(*word)))
    };
    words.iter().map(score_of).sum()
}
