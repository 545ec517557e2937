//! Decides what happens to a message: who is to have it, or with which error it is refused.

use std::pin::Pin;
use std::sync::Arc;

use serde_json::{Value, json};
use turnbuckle_types::LoggingLevel;
use turnbuckle_wire::revision::{EraKind, Method, MethodRole, Party, Revision};

use super::answer;
use super::call::Call;
use super::items;
use super::outlet::Outlet;
use super::refusal::{Refusal, error_to};
use super::server::Sound;
use super::session::Session;

/// The rest of the work on a message.
pub(super) type Work = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Prefix of the keys of the envelope.
const ENVELOPE: &str = "io.modelcontextprotocol/";

/// The frame that carries a message.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Carrier {
    /// Alone.
    Alone,
    /// In a batch.
    Batch,
}

impl Sound {
    /// Takes a message, or a batch of them. What needs no time is done at once; the rest is returned.
    pub(super) fn receive(
        &self,
        session: &Arc<Session>,
        message: Value,
        outlet: &Outlet,
    ) -> Option<Work> {
        match message {
            Value::Array(messages) => self.receive_batch(session, messages, outlet),
            message => self.receive_one(session, message, outlet, Carrier::Alone),
        }
    }

    fn receive_batch(
        &self,
        session: &Arc<Session>,
        messages: Vec<Value>,
        outlet: &Outlet,
    ) -> Option<Work> {
        let has_batches = session.revision().is_some_and(|it| it.features().batching);
        if !has_batches || messages.is_empty() {
            outlet.send(error_to(
                session,
                &Value::Null,
                Refusal::new(-32600, "no such batch"),
            ));
            return None;
        }
        let (to, mut sent) = tokio::sync::mpsc::unbounded_channel();
        let inner = outlet.clone().into_queue(to);
        let mut works = Vec::new();
        for message in messages {
            works.extend(self.receive_one(session, message, &inner, Carrier::Batch));
        }
        drop(inner);
        let outlet = outlet.clone();
        Some(Box::pin(async move {
            for work in works {
                work.await;
            }
            let mut responses = Vec::new();
            while let Some(message) = sent.recv().await {
                match message.get("method") {
                    Some(_) => outlet.send_unchanged(message),
                    None => responses.push(message),
                }
            }
            if !responses.is_empty() {
                outlet.send_unchanged(responses.into());
            }
        }))
    }

    fn receive_one(
        &self,
        session: &Arc<Session>,
        mut message: Value,
        outlet: &Outlet,
        carrier: Carrier,
    ) -> Option<Work> {
        let outlet = outlet.because_of(session.cause(&message));
        if let Some(reaction) = self.faults.apply_to_message(&mut message) {
            for message in reaction {
                outlet.send_unchanged(message);
            }
            return None;
        }
        let id = message.get("id").cloned();
        if let Some(fault) = fault_of(&message) {
            let readable = id.filter(is_id).unwrap_or_default();
            outlet.send(error_to(session, &readable, Refusal::new(-32600, fault)));
            return None;
        }
        let Some(method) = message["method"].as_str() else {
            session.resolve_ask(message);
            return None;
        };
        let Some(id) = id else {
            self.notified(session, method, &message["params"]);
            return None;
        };
        let method = method.to_owned();
        let params = message.get("params").cloned().unwrap_or_else(|| json!({}));
        let admitted = self.admit(session, &method, &params, carrier);
        let (revision, capabilities) = match admitted {
            Ok(admitted) => admitted,
            Err(refusal) => {
                outlet.send(error_to(session, &id, refusal));
                return None;
            }
        };
        if !session.begin(&id) {
            let refusal = Refusal::new(-32600, "another request has this id");
            outlet.send(error_to(session, &id, refusal));
            return None;
        }
        let call = Call {
            method,
            params,
            id: id.clone(),
            revision,
            capabilities,
            session: session.clone(),
            outlet,
            sound: self.clone(),
        };
        let session = session.clone();
        Some(Box::pin(async move {
            answer::run(call).await;
            session.end(&id);
        }))
    }

