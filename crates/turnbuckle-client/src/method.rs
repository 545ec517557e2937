//! The requests that a client can send, and the facts about each of them that the client acts on.

use serde::de::DeserializeOwned;
use turnbuckle_session::internal::MirroredFields;
use turnbuckle_types::method::{
    CallTool, Complete, Discover, GetPrompt, LegacyCancelTask, LegacyGetTask, ListPrompts,
    ListResourceTemplates, ListResources, ListTasks, ListTools, Ping, ReadResource, SetLevel,
    Subscribe, Unsubscribe,
};
use turnbuckle_types::{
    CacheScope, CallToolResult, InputResponses, Json, Map, RawJson, ReceivedBy, Request, Server,
    TaskMetadata, describe_decode_error,
};
use turnbuckle_wire::era::{Project, RESULT_TYPE};
use turnbuckle_wire::json::read_members;
use turnbuckle_wire::revision::{Capability, Method};

use crate::connection::Connection;
use crate::error::Error;
use crate::server_info::ServerInfo;
use crate::tools::ToolDefinitions;

/// A request that a client may send to a server. Implemented for every such method of the protocol;
/// the trait is sealed.
pub trait ServerMethod:
    ReceivedBy<Server>
    + Request<Params: Project + Clone + Sync, Result: Project + Clone + Sync>
    + ClientRequest
{
}

/// The client's handling of one method: the parts of its parameters and of its result that the
/// client itself reads or changes. It stands in a private module and so seals [`ServerMethod`].
pub trait ClientRequest: Request {
    /// The row of this method in the table of methods.
    const FACTS: Method;

    /// Returns the parameters that HTTP headers mirror in the modern era.
    fn mirrored_fields(_: &Self::Params) -> MirroredFields<'_> {
        MirroredFields::default()
    }

    /// Decodes a result. With `structured_only`, a tool's content blocks are skipped.
    fn decode_result(text: &str, structured_only: bool) -> Result<Self::Result, serde_json::Error>;

    /// Decodes a page of a list without its malformed items and passes the name of each, and the
    /// reason, to `on_invalid`. Returns `None` for other methods, and if more than items is
    /// malformed.
    fn decode_valid_items(_: &str, _: &mut dyn FnMut(&str, &str)) -> Option<Self::Result> {
        None
    }

    /// Returns the `resultType` of a result, if it names one.
    fn result_type(result: &Self::Result) -> Option<&Json>;

    /// Returns whether the parameters hold a cursor, which in the legacy era only the session that
    /// issued it understands.
    fn has_cursor(_: &Self::Params) -> bool {
        false
    }

    /// Returns the caching hints of a result: `ttlMs` and `cacheScope`.
    fn cache_hints(_: &Self::Result) -> (Option<u64>, Option<&CacheScope>) {
        (None, None)
    }

    /// Returns the members `inputResponses` and `requestState` of the parameters; `None` for a
    /// method whose results never ask for input.
    fn input_members(_: &mut Self::Params) -> Option<(&mut InputResponses, &mut Option<String>)> {
        None
    }

    /// True if the server may answer with a task.
    const CAN_BE_TASK: bool = false;

    /// Returns the wish for a task of the core.
    fn task(_: &Self::Params) -> Option<&TaskMetadata> {
        None
    }

    /// Sets the wish for a task of the core.
    fn set_task(_: &mut Self::Params, _: Option<TaskMetadata>) {}

    /// Learns from a result, or checks it, before its projection is undone: definitions of tools
    /// are recorded, structured content is held against the tool's output schema.
    fn inspect(
        _: ResultInspector<'_>,
        _: &Self::Params,
        _: &mut Self::Result,
    ) -> Result<(), Error> {
        Ok(())
    }
}

/// The definitions of tools that a result is held against, and the connection that it came on.
#[derive(Clone, Copy)]
pub struct ResultInspector<'a> {
    tools: &'a ToolDefinitions,
    connection: &'a Connection,
    checks_output: bool,
}

impl<'a> ResultInspector<'a> {
    /// Creates an inspector. With `checks_output`, structured content is held against the schema of its tool.
    pub(crate) fn new(
        tools: &'a ToolDefinitions,
        connection: &'a Connection,
        checks_output: bool,
    ) -> Self {
        Self {
            tools,
            connection,
            checks_output,
        }
    }
}

