//! Runs every check against a server in memory that has one fault.

use serde_json::{Value, json};
use turnbuckle_check::report::{Report, Verdict};
use turnbuckle_check::script::{Cause, Sound};
use turnbuckle_check::{Bind, Checker, Target};
use turnbuckle_wire::revision::Revision;

/// Checks, and a topic, that send much: they run for their own faults alone.
const HEAVY: [&str; 3] = ["robust", "http.body-limit-413", "frame.megabyte-line"];

/// A row of the table: a check, and a server that is right in all but that.
pub(crate) struct Row {
    pub(crate) id: &'static str,
    target: Target,
    /// Topic whose checks alone are made; all unless set.
    topic: Option<&'static str>,
    /// Checks that the same fault breaks in any case.
    also: &'static [&'static str],
    revisions: Vec<Revision>,
    transports: Vec<Bind>,
}

/// Returns the row of a check.
pub(crate) fn row(id: &'static str, sound: Sound) -> Row {
    target(id, sound.target())
}

/// Returns the row of a check, with a server that is more than the correct one.
pub(crate) fn target(id: &'static str, target: Target) -> Row {
    Row {
        id,
        target,
        topic: None,
        also: &[],
        // The newest of each era; the row says so if its check looks at others.
        revisions: vec![Revision::NEWEST_LEGACY, Revision::NEWEST],
        // A check of messages is one function for all transports.
        transports: match id.starts_with("http.") {
            true => vec![Bind::Http],
            false => vec![Bind::Stream],
        },
    }
}

impl Row {
    /// Sets the checks that the fault breaks as well.
    pub(crate) fn also(self, also: &'static [&'static str]) -> Self {
        Self { also, ..self }
    }

    /// Limits the run to one revision over one transport, for faults that count.
    pub(crate) fn alone(self, revision: Revision, transport: Bind) -> Self {
        Self {
            revisions: vec![revision],
            transports: vec![transport],
            ..self
        }
    }

    /// Sets the transports of the run.
    pub(crate) fn transports(self, transports: impl IntoIterator<Item = Bind>) -> Self {
        Self {
            transports: transports.into_iter().collect(),
            ..self
        }
    }

    /// Limits the run to one topic: the server is made for nothing else.
    pub(crate) fn topic(self, topic: &'static str) -> Self {
        Self {
            topic: Some(topic),
            ..self
        }
    }

    /// Limits the run to these revisions.
    pub(crate) fn revisions(self, revisions: impl IntoIterator<Item = Revision>) -> Self {
        Self {
            revisions: revisions.into_iter().collect(),
            ..self
        }
    }

    /// Returns the findings of the server.
    pub(crate) async fn findings(&self) -> Vec<(String, String)> {
        let checker = Checker::new(self.target.clone()).revisions(self.revisions.clone());
        let mut checker = checker.transports(self.transports.clone());
        if let Some(topic) = self.topic {
            checker = checker.only(topic);
        }
        for heavy in HEAVY
            .into_iter()
            .filter(|heavy| !self.id.starts_with(heavy))
        {
            checker = checker.skip(heavy);
        }
        findings(&checker.run().await.unwrap())
    }

    /// Returns what is wrong unless the check, and no other, has findings.
    pub(crate) async fn fault(self) -> Option<String> {
        let found = self.findings().await;
        if !found.iter().any(|(id, _)| id == self.id) {
            return Some(format!("{} does not see its fault: {found:#?}", self.id));
        }
        let is_other = |id: &str| id != self.id && !self.also.contains(&id);
        let others: Vec<_> = found.iter().filter(|(id, _)| is_other(id)).collect();
        let seen = format!("the fault of {} is seen by others: {others:#?}", self.id);
        (!others.is_empty()).then_some(seen)
    }
}

/// Returns the findings of a report: the id of each check, with the place and the sentence.
pub(crate) fn findings(report: &Report) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for case in &report.cases {
        let place = format!("{} {}", case.revision, case.transport);
        if let Some(reason) = &case.stopped {
            found.push(("stopped".to_owned(), format!("{place}: {reason}")));
        }
        let broken = case
            .checks
            .iter()
            .filter(|check| !matches!(check.verdict, Verdict::Pass | Verdict::Skip));
        for check in broken {
            for finding in &check.findings {
                let item = finding.item.as_deref().unwrap_or_default();
                found.push((
                    check.id.clone(),
                    format!("{place} {item}: {}", finding.sentence),
                ));
            }
        }
    }
    found
}

