//! Three tools instead of all: they search, describe and call the tools of the upstreams.
//!
//! The tools of the upstreams are in the gateway, with all rules, but no client sees or calls them by
//! themselves. Their calls are in the audit log as if they had been called so.

use std::sync::{Arc, OnceLock};
use std::time::Instant;

use serde::{Deserialize, Serialize};
use turnbuckle::prelude::Result;
use turnbuckle::servers::{Proxy, ServerItem, Servers, ToolCaller, WeakServers};
use turnbuckle::types::{
    Audit as _, AuditOutcome, AuditRecord, CallToolResult, Json, ProtocolError, RequiredScopes,
    Schema, ToolAnnotations,
};
use turnbuckle::{
    Ask, Failure, HandlerContext, NoHandler, RawArguments, ServerBuilder, Tool, types,
};
use turnbuckle_types::base::nearest::did_you_mean;
use turnbuckle_types::base::text::shorten_to;
use turnbuckle_types::method::{CallTool, Request as _};

use crate::audit::AuditLog;
use crate::routes::Policies;

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

/// The three tools.
#[derive(Clone)]
pub(crate) struct LazyTools(Arc<Shared>);

struct Shared {
    policies: Policies,
    audit: Arc<AuditLog>,
    upstreams: OnceLock<(WeakServers, ToolCaller)>,
}

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

/// The arguments of a call.
#[derive(Deserialize)]
struct Call {
    name: String,
    #[serde(default)]
    arguments: Option<Json>,
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
    pub(crate) fn new(policies: Policies, audit: Arc<AuditLog>) -> Self {
        Self(Arc::new(Shared {
            policies,
            audit,
            upstreams: OnceLock::new(),
        }))
    }

    /// Adds the three tools to the server of the gateway.
    pub(crate) fn add_to(&self, server: ServerBuilder) -> ServerBuilder {
        let (search, describe, call) = (self.clone(), self.clone(), self.clone());
        let search_tools = builder("search_tools", SEARCH_SCHEMA, true)
            .description("Finds tools by words of their names and descriptions. No words find all.")
            .handler(move |arguments: RawArguments| {
                let search = search.clone();
                async move { search.search(&arguments.0.decode::<Search>()?.query) }
            });
        let describe_tool = builder("describe_tool", DESCRIBE_SCHEMA, true)
            .description("Returns the definition of a tool: what it does, and its arguments.")
            .handler(move |arguments: RawArguments| {
                let describe = describe.clone();
                async move { describe.describe(&arguments.0.decode::<Describe>()?.name) }
            });
        let call_tool = builder("call_tool", CALL_SCHEMA, false)
            .description("Calls a tool that search_tools finds, with the arguments that describe_tool shows.")
            .handler(move |arguments: RawArguments, context: HandlerContext, ask: Ask| {
                let call = call.clone();
                async move { call.call(arguments.0.decode()?, &context, &ask).await }
            });
        server
            .tool(search_tools)
            .tool(describe_tool)
            .tool(call_tool)
    }

    /// Sets the upstreams.
    pub(crate) fn start(&self, proxy: &Proxy) {
        let upstreams = || (proxy.servers().downgrade(), proxy.tool_caller());
        self.0.upstreams.get_or_init(upstreams);
    }

    fn servers(&self) -> Result<Servers> {
        let servers = self.0.upstreams.get().and_then(|it| it.0.upgrade());
        servers.ok_or_else(|| Failure::new("the upstreams are closed"))
    }

    fn search(&self, query: &str) -> Result<String> {
        let query = query.to_lowercase();
        let words: Vec<&str> = query.split_whitespace().take(MAX_WORDS).collect();
        let tools = self.servers()?.tools();
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

    fn describe(&self, name: &str) -> Result<String> {
        Ok(serde_json::to_string(&*self.find(name)?.item)?)
    }

    /// Returns the tool of this name.
    fn find(&self, name: &str) -> Result<ServerItem<types::Tool>> {
        let servers = self.servers()?;
        servers.tool(name).ok_or_else(|| {
            let tools = servers.tools();
            let names = tools.iter().map(|tool| &*tool.item.name);
            let help = did_you_mean(name, names).unwrap_or_else(|| "use search_tools".to_owned());
            Failure::new(format!("there is no tool {name:.64?}: {help}"))
        })
    }

    async fn call(
        &self,
        call: Call,
        context: &HandlerContext,
        ask: &Ask,
    ) -> Result<CallToolResult> {
        let start = Instant::now();
        let arguments = call.arguments.unwrap_or_else(Json::empty_object);
        let called = self.call_found(&call.name, &arguments, context, ask).await;
        let outcome = match &called {
            Ok(result) if result.is_error == Some(true) => AuditOutcome::ToolError,
            Ok(_) => AuditOutcome::Completed,
            Err(Refusal::Unknown(_)) => AuditOutcome::UnknownItem,
            Err(Refusal::Scopes(needed)) => AuditOutcome::MissingScopes(needed),
            Err(Refusal::Failed(_)) => AuditOutcome::ToolError,
        };
        let mut record = AuditRecord::new(outcome);
        record.principal = context.principal();
        record.client_address = context.client_address();
        record.method = Some(CallTool::METHOD);
        record.target = Some(&call.name);
        record.argument_bytes = arguments.as_str().len();
        record.argument_digest = self.0.audit.digest_arguments(arguments.as_str());
        record.micros = u64::try_from(start.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.0.audit.record(&record);
        called.map_err(|refusal| match refusal {
            Refusal::Unknown(failure) | Refusal::Failed(failure) => failure,
            Refusal::Scopes(needed) => ProtocolError::forbidden(needed).into(),
        })
    }

    async fn call_found(
        &self,
        name: &str,
        arguments: &Json,
        context: &HandlerContext,
        ask: &Ask,
    ) -> std::result::Result<CallToolResult, Refusal> {
        let tool = self.find(name).map_err(Refusal::Unknown)?;
        let policy = self.0.policies.get(&*tool.server);
        let needed: Vec<&str> =
            policy.map_or_else(Vec::new, |it| it.scopes(&tool.own_name).collect());
        if !needed.is_empty() {
            let needed = RequiredScopes::new(needed);
            if !needed.is_met_by(context.principal()) {
                return Err(Refusal::Scopes(needed));
            }
        }
        let caller = self.0.upstreams.get().map(|it| &it.1);
        let caller = caller.ok_or_else(|| Failure::new("the upstreams are closed"));
        let caller = caller.map_err(Refusal::Failed)?;
        let called = caller.call(name, arguments, context, ask).await;
        called.map_err(Refusal::Failed)
    }
}

/// Returns the builder of a tool with a schema of this file.
fn builder(name: &'static str, schema: &str, is_read_only: bool) -> Tool<NoHandler> {
    Tool::builder(name)
        // The schemas are constants, and tests call each tool.
        .input_schema(schema.parse().unwrap_or_else(|_| Schema::object()))
        .annotations(ToolAnnotations::new().read_only_hint(is_read_only))
}

/// The reason why a call has no result.
enum Refusal {
    Unknown(Failure),
    Scopes(RequiredScopes),
    Failed(Failure),
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