/// Decodes a page whose items are in `member` once more, without the items that do not decode.
fn decode_valid_items<R: DeserializeOwned>(
    text: &str,
    member: &str,
    on_invalid: &mut dyn FnMut(&str, &str),
) -> Option<R> {
    let mut page: Map<Json> = serde_json::from_str(text).ok()?;
    let mut items: Vec<Json> = page.get(member)?.decode().ok()?;
    items.retain(|item| {
        let alone = format!("{{\"{member}\":[{}]}}", item.as_str());
        let Err(error) = serde_json::from_str::<R>(&alone) else {
            return true;
        };
        on_invalid(&name_of_item(item), &describe_decode_error(&error));
        false
    });
    page.insert(member, Json::encode(&items).ok()?);
    serde_json::from_str(&serde_json::to_string(&page).ok()?).ok()
}

/// Returns the name of an item that did not decode, or else its URI, or else nothing.
fn name_of_item(item: &Json) -> String {
    let members: Map<Json> = item.decode().unwrap_or_default();
    let text = |member: &str| members.get(member)?.decode::<String>().ok();
    let name = text("name").or_else(|| text("uri"));
    name.or_else(|| text("uriTemplate")).unwrap_or_default()
}

macro_rules! client_requests {
    ($($Method:ident { $($part:ident $(= $value:expr)?),* };)+) => {$(
        impl ServerMethod for $Method {}

        impl ClientRequest for $Method {
            const FACTS: Method = Method::$Method;

            fn result_type(result: &Self::Result) -> Option<&Json> {
                result.extra.get(RESULT_TYPE)
            }

            $(client_requests!(@$part $($value)?);)*
        }
    )+};
    (@plain) => {
        fn decode_result(text: &str, _: bool) -> Result<Self::Result, serde_json::Error> {
            serde_json::from_str(text)
        }
    };
    (@items $member:expr) => {
        fn decode_valid_items(
            text: &str,
            on_invalid: &mut dyn FnMut(&str, &str),
        ) -> Option<Self::Result> {
            decode_valid_items(text, $member, on_invalid)
        }
    };
    (@structured) => {
        fn decode_result(
            text: &str,
            structured_only: bool,
        ) -> Result<Self::Result, serde_json::Error> {
            match structured_only {
                true => match outline_structured(text) {
                    Some(result) => Ok(result),
                    None => CallToolResult::decode_structured(text),
                },
                false => serde_json::from_str(text),
            }
        }
    };
    (@cacheable) => {
        fn cache_hints(result: &Self::Result) -> (Option<u64>, Option<&CacheScope>) {
            (result.ttl_ms, result.cache_scope.as_ref())
        }
    };
    (@cursor) => {
        fn has_cursor(params: &Self::Params) -> bool {
            params.cursor.is_some()
        }
    };
    (@input) => {
        fn input_members(
            params: &mut Self::Params,
        ) -> Option<(&mut InputResponses, &mut Option<String>)> {
            Some((&mut params.input_responses, &mut params.request_state))
        }
    };
    (@task) => {
        const CAN_BE_TASK: bool = true;

        fn task(params: &Self::Params) -> Option<&TaskMetadata> {
            params.task.as_ref()
        }

        fn set_task(params: &mut Self::Params, task: Option<TaskMetadata>) {
            params.task = task;
        }
    };
    (@mirrored $mirrored:expr) => {
        fn mirrored_fields(params: &Self::Params) -> MirroredFields<'_> {
            let mirrored: fn(&Self::Params) -> MirroredFields<'_> = $mirrored;
            mirrored(params)
        }
    };
    (@inspect $inspect:expr) => {
        fn inspect(
            inspector: ResultInspector<'_>,
            params: &Self::Params,
            result: &mut Self::Result,
        ) -> Result<(), Error> {
            let inspect: fn(
                ResultInspector<'_>,
                &Self::Params,
                &mut Self::Result,
            ) -> Result<(), Error> = $inspect;
            inspect(inspector, params, result)
        }
    };
}