/// Returns a server that changes the responses to one method.
pub(crate) fn response(
    method: &'static str,
    change: impl Fn(&mut Value) + Send + Sync + 'static,
) -> Sound {
    Sound::new().on_reply(move |cause, messages| {
        if cause.message["method"] == method {
            for message in messages.iter_mut().filter(|it| it.get("method").is_none()) {
                change(message);
            }
        }
    })
}

/// Returns a server that changes the results of one method.
pub(crate) fn result(
    method: &'static str,
    change: impl Fn(&mut Value) + Send + Sync + 'static,
) -> Sound {
    response(method, move |message| {
        if let Some(result) = message.get_mut("result") {
            change(result);
        }
    })
}

/// Returns a server that changes the results of the calls of one tool.
pub(crate) fn call(
    tool: &'static str,
    change: impl Fn(&mut Value) + Send + Sync + 'static,
) -> Sound {
    Sound::new().on_reply(move |cause: &Cause, messages| {
        if cause.message["method"] == "tools/call" && cause.message["params"]["name"] == tool {
            for message in messages.iter_mut().filter(|it| it.get("result").is_some()) {
                change(&mut message["result"]);
            }
        }
    })
}

/// Returns a server that changes the definition of its first tool, or of the one with that name.
pub(crate) fn tool(
    name: &'static str,
    change: impl Fn(&mut Value) + Send + Sync + 'static,
) -> Sound {
    result("tools/list", move |result| {
        let tools = result["tools"].as_array_mut().into_iter().flatten();
        for tool in tools.filter(|tool| tool["name"] == name) {
            change(tool);
        }
    })
}

/// Returns a server that answers errors of one code with another.
pub(crate) fn code(from: i64, to: i64) -> Sound {
    Sound::new().on_reply(move |_, messages| {
        for message in messages {
            if message["error"]["code"] == from {
                message["error"]["code"] = to.into();
            }
        }
    })
}

/// Returns a server that changes the items of a list.
pub(crate) fn list(
    method: &'static str,
    change: impl Fn(&mut Vec<Value>) + Send + Sync + 'static,
) -> Sound {
    let member = match method {
        "tools/list" => "tools",
        "prompts/list" => "prompts",
        "resources/list" => "resources",
        _ => "resourceTemplates",
    };
    result(method, move |result| {
        if let Some(items) = result[member].as_array_mut() {
            change(items);
        }
    })
}

/// Returns a server that takes one value of a parameter for another.
pub(crate) fn renaming(param: &'static str, from: &'static str, to: &'static str) -> Sound {
    Sound::new().on_message(move |message| {
        if message["params"][param] == from {
            message["params"][param] = to.into();
        }
        None
    })
}

/// Returns a server that does not declare one of its capabilities.
pub(crate) fn without_capability(name: &'static str) -> Sound {
    Sound::new().on_reply(move |cause, messages| {
        let method = &cause.message["method"];
        if (method == "initialize" || method == "server/discover")
            && let Some(capabilities) = messages[0].pointer_mut("/result/capabilities")
        {
            remove(capabilities, name);
        }
    })
}

/// Returns an error that answers a message.
pub(crate) fn error(message: &Value, code: i64) -> Value {
    json!({"jsonrpc": "2.0", "id": message["id"], "error": {"code": code, "message": "refused"}})
}

/// Returns a result with an error of a tool that answers a message.
pub(crate) fn error_result(cause: &Cause) -> Value {
    let mut result = json!({"content": [{"type": "text", "text": "refused"}], "isError": true});
    let meta = &cause.message["params"]["_meta"];
    if meta
        .get("io.modelcontextprotocol/protocolVersion")
        .is_some()
    {
        result["resultType"] = "complete".into();
    }
    json!({"jsonrpc": "2.0", "id": cause.message["id"], "result": result})
}

/// Removes a member of an object.
pub(crate) fn remove(value: &mut Value, member: &str) {
    if let Some(members) = value.as_object_mut() {
        members.remove(member);
    }
}

/// Marks the requests of HTTP that carry a message with that id, for faults of heads.
pub(crate) fn marking(sound: Sound, id: &'static str) -> Sound {
    sound.on_request(move |request| {
        let message: Value = serde_json::from_slice(request.body()).unwrap_or_default();
        if message["id"] == id {
            let mark = http::HeaderValue::from_static("marked");
            request.headers_mut().insert(MARK, mark);
        }
    })
}

/// The header of requests that are [marked](marking).
pub(crate) const MARK: &str = "x-check";
