//! The first look at a server: what it declares and what it lists.

mod answers;
mod arguments;
mod lists;

use std::collections::HashMap;

use serde_json::{Value, json};

use self::answers::Answers;
pub(crate) use self::answers::{Answered, ask_all};
pub(crate) use self::arguments::sample;
use self::arguments::{prompt_arguments, sample_breaches};
pub(crate) use self::lists::ListPages;
use self::lists::{ListError, Refusal, read_list};
use crate::need::Need;
use crate::probe::{Probe, ProbeError};
use crate::report::Interface;

/// The tools of the official conformance suite for tasks, which change nothing.
const TASK_FIXTURES: [&str; 5] = [
    "slow_compute",
    "failing_job",
    "protocol_error_job",
    "multi_input",
    "test_tool_with_task",
];

/// Tools that are called.
const MAX_CALLS: usize = 40;

/// Resources that are read, prompts that are got, and tools that are called with bad arguments.
const MAX_OTHERS: usize = 16;

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
    /// The pages of the lists that can be read.
    pub(crate) pages: Vec<ListPages>,
    /// The lists that cannot be read, each with the reason.
    pub(crate) failures: Vec<(&'static str, Refusal)>,
    /// The tools that the user allows to call, with arguments.
    pub(crate) allowed_tools: HashMap<String, Option<Value>>,
    answers: Answers,
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
                Ok((items, pages)) => {
                    *survey.list_mut(method) = items;
                    survey.pages.push(pages);
                }
                Err(ListError::Refused(refusal)) => survey.failures.push((method, refusal)),
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

    /// Returns the items of a list, by its method.
    #[must_use]
    pub(crate) fn list(&self, method: &str) -> &[Value] {
        match method {
            "tools/list" => &self.tools,
            "resources/list" => &self.resources,
            "resources/templates/list" => &self.templates,
            _ => &self.prompts,
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
    #[must_use]
    pub(crate) fn is_fixture(&self, name: &str) -> bool {
        let has = |name: &&str| self.tool(name).is_some();
        let is_of_tasks = TASK_FIXTURES.contains(&name) && TASK_FIXTURES.iter().all(has);
        let is_other = name.starts_with("test_") || name == "json_schema_2020_12_tool";
        is_of_tasks || (is_other && self.tool("test_simple_text").is_some())
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

    /// Returns the tools that may be called and are not slow by design.
    pub(crate) fn quick_tools(&self) -> impl Iterator<Item = &Value> {
        let is_slow = |tool: &Value| TASK_FIXTURES.iter().any(|it| tool["name"] == *it);
        self.callable_tools().filter(move |tool| !is_slow(tool))
    }

    /// Calls the tools that may be called, with arguments that their schemas accept.
    pub(crate) async fn calls(&self, probe: &mut Probe) -> &[Answered] {
        let calls = async {
            let tools = self.quick_tools().take(MAX_CALLS);
            let request = |tool: &Value| {
                let params = json!({"name": tool["name"], "arguments": self.arguments(tool)});
                (tool.clone(), params)
            };
            ask_all(probe, "tools/call", tools.map(request).collect()).await
        };
        self.answers.calls.get_or_init(|| calls).await
    }

    /// Calls tools with arguments that their schemas refuse; with each answer goes the fault.
    pub(crate) async fn bad_calls(&self, probe: &mut Probe) -> &[(String, Answered)] {
        let calls = async {
            let mut faults = Vec::new();
            let mut requests = Vec::new();
            for tool in self.callable_tools() {
                let arguments = self.arguments(tool);
                for (fault, bad) in sample_breaches(&tool["inputSchema"], &arguments) {
                    faults.push(fault);
                    let params = json!({"name": tool["name"], "arguments": bad});
                    requests.push((tool.clone(), params));
                }
                if requests.len() >= MAX_OTHERS {
                    break;
                }
            }
            let answers = ask_all(probe, "tools/call", requests).await;
            faults.into_iter().zip(answers).collect()
        };
        self.answers.bad_calls.get_or_init(|| calls).await
    }

    /// Reads the resources that are listed.
    pub(crate) async fn reads(&self, probe: &mut Probe) -> &[Answered] {
        let reads = async {
            let resources = self.resources.iter().take(MAX_OTHERS);
            let request = |resource: &Value| (resource.clone(), json!({"uri": resource["uri"]}));
            ask_all(probe, "resources/read", resources.map(request).collect()).await
        };
        self.answers.reads.get_or_init(|| reads).await
    }

    /// Gets the prompts that are listed, with some value for each argument that they require.
    pub(crate) async fn prompt_results(&self, probe: &mut Probe) -> &[Answered] {
        let prompts = async {
            let prompts = self.prompts.iter().take(MAX_OTHERS);
            let request = |prompt: &Value| {
                let params = json!({"name": prompt["name"], "arguments": prompt_arguments(prompt)});
                (prompt.clone(), params)
            };
            ask_all(probe, "prompts/get", prompts.map(request).collect()).await
        };
        self.answers.prompts.get_or_init(|| prompts).await
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
            Some((_, refusal)) => format!("the list of {items} cannot be read: {}", refusal.reason),
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