client_requests! {
    Discover { plain, cacheable };
    Ping { plain };
    ListTools { plain, items = "tools", cacheable, cursor, inspect = |inspector, _, list| {
        inspector.tools.record_page(inspector.connection, list);
        Ok(())
    } };
    ListResources { plain, items = "resources", cacheable, cursor };
    ListResourceTemplates { plain, items = "resourceTemplates", cacheable, cursor };
    ListPrompts { plain, items = "prompts", cacheable, cursor };
    ReadResource { plain, cacheable, input, mirrored = |params| MirroredFields {
        name: Some(&params.uri),
        ..MirroredFields::default()
    } };
    GetPrompt { plain, input, mirrored = |params| MirroredFields {
        name: Some(&params.name),
        ..MirroredFields::default()
    } };
    Complete { plain };
    Subscribe { plain };
    Unsubscribe { plain };
    SetLevel { plain };
    LegacyGetTask { plain };
    ListTasks { plain, cursor };
    LegacyCancelTask { plain };
    CallTool { structured, input, task, mirrored = |params| MirroredFields {
        name: Some(&params.name),
        arguments: params.arguments.as_ref().map(RawJson::from),
        ..MirroredFields::default()
    }, inspect = |inspector, params, result| {
        let ResultInspector { tools, connection, checks_output } = inspector;
        match checks_output {
            true => tools.check_structured_content(connection, &params.name, result),
            false => Ok(()),
        }
    } };
}

/// Checks that the server declared the capability that a method needs. The client refuses other
/// requests itself, since the server's error would say less.
///
/// Specification: basic/lifecycle, "Operation" (2025-11-25).
pub(crate) fn check_capability(method: Method, server: &ServerInfo) -> Result<(), Error> {
    let Some(capability) = method.capability() else {
        return Ok(());
    };
    if capability.is_declared_by_server(&server.capabilities)
        || !capability.exists_in(server.revision.features())
    {
        return Ok(());
    }
    Err(Error::Unsupported {
        method: method.as_str().to_owned(),
        reason: match capability {
            Capability::Tools => "the server does not declare tools",
            Capability::Prompts => "the server does not declare prompts",
            Capability::Resources => "the server does not declare resources",
            Capability::ResourceSubscriptions => "the server does not declare resources.subscribe",
            Capability::Completions => "the server does not declare completions",
            Capability::Logging => "the server does not declare logging",
            Capability::Tasks => "the server does not declare tasks",
            Capability::TaskList => "the server does not declare tasks.list",
            Capability::TaskCancel => "the server does not declare tasks.cancel",
            _ => "the server does not declare the capability",
        },
        revision: server.revision,
    })
}

/// Decodes the usual form of a tool's result with structured content, by its outline alone. Returns `None` for
/// any other result.
fn outline_structured(text: &str) -> Option<CallToolResult> {
    let mut result = CallToolResult::new();
    read_members(text, |name, value| {
        let is_first = match (name, value.as_str()) {
            ("content", _) => true,
            ("isError", "false") => result.is_error.replace(false).is_none(),
            ("structuredContent", content) if content.starts_with('{') => {
                let content = value.to_json();
                result.structured_content.replace(content).is_none()
            }
            ("_meta", _) if result.meta.is_empty() => {
                result.meta = value.decode().ok()?;
                true
            }
            (RESULT_TYPE, _) => result.extra.insert(name, value.to_json()).is_none(),
            _ => false,
        };
        is_first.then_some(())
    })?;
    result.structured_content.is_some().then_some(result)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_outline_of_a_structured_result_is_what_decoding_makes_of_it() {
        for usual in [
            r#"{"content":[{"type":"text","text":"\"}"}],"structuredContent":{"a":[1]},"isError":false}"#,
            r#" { "resultType" : "complete" , "structuredContent" : {} } "#,
            r#"{"structuredContent":{},"_meta":{"a/b":1}}"#,
        ] {
            let decoded = CallToolResult::decode_structured(usual).unwrap();
            assert_eq!(outline_structured(usual), Some(decoded), "{usual}");
        }
        for other in [
            r#"{"content":[]}"#,
            r#"{"structuredContent":null}"#,
            r#"{"structuredContent":{},"isError":true}"#,
            r#"{"structuredContent":{},"structuredContent":{}}"#,
            r#"{"structuredContent":{},"isError":false,"isError":false}"#,
            r#"{"structuredContent":{},"_meta":{"a/b":1},"_meta":{}}"#,
            r#"{"structuredContent":{},"_meta":1}"#,
            r#"{"structuredContent":{}},"#,
            r#"{"structuredContent":{1}}"#,
            r#"{"structured\u0043ontent":{}}"#,
        ] {
            assert_eq!(outline_structured(other), None, "{other}");
        }
    }
}
