//! The first look at a server: what it declares and what it lists.

mod arguments;

use std::collections::{HashMap, HashSet};

use serde_json::{Value, json};

use crate::check::Need;
use crate::probe::{Probe, ProbeError};
use crate::report::Interface;
pub(crate) use arguments::sample;

/// Pages that are read of one list.
const MAX_PAGES: usize = 200;

/// The tools of the official conformance suite for tasks, which change nothing.
const TASK_FIXTURES: [&str; 5] = [
    "slow_compute",
    "failing_job",
    "protocol_error_job",
    "multi_input",
    "test_tool_with_task",
];

/// Items that are kept of one list.
const MAX_ITEMS: usize = 10_000;

/// Declarations and lists of a server, in one revision over one transport.
#[derive(Debug, Clone, Default)]
pub(crate) struct Survey {
    /// The result of `initialize` or `server/discover`.
    pub(crate) handshake: Value,
    /// The capabilities of the server.
    pub(crate) capabilities: Value,
    /// The definitions of tools.
    pub(crate) tools: Vec<Value>,
    /// The definitions of resources.
    pub(crate) resources: Vec<Value>,
    /// The definitions of resource templates.
    pub(crate) templates: Vec<Value>,
    /// The definitions of prompts.
    pub(crate) prompts: Vec<Value>,
    /// The lists that cannot be read, each with the reason.
    pub(crate) failures: Vec<(&'static str, String)>,
    /// The tools that the user allows to call, with arguments.
    pub(crate) allowed_tools: HashMap<String, Option<Value>>,
}

/// The lists: capability, method and member of the result.
const LISTS: [(&str, &str, &str); 4] = [
    ("tools", "tools/list", "tools"),
    ("resources", "resources/list", "resources"),
    ("resources", "resources/templates/list", "resourceTemplates"),
    ("prompts", "prompts/list", "prompts"),
];

impl Survey {
    /// Reads what the server lists.
    ///
    /// # Errors
    /// Fails if the conversation breaks; a list that is refused is a failure in the survey.
    pub(crate) async fn read(probe: &mut Probe, handshake: Value) -> Result<Self, ProbeError> {
        let mut survey = Self {
            capabilities: handshake["capabilities"].clone(),
            handshake,
            ..Self::default()
        };
        for (capability, method, member) in LISTS {
            if survey.capabilities.get(capability).is_none() {
                continue;
            }
            match read_list(probe, method, member).await {
                Ok(items) => *survey.list_mut(method) = items,
                Err(ListError::Refused(reason)) => survey.failures.push((method, reason)),
                Err(ListError::Broken(error)) => return Err(error),
            }
        }
        Ok(survey)
    }

    fn list_mut(&mut self, method: &str) -> &mut Vec<Value> {
        match method {
            "tools/list" => &mut self.tools,
            "resources/list" => &mut self.resources,
            "resources/templates/list" => &mut self.templates,
            _ => &mut self.prompts,
        }
    }

    /// Returns the name and version that the server gave.
    #[must_use]
    pub(crate) fn server_info(&self) -> Option<&Value> {
        let meta = &self.handshake["_meta"]["io.modelcontextprotocol/serverInfo"];
        [&self.handshake["serverInfo"], meta]
            .into_iter()
            .find(|info| info.is_object())
    }

    /// Returns the tool with that name.
    #[must_use]
    pub(crate) fn tool(&self, name: &str) -> Option<&Value> {
        self.tools.iter().find(|tool| tool["name"] == name)
    }

    /// Returns whether a tool may be called: it says that it changes nothing, the user allows it, or it
    /// is one of the official conformance suite's.
    #[must_use]
    pub(crate) fn is_callable(&self, tool: &Value) -> bool {
        let name = tool["name"].as_str().unwrap_or_default();
        tool["annotations"]["readOnlyHint"] == true
            || self.allowed_tools.contains_key(name)
            || self.is_fixture(name)
    }

    /// Returns whether the server has the tools of the official conformance suite, of which this is one.
    fn is_fixture(&self, name: &str) -> bool {
        let has = |name: &&str| self.tool(name).is_some();
        let is_of_tasks = TASK_FIXTURES.contains(&name) && TASK_FIXTURES.iter().all(has);
        is_of_tasks || (name.starts_with("test_") && self.tool("test_simple_text").is_some())
    }

    /// Returns arguments for a tool: those that the user gave, else some that are made from its schema.
    #[must_use]
    pub(crate) fn arguments(&self, tool: &Value) -> Value {
        let name = tool["name"].as_str().unwrap_or_default();
        match self.allowed_tools.get(name) {
            Some(Some(arguments)) => arguments.clone(),
            _ => sample(&tool["inputSchema"]),
        }
    }

