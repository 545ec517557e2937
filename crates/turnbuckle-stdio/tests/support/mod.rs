//! A small server: what it can do is what the tests need.

use std::sync::Arc;
use std::time::Duration;

use turnbuckle_session::{Call, Context, Dispatch, Handling, Identity};
use turnbuckle_types::{
    CallToolResult, Error, ErrorKind, Implementation, ListCapability, Principal, RawJson,
    ServerCapabilities,
};
use turnbuckle_wire::era::{Encoded, ParamHeader, Reply};
use turnbuckle_wire::revision::Method;

/// Answers `tools/call`: `echo` says its arguments, the others do what they are called.
pub(crate) struct Small(Identity);

impl Small {
    pub(crate) fn dispatch() -> Arc<dyn Dispatch> {
        Arc::new(Self(Identity {
            info: Implementation::new("small", "1.0.0"),
            capabilities: ServerCapabilities::new().tools(ListCapability::new()),
            instructions: None,
            in_every_result: false,
            ttl_ms: 0,
            public: false,
        }))
    }
}

impl Dispatch for Small {
    fn identity(&self) -> &Identity {
        &self.0
    }

    fn call(&self, call: Call<'_>, _: Context) -> Handling {
        if call.method != Some(Method::CallTool) {
            return Reply::from(Error::new(ErrorKind::UnknownMethod, "only tools here")).into();
        }
        let name = call.params.name.and_then(RawJson::text).unwrap_or_default();
        let text = |text: &str| Reply::complete(CallToolResult::text(text));
        match &*name {
            "echo" => text(call.params.arguments.map_or("", |raw| raw.as_str())).into(),
            #[allow(clippy::print_stdout, reason = "it must not harm")]
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
            "later" => Handling::Pending(Box::pin(async move {
                tokio::time::sleep(Duration::from_millis(300)).await;
                Reply::complete(CallToolResult::text("later"))
            })),
            "never" => Handling::Pending(Box::pin(std::future::pending())),
            "lines" => Reply::Complete(Box::new(Encoded::object(
                "{\n\"resultType\":\"complete\",\r\n\"content\":[]\n}",
            )))
            .into(),
            _ => Reply::from(Error::invalid_params("there is no such tool")).into(),
        }
    }

    fn mirrored(&self, _: &str, _: Option<&Principal>) -> Arc<[ParamHeader]> {
        Arc::new([])
    }
}
