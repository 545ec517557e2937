//! The requests to a server, in the words of its era.

/// The way to a server, the load before it is measured, and the request that it gets then, once
/// and again.
#[derive(Clone)]
pub(super) struct Load {
    pub(super) binding: Binding,
    pub(super) era: Era,
    pub(super) before: Before,
    pub(super) request: Request,
}

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Binding {
    /// POSTs on one kept connection.
    Http,
    /// Lines on the process's own pipes.
    Stdio,
}

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Era {
    /// Every request has its envelope.
    Modern,
    /// The legacy words, and no handshake.
    Stateless,
    /// The legacy words after a handshake; on HTTP the session is named in every request.
    Session,
}

/// The load beside the one that is measured.
#[derive(Clone, Copy, Default)]
pub(super) struct Before {
    /// Idle legacy sessions on HTTP.
    pub(super) sessions: u64,
    /// Such sessions that have their stream open, on a connection of its own.
    pub(super) streams: u64,
    /// Subscriptions to resources that nothing happens to.
    pub(super) listens: u64,
    /// Calls that never end.
    pub(super) hanging: u64,
}

/// A request but for its id and its envelope.
#[derive(Clone)]
pub(super) struct Request {
    pub(super) method: &'static str,
    /// The name of the tool or resource.
    pub(super) target: Option<&'static str>,
    /// The members of its params.
    pub(super) params: String,
    /// The media types of an answer that its sender takes.
    pub(super) accepts: &'static str,
    /// True if the sender has a token.
    pub(super) has_token: bool,
    /// A text that every good answer holds.
    pub(super) answer_holds: &'static str,
    /// The bytes that every good answer has at least.
    pub(super) answer_bytes: usize,
}

/// The media types that a client accepts: an answer alone or a stream, or streams alone.
pub(super) const EITHER: &str = "application/json, text/event-stream";
const EVENTS: &str = "text/event-stream";

/// The size of a token: that of a JWT with a few claims.
const TOKEN_BYTES: usize = 600;

/// The request that opens a legacy session.
pub(super) const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"budget","version":"1"}}}"#;

/// The notification that ends the handshake.
pub(super) const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

const ENVELOPE: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"budget","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}},"#;

impl Request {
    fn new(method: &'static str, target: Option<&'static str>, params: String) -> Self {
        Self {
            method,
            target,
            params,
            accepts: EITHER,
            has_token: false,
            answer_holds: "",
            answer_bytes: 0,
        }
    }

    /// Returns a call of a tool whose arguments are `arguments`, and whose answer holds `answer`.
    pub(super) fn call(tool: &'static str, arguments: &str, answer: &'static str) -> Self {
        let params = format!(r#""name":"{tool}","arguments":{arguments}"#);
        Self {
            answer_holds: answer,
            ..Self::new("tools/call", Some(tool), params)
        }
    }

    /// Returns a call of a tool that echoes.
    pub(super) fn echo(tool: &'static str) -> Self {
        Self::call(tool, r#"{"message":"hello"}"#, "hello")
    }

    pub(super) fn list_tools(answer_bytes: usize) -> Self {
        Self {
            answer_holds: "\"tools\"",
            answer_bytes,
            ..Self::new("tools/list", None, String::new())
        }
    }

    pub(super) fn read(uri: &'static str, answer_bytes: usize) -> Self {
        Self {
            answer_holds: "\"contents\"",
            answer_bytes,
            ..Self::new("resources/read", Some(uri), format!(r#""uri":"{uri}""#))
        }
    }

    /// Returns a subscription to one resource.
    pub(super) fn listen(number: u64) -> Self {
        let params = format!(r#""notifications":{{"resourceSubscriptions":["file:///{number}"]}}"#);
        Self::new("subscriptions/listen", None, params)
    }

    /// Returns the same, with a token for progress reports.
    pub(super) fn reporting(mut self) -> Self {
        self.params.push_str(r#","_meta":{"progressToken":1}"#);
        self
    }

    /// Returns the same, with a token of the usual size.
    pub(super) fn with_token(mut self) -> Self {
        self.has_token = true;
        self
    }

    /// Returns the same, by a client that takes nothing but streams.
    pub(super) fn accept_only_streams(mut self) -> Self {
        self.accepts = EVENTS;
        self
    }

    pub(super) fn answer_bytes(mut self, bytes: usize) -> Self {
        self.answer_bytes = bytes;
        self
    }

    /// Returns the whole message.
    pub(super) fn message(&self, era: Era, id: u64) -> String {
        let envelope = match era {
            Era::Modern => ENVELOPE,
            Era::Stateless | Era::Session => "",
        };
        let mut params = format!("{envelope}{}", self.params);
        if params.ends_with(',') {
            params.pop();
        }
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"{}","params":{{{params}}}}}"#,
            self.method
        )
    }

    /// Returns the header lines that belong to it, each with its end.
    pub(super) fn headers(&self, era: Era) -> String {
        if era != Era::Modern {
            return "MCP-Protocol-Version: 2025-11-25\r\n".to_owned();
        }
        let mut headers = format!(
            "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: {}\r\n",
            self.method
        );
        if let Some(target) = self.target {
            headers.push_str(&format!("Mcp-Name: {target}\r\n"));
        }
        if self.has_token {
            let token = "t".repeat(TOKEN_BYTES);
            headers.push_str(&format!("Authorization: Bearer {token}\r\n"));
        }
        headers
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn every_message_is_json_with_its_id_and_envelope() {
        let requests = [
            Request::echo("echo"),
            Request::list_tools(0),
            Request::read("text://x", 0),
            Request::listen(7),
        ];
        for request in requests {
            for era in [Era::Modern, Era::Stateless, Era::Session] {
                let message: Value = serde_json::from_str(&request.message(era, 5)).unwrap();
                assert_eq!(message["id"], 5);
                assert_eq!(message["method"], request.method);
                let enveloped = !message["params"]["_meta"].is_null();
                assert_eq!(enveloped, era == Era::Modern);
                let named = request.headers(era).contains("Mcp-Name");
                assert_eq!(named, era == Era::Modern && request.target.is_some());
            }
        }
    }
}