    /// Returns the tools that may be called.
    pub(crate) fn callable_tools(&self) -> impl Iterator<Item = &Value> {
        self.tools.iter().filter(|tool| self.is_callable(tool))
    }

    /// Returns a capability by its path: `resources.subscribe`.
    #[must_use]
    pub(crate) fn capability(&self, path: &str) -> Option<&Value> {
        let mut value = &self.capabilities;
        for name in path.split('.') {
            value = value.get(name)?;
        }
        Some(value).filter(|value| !matches!(value, Value::Null | Value::Bool(false)))
    }

    /// Returns the reason why something is missing that a check needs; `None` if it is there.
    pub(crate) fn missing(&self, need: Need, has_process: bool) -> Option<String> {
        let (is_there, what) = match need {
            Need::Capability(path) => (
                self.capability(path).is_some(),
                format!("the server does not declare `{path}`"),
            ),
            Need::Undeclared(path) => (
                self.capability(path).is_none(),
                format!("the server declares `{path}`"),
            ),
            Need::Tool => (!self.tools.is_empty(), self.no_items("tools/list", "tools")),
            Need::CallableTool => (
                self.callable_tools().next().is_some(),
                "no tool says `readOnlyHint: true`; --allow-tool names one that may be called"
                    .into(),
            ),
            Need::Fixture(name) => (
                self.tool(name).is_some() && self.is_callable(&json!({"name": name})),
                format!(
                    "the server has no tool `{name}`, which the official conformance suite defines"
                ),
            ),
            Need::Resource => (
                !self.resources.is_empty(),
                self.no_items("resources/list", "resources"),
            ),
            Need::Template => (
                !self.templates.is_empty(),
                self.no_items("resources/templates/list", "resource templates"),
            ),
            Need::Prompt => (
                !self.prompts.is_empty(),
                self.no_items("prompts/list", "prompts"),
            ),
            Need::FixturePrompt(name) => (
                self.prompts.iter().any(|prompt| prompt["name"] == name),
                format!(
                    "the server has no prompt `{name}`, which the official conformance suite defines"
                ),
            ),
            Need::FixtureResource(uri) => (
                self.resources.iter().any(|resource| resource["uri"] == uri),
                format!(
                    "the server has no resource `{uri}`, which the official conformance suite defines"
                ),
            ),
            Need::Extension(name) => (
                self.capabilities["extensions"].get(name).is_some(),
                format!("the server does not declare the extension `{name}`"),
            ),
            Need::Process => (has_process, "the server is not a child process".into()),
        };
        (!is_there).then_some(what)
    }

    fn no_items(&self, method: &str, items: &str) -> String {
        match self.failures.iter().find(|(failed, _)| *failed == method) {
            Some((_, reason)) => format!("the list of {items} cannot be read: {reason}"),
            None => format!("the server lists no {items}"),
        }
    }

    /// Returns the lists, for a lock file.
    pub(crate) fn interface(&self) -> Interface {
        let instructions = self.handshake["instructions"].as_str();
        Interface {
            instructions: instructions.map(str::to_owned),
            tools: self.tools.clone(),
            prompts: self.prompts.clone(),
            resources: self.resources.clone(),
            templates: self.templates.clone(),
        }
    }
}

enum ListError {
    Refused(String),
    Broken(ProbeError),
}

async fn read_list(probe: &mut Probe, method: &str, member: &str) -> Result<Vec<Value>, ListError> {
    let mut items = Vec::new();
    let mut cursors = HashSet::new();
    let mut params = json!({});
    for _ in 0..MAX_PAGES {
        let mut answer = match probe.request(method, params).await {
            Ok(answer) => answer,
            Err(error @ (ProbeError::Status { .. } | ProbeError::NotJson { .. })) => {
                return Err(ListError::Refused(error.to_string()));
            }
            Err(error) => return Err(ListError::Broken(error)),
        };
        if let Some(error) = answer.get("error") {
            return Err(ListError::Refused(format!("{method} failed: {error}")));
        }
        let Value::Array(page) = answer["result"][member].take() else {
            return Err(ListError::Refused(format!(
                "the result of {method} has no array `{member}`"
            )));
        };
        items.extend(page);
        if items.len() > MAX_ITEMS {
            items.truncate(MAX_ITEMS);
            break;
        }
        let Some(cursor) = answer["result"]["nextCursor"].as_str() else {
            break;
        };
        // A cursor that comes again would never end.
        if !cursors.insert(cursor.to_owned()) {
            break;
        }
        params = json!({"cursor": cursor});
    }
    Ok(items)
}
