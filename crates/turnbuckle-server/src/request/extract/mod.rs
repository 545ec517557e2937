//! Extractors: the types that a handler's parameters can have.
//!
//! A handler is a function of extractors, in any order. Each takes a part of the request:
//! its arguments, the client, a way to send messages, the server's state.

mod args;
#[cfg(feature = "http")]
mod http_extension;
mod parts;
mod principal;
mod requirements;
mod state;
mod states;

use turnbuckle_types::RawJson;

use crate::error::failure::{Failure, Result};
use crate::request::completion::CompletionRequest;
use crate::request::context::HandlerContext;
use crate::request::list::{ItemName, ListRequest};
use crate::request::read::ReadRequest;
use crate::schema::ArgumentReader;

pub use args::{Args, RawArguments};
#[cfg(feature = "http")]
pub use http_extension::HttpExtension;
pub use parts::{Cancellation, ClientInfo, HttpRequest, Log, Progress, ProgressValue};
pub use principal::Claims;
pub(crate) use requirements::AddRequirements;
pub use requirements::HandlerRequirements;
pub use state::State;
pub(crate) use states::States;

/// A type that a handler can have as a parameter, made from the request.
///
/// Implement it for your own types:
///
/// ```
/// use turnbuckle_server::{Extract, Failure, Invocation, Server, Tool};
///
/// struct User(String);
///
/// impl Extract for User {
///     async fn extract(invocation: &Invocation<'_>) -> Result<Self, Failure> {
///         let principal = invocation.context().principal();
///         let principal = principal.ok_or_else(|| Failure::new("sign in first"))?;
///         Ok(Self(find_name(&principal.subject).await?))
///     }
/// }
/// # async fn find_name(subject: &str) -> std::io::Result<String> { Ok(subject.to_owned()) }
///
/// let whoami = Tool::builder("whoami").handler(|User(name): User| name);
/// let server = Server::new("users", "1.0.0").tool(whoami).build()?;
/// # Ok::<(), turnbuckle_server::BuildError>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no extractor, so a handler cannot have it as a parameter",
    label = "not an extractor",
    note = "arguments come as `Args<T>`, where `T` derives `serde::Deserialize` and `schemars::JsonSchema`",
    note = "what the server's builder was given with `.state(…)` comes as `State<T>`",
    note = "or implement `turnbuckle::Extract` for it"
)]
pub trait Extract: Sized + Send + 'static {
    /// True if the future of [`extract`](Self::extract) is ready when it is first polled. A handler
    /// whose extractors are all ready at once runs in place, without an allocation of its own.
    ///
    /// If this is `true` and the future waits, the request ends with an internal error.
    const IS_READY: bool = false;

    /// Makes the parameter. It may wait, for a database for instance; the handler's timeout counts.
    ///
    /// A request that asks its client for input is run again with the answers, and its parameters
    /// are extracted again.
    ///
    /// # Errors
    /// When the request lacks a part that the parameter needs. The handler is not run then, and the
    /// failure is answered as if the handler had returned it: a
    /// [`ProtocolError`](turnbuckle_types::ProtocolError) as such, for instance
    /// [`invalid_params`](turnbuckle_types::ProtocolError::invalid_params) for a mistake of the
    /// client, [`forbidden`](turnbuckle_types::ProtocolError::forbidden) with the scopes that the
    /// caller lacks, and [`internal`](turnbuckle_types::ProtocolError::internal) for a fault of the
    /// server; everything else as an error result of a tool, and as an internal error elsewhere.
    fn extract(invocation: &Invocation<'_>) -> impl Future<Output = Result<Self>> + Send;

    /// Adds to `requirements` the state and the parts of the request that the handler needs.
    ///
    /// An extractor that is made of other extractors adds the requirements of each.
    fn add_requirements(requirements: &mut HandlerRequirements) {
        let _ = requirements;
    }
}

/// One call of a handler, from which its parameters are extracted.
#[derive(Debug)]
pub struct Invocation<'a> {
    pub(crate) context: &'a HandlerContext,
    pub(crate) payload: RequestPayload<'a>,
    pub(crate) reader: &'a ArgumentReader,
    /// The types of state that the handler takes.
    pub(crate) states: &'a States,
}

/// The part of a request that is meant for the handler.
#[derive(Debug, Clone, Copy)]
pub(crate) enum RequestPayload<'a> {
    /// The arguments of a tool or a prompt.
    Arguments(Option<RawJson<'a>>),
    /// The URI of a resource, with the variables of its template.
    Read(&'a ReadRequest),
    /// The argument to complete.
    Completion(&'a CompletionRequest),
    /// The page of a provider's list.
    List(&'a ListRequest),
    /// The name or URI that a provider looks up.
    Find(&'a str),
}

impl Invocation<'_> {
    /// Returns the context of the request.
    #[must_use]
    pub fn context(&self) -> &HandlerContext {
        self.context
    }
}

/// Extracts the whole context of the request, which has neither arguments nor state.
impl Extract for HandlerContext {
    const IS_READY: bool = true;

    async fn extract(invocation: &Invocation<'_>) -> Result<Self> {
        Ok(invocation.context.clone())
    }
}

/// Extracts nothing.
impl Extract for () {
    const IS_READY: bool = true;

    async fn extract(_: &Invocation<'_>) -> Result<Self> {
        Ok(())
    }
}

/// Implements [`Extract`] for the requests of single kinds of handlers.
macro_rules! payload_extractors {
    ($($(#[$doc:meta])* $Request:ty: $kind:ident($payload:ident) => $value:expr, or $error:literal;)*) => {$(
        $(#[$doc])*
        impl Extract for $Request {
            const IS_READY: bool = true;

            async fn extract(invocation: &Invocation<'_>) -> Result<Self> {
                match invocation.payload {
                    RequestPayload::$kind($payload) => Ok($value),
                    _ => Err(Failure::new($error)),
                }
            }
        }
    )*};
}

payload_extractors! {
    /// Extracts the URI and the template's variables, in the handler of a resource.
    ReadRequest: Read(request) => request.clone(),
        or "only the handler of a resource can take a ReadRequest";
    /// Extracts the argument to complete, in a completer.
    CompletionRequest: Completion(request) => request.clone(),
        or "only a completer can take a CompletionRequest";
    /// Extracts the page to list, in the `list` function of a provider.
    ListRequest: List(request) => request.clone(),
        or "only the list function of a provider can take a ListRequest";
    /// Extracts the name or URI to look up, in the `find` function of a provider.
    ItemName: Find(name) => Self(name.to_owned()),
        or "only the find function of a provider can take an ItemName";
}
