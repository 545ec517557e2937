//! What a client knows of each request beyond its types: what it is about, whether it may be sent
//! twice, and what is done with its result.

use std::any::Any;

use turnbuckle_session::About;
use turnbuckle_types::method::{
    CallTool, Complete, Discover, GetPrompt, ListPrompts, ListResourceTemplates, ListResources,
    ListTools, Ping, ReadResource, SetLevel, Subscribe, Unsubscribe,
};
use turnbuckle_types::{
    CacheScope, CallToolParams, CallToolResult, InputResponses, Json, ListToolsResult, RawJson,
    ReceivedBy, Request, Server,
};
use turnbuckle_wire::era::{Project, RESULT_TYPE};

use crate::Error;
use crate::client::Shared;
use crate::live::Live;
use crate::server::ServerInfo;

/// A request that a client makes of a server.
pub trait ServerMethod:
    ReceivedBy<Server>
    + Request<Params: Project + Clone + Sync, Result: Project + Clone + Sync>
    + sealed::Sealed
{
    /// Whether it may be sent again when it is not known whether the server acted upon it.
    #[doc(hidden)]
    const SAFE_AGAIN: bool;

    /// What the headers mirror.
    #[doc(hidden)]
    fn about(params: &Self::Params) -> About<'_> {
        let _ = params;
        About::default()
    }

    /// Decodes a result; `structured` says that only its structured form is wanted.
    #[doc(hidden)]
    fn decode(text: &str, structured: bool) -> Result<Self::Result, serde_json::Error> {
        let _ = structured;
        serde_json::from_str(text)
    }

    /// The type that a result says it has; `None` where it says none.
    #[doc(hidden)]
    fn said_type(result: &Self::Result) -> Option<&Json>;

    /// Whether the parameters hold what only the session that gave it out understands.
    #[doc(hidden)]
    fn is_bound(params: &Self::Params) -> bool {
        let _ = params;
        false
    }

    /// For how many milliseconds a result may be used again, and by whom, in its own words.
    #[doc(hidden)]
    fn lifetime(result: &Self::Result) -> (Option<u64>, Option<&CacheScope>) {
        let _ = result;
        (None, None)
    }

    /// Where answers and state go when the server asks for input first.
    #[doc(hidden)]
    fn input(params: &mut Self::Params) -> Option<(&mut InputResponses, &mut Option<String>)> {
        let _ = params;
        None
    }
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! methods {
    ($($Method:ident: $safe:literal $($kept:ident)? $(, about $about:expr)? $(, bound $bound:ident)? $(, input $input:ident)? $(, structured $structured:expr)?;)+) => {$(
        impl sealed::Sealed for $Method {}
        impl ServerMethod for $Method {
            const SAFE_AGAIN: bool = $safe;
            fn said_type(result: &Self::Result) -> Option<&Json> {
                result.extra.get(RESULT_TYPE)
            }
            $(fn about(params: &Self::Params) -> About<'_> {
                let about: fn(&Self::Params) -> About<'_> = $about;
                about(params)
            })?
            $(fn decode(text: &str, structured: bool) -> Result<Self::Result, serde_json::Error> {
                match structured {
                    true => $structured(text),
                    false => serde_json::from_str(text),
                }
            })?
            $(fn is_bound(params: &Self::Params) -> bool {
                params.$bound.is_some()
            })?
            $(fn lifetime(result: &Self::Result) -> (Option<u64>, Option<&CacheScope>) {
                methods!(@$kept result)
            })?
            $(fn input(
                params: &mut Self::Params,
            ) -> Option<(&mut InputResponses, &mut Option<String>)> {
                Some((&mut params.$input, &mut params.request_state))
            })?
        }
    )+};
    (@cacheable $result:ident) => {
        ($result.ttl_ms, $result.cache_scope.as_ref())
    };
}

methods! {
    Discover: true cacheable;
    Ping: true;
    ListTools: true cacheable, bound cursor;
    ListResources: true cacheable, bound cursor;
    ListResourceTemplates: true cacheable, bound cursor;
    ListPrompts: true cacheable, bound cursor;
    ReadResource: true cacheable, about |params| About { name: Some(&params.uri), ..About::default() },
        input input_responses;
    GetPrompt: true, about |params| About { name: Some(&params.name), ..About::default() },
        input input_responses;
    Complete: true;
    Subscribe: true;
    Unsubscribe: true;
    SetLevel: true;
    CallTool: false, about |params| About {
        name: Some(&params.name),
        arguments: params.arguments.as_ref().map(RawJson::from),
        ..About::default()
    }, input input_responses, structured CallToolResult::decode_structured;
}

/// Whether a server declared what a method needs. Asking for what it did not declare is refused
/// here: the server's answer would tell less.
///
/// Specification: basic/lifecycle, "Operation" (2025-11-25).
pub(crate) fn declared<M: ServerMethod>(server: &ServerInfo) -> Result<(), &'static str> {
    let capabilities = &server.capabilities;
    let features = server.revision.features();
    let (there, missing) = match M::METHOD {
        ListTools::METHOD | CallTool::METHOD => (
            capabilities.tools.is_some(),
            "the server does not declare tools",
        ),
        ListPrompts::METHOD | GetPrompt::METHOD => (
            capabilities.prompts.is_some(),
            "the server does not declare prompts",
        ),
        ListResources::METHOD | ListResourceTemplates::METHOD | ReadResource::METHOD => (
            capabilities.resources.is_some(),
            "the server does not declare resources",
        ),
        Complete::METHOD => (
            capabilities.completions.is_some() || !features.completions_capability,
            "the server does not declare completions",
        ),
        SetLevel::METHOD => (
            capabilities.logging.is_some(),
            "the server does not declare logging",
        ),
        Subscribe::METHOD | Unsubscribe::METHOD => (
            capabilities
                .resources
                .as_ref()
                .is_some_and(|resources| resources.subscribe == Some(true)),
            "the server does not declare resource subscriptions",
        ),
        _ => (true, ""),
    };
    match there {
        true => Ok(()),
        false => Err(missing),
    }
}

/// What is done with a result before its caller gets it.
pub(crate) fn settle<M: ServerMethod>(
    shared: &Shared,
    live: &Live,
    params: &M::Params,
    result: &mut M::Result,
) -> Result<(), Error> {
    let (any, params): (&mut dyn Any, &dyn Any) = (result, params);
    if let Some(list) = any.downcast_mut::<ListToolsResult>() {
        shared.tools.learn(live, list);
    } else if let (Some(result), Some(params)) = (
        any.downcast_ref::<CallToolResult>(),
        params.downcast_ref::<CallToolParams>(),
    ) {
        // Before it is unwrapped: the schema, too, is as the server's revision has it.
        shared.tools.check(live, &params.name, result)?;
    }
    result.restore();
    Ok(())
}