    /// Returns the revision and the capabilities that a request is handled with.
    fn admit(
        &self,
        session: &Session,
        method: &str,
        params: &Value,
        carrier: Carrier,
    ) -> Result<(Revision, Value), Refusal> {
        let known = Method::parse(method);
        let (revision, capabilities) = if is_modern(method, params) {
            self.envelope(&params["_meta"])?
        } else if known.is_some_and(|it| it.role() == MethodRole::Handshake) {
            if carrier == Carrier::Batch {
                return Err(Refusal::new(-32600, "initialize comes alone"));
            }
            if session.revision().is_some() {
                return Err(Refusal::new(-32600, "the session is open already"));
            }
            (self.handshake(session, params)?, Value::Null)
        } else {
            let newest = self.of_era(EraKind::Legacy).last().copied();
            match (session.revision(), known.map(Method::role), newest) {
                (Some(revision), ..) => (revision, session.capabilities()),
                (None, Some(MethodRole::Liveness), Some(newest)) => (newest, Value::Null),
                _ => {
                    return Err(Refusal::new(
                        -32602,
                        "the session is not initialized, and the request has no envelope",
                    ));
                }
            }
        };
        let has_method = known.is_some_and(|it| it.is_received_by(Party::Server, revision));
        if !has_method {
            return Err(Refusal::new(-32601, "no such method").with(json!({"method": method})));
        }
        if revision.features().era == EraKind::Modern && method == "tools/call" {
            items::check_capability(params, &capabilities)?;
        }
        Ok((revision, capabilities))
    }

    /// Reads the envelope of a modern request.
    fn envelope(&self, meta: &Value) -> Result<(Revision, Value), Refusal> {
        let named = &meta[format!("{ENVELOPE}protocolVersion")];
        let Some(named) = named.as_str() else {
            return Err(Refusal::new(-32602, "_meta names no protocolVersion"));
        };
        let modern = self.of_era(EraKind::Modern);
        let Some(revision) = modern.iter().find(|it| it.as_str() == named) else {
            let supported: Vec<_> = self.revisions.iter().map(|it| it.as_str()).collect();
            let data = json!({"supported": supported, "requested": named});
            return Err(Refusal::new(-32022, "unsupported protocol version").with(data));
        };
        let level = meta.get(format!("{ENVELOPE}logLevel"));
        if level.is_some_and(|level| {
            !LoggingLevel::ALL
                .iter()
                .any(|known| level == known.as_str())
        }) {
            return Err(Refusal::new(-32602, "_meta names an unknown logLevel"));
        }
        let capabilities = &meta[format!("{ENVELOPE}clientCapabilities")];
        if !capabilities.is_object() {
            return Err(Refusal::new(-32602, "_meta has no clientCapabilities"));
        }
        Ok((*revision, capabilities.clone()))
    }

    fn handshake(&self, session: &Session, params: &Value) -> Result<Revision, Refusal> {
        let legacy = self.of_era(EraKind::Legacy);
        let Some(newest) = legacy.last().copied() else {
            let names: Vec<_> = self.revisions.iter().map(|it| it.as_str()).collect();
            let message = format!("this server speaks {} alone", names.join(", "));
            return Err(Refusal::new(-32601, &message));
        };
        let named = params["protocolVersion"].as_str();
        let info = &params["clientInfo"];
        let (Some(named), true, true) = (
            named,
            params["capabilities"].is_object(),
            info["name"].is_string() && info["version"].is_string(),
        ) else {
            return Err(Refusal::new(-32602, "initialize lacks a parameter"));
        };
        let found = legacy.iter().find(|it| it.as_str() == named);
        let revision = found.copied().unwrap_or(newest);
        session.open(revision, params["capabilities"].clone());
        Ok(revision)
    }

    fn notified(&self, session: &Session, method: &str, params: &Value) {
        match method {
            "notifications/cancelled" => session.cancel(&params["requestId"]),
            "notifications/initialized" => session.set_initialized(),
            _ => {}
        }
    }
}

/// Returns whether a request belongs to the modern era.
pub(super) fn is_modern(method: &str, params: &Value) -> bool {
    let meta = &params["_meta"];
    let marks = ["protocolVersion", "clientCapabilities"];
    let is_marked = |mark: &str| meta.get(format!("{ENVELOPE}{mark}")).is_some();
    method == "server/discover" || marks.iter().any(|mark| is_marked(mark))
}

/// Returns why a value is no message of JSON-RPC.
fn fault_of(message: &Value) -> Option<&'static str> {
    let Some(members) = message.as_object() else {
        return Some("a message is an object");
    };
    if members.get("jsonrpc") != Some(&"2.0".into()) {
        return Some("jsonrpc is not \"2.0\"");
    }
    if members.get("id").is_some_and(|id| !is_id(id)) {
        return Some("an id is a string or an integer");
    }
    let outcomes = ["result", "error"].map(|name| members.contains_key(name));
    match (members.get("method"), outcomes) {
        (Some(Value::String(_)), [false, false]) => {}
        (None, [true, false] | [false, true]) if members.contains_key("id") => return None,
        _ => return Some("neither a request nor a notification nor a response"),
    }
    let has_params = members.get("params").is_none_or(Value::is_object);
    (!has_params).then_some("params is an object")
}

fn is_id(id: &Value) -> bool {
    id.is_string() || id.is_i64() || id.is_u64()
}
