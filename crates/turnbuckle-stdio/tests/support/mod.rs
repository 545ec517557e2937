//! A server with the tools that the tests need.

use std::sync::Arc;
use std::time::Duration;

use turnbuckle_session::handler::RequestContext;
use turnbuckle_session::internal::{HandlerOutcome, IncomingRequest, ServerIdentity};
use turnbuckle_session::transport::Dispatch;
use turnbuckle_types::{
    CallToolResult, ErrorKind, Implementation, ListCapability, ProtocolError, RawJson,
    ServerCapabilities,
};
use turnbuckle_wire::era::{EncodedResult, Reply};
use turnbuckle_wire::revision::Method;

/// A server with the tools `echo` (returns its arguments), `print`, `read`, `later`, `never` and
/// `lines` (a response with line breaks).
pub(crate) struct TestServer(ServerIdentity);

impl TestServer {
    pub(crate) fn dispatch() -> Arc<dyn Dispatch> {
        Arc::new(Self(ServerIdentity {
            info: Implementation::new("small", "1.0.0"),
            capabilities: ServerCapabilities::new().tools(ListCapability::new()),
            instructions: None,
            include_in_results: false,
            ttl_ms: 0,
            public: false,
        }))
    }
}

impl Dispatch for TestServer {
    fn identity(&self) -> &ServerIdentity {
        &self.0
    }

    fn call(&self, call: IncomingRequest<'_>, _: RequestContext) -> HandlerOutcome {
        if call.method != Some(Method::CallTool) {
            return Reply::from(ProtocolError::new(
                ErrorKind::MethodNotFound,
                "only tools here",
            ))
            .into();
        }
        let name = call.params.name.and_then(RawJson::text).unwrap_or_default();
        let text = |text: &str| Reply::complete(CallToolResult::from_text(text));
        match &*name {
            "echo" => text(call.params.arguments.map_or("", |raw| raw.as_str())).into(),
            #[allow(clippy::print_stdout, reason = "the tool prints on purpose")]
            "print" => {
                println!("printed by a handler");
                print!("and not ended");
                text("printed").into()
            }
            "read" => {
                let mut line = String::new();
                let read = std::io::stdin().read_line(&mut line);
                text(&format!("read {read:?} bytes")).into()
            }
            "later" => HandlerOutcome::Pending(Box::pin(async move {
                tokio::time::sleep(Duration::from_millis(300)).await;
                Reply::complete(CallToolResult::from_text("later"))
            })),
            "never" => HandlerOutcome::Pending(Box::pin(std::future::pending())),
            "lines" => Reply::Complete(Box::new(EncodedResult::object(
                "{\n\"resultType\":\"complete\",\r\n\"content\":[]\n}",
            )))
            .into(),
            _ => Reply::from(ProtocolError::invalid_params("there is no such tool")).into(),
        }
    }
}
