//! What a handler's parameters are made from.
//!
//! A handler is a function of extractors, in any order. Each takes what it needs from the request:
//! its arguments, who asks, the way back, the server's state.

mod args;
mod parts;
mod state;

use std::any::TypeId;

use turnbuckle_types::{RawJson, Schema};

use crate::completion::Typing;
use crate::context::Context;
use crate::error::BuildError;
use crate::failure::{Failure, Result};
use crate::resource::Reading;
use crate::schema::{Intake, input_schema_of};

pub use args::{Args, RawArguments};
pub use parts::{Cancel, Client, Http, Log, Progress};
pub use state::State;
pub(crate) use state::States;

/// Makes a handler's parameter from its request.
///
/// Implement it for a type of your own to hand it to handlers:
///
/// ```
/// use turnbuckle_server::{Context, Extract, Failure, Incoming, Server, Tool};
///
/// struct User(String);
///
/// impl Extract for User {
///     fn extract(incoming: &Incoming<'_>) -> Result<Self, Failure> {
///         let principal = incoming.context().principal();
///         let principal = principal.ok_or_else(|| Failure::new("sign in first"))?;
///         Ok(Self(principal.subject.clone()))
///     }
/// }
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
    /// Makes it.
    ///
    /// # Errors
    /// When the request has not what it needs: the handler is not run then, and the failure is
    /// answered as if the handler had returned it.
    fn extract(incoming: &Incoming<'_>) -> Result<Self>;

    /// Says what has to be there before the first request comes. One that is made of others says
    /// what they need.
    fn needs(needs: &mut Needs) {
        let _ = needs;
    }
}

/// A request that a handler is about to be run for.
#[derive(Debug)]
pub struct Incoming<'a> {
    pub(crate) context: &'a Context,
    pub(crate) subject: Subject<'a>,
    pub(crate) intake: &'a Intake,
    pub(crate) states: &'a States,
}

/// What a request brings for its handler.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Subject<'a> {
    /// The arguments of a tool or a prompt.
    Arguments(Option<RawJson<'a>>),
    /// The URI of a resource, and what a template's variables are in it.
    Reading(&'a Reading),
    /// What is being typed.
    Typing(&'a Typing),
}

impl Incoming<'_> {
    /// Everything that is known of the request.
    #[must_use]
    pub fn context(&self) -> &Context {
        self.context
    }
}

/// Makes the schema of a type.
pub(crate) type MakeSchema = fn() -> Result<Schema, BuildError>;

/// Says what a handler needs.
pub(crate) type Declare = fn(&mut Needs);

/// What handlers need when their server is built.
#[derive(Debug, Default)]
pub struct Needs {
    pub(crate) arguments: Option<MakeSchema>,
    /// The names of the arguments as they were declared.
    pub(crate) order: &'static [&'static str],
    /// Whether only the schema tells that the arguments are an object.
    pub(crate) unsure: bool,
    pub(crate) states: Vec<(TypeId, &'static str)>,
    pub(crate) asks: bool,
    pub(crate) http: bool,
    /// Two parameters want the arguments.
    torn: bool,
}

impl Needs {
    pub(crate) fn of(declare: Declare) -> Self {
        let mut needs = Self::default();
        declare(&mut needs);
        needs
    }

    pub(crate) fn arguments(&mut self, schema: MakeSchema) {
        self.torn |= self.arguments.replace(schema).is_some();
    }

    /// What makes the schema of the arguments that the handler takes.
    pub(crate) fn source(&self) -> Result<MakeSchema, BuildError> {
        if self.torn {
            return Err(BuildError::new(
                "two parameters of the handler take its arguments: put them into one struct",
            ));
        }
        Ok(self.arguments.unwrap_or(derived::<()>))
    }

    /// The schema of the arguments that the handler takes.
    pub(crate) fn schema(&self) -> Result<Schema, BuildError> {
        self.source()?()
    }
}

fn derived<T: schemars::JsonSchema>() -> Result<Schema, BuildError> {
    input_schema_of::<T>().map_err(|error| BuildError::new(error.to_string()))
}

/// The request: who asks, its progress, its log, its end, its `_meta`; neither arguments nor state.
impl Extract for Context {
    fn extract(incoming: &Incoming<'_>) -> Result<Self> {
        Ok(incoming.context.clone())
    }
}

/// Nothing.
impl Extract for () {
    fn extract(_: &Incoming<'_>) -> Result<Self> {
        Ok(())
    }
}

/// What is read, in a resource's handler.
impl Extract for Reading {
    fn extract(incoming: &Incoming<'_>) -> Result<Self> {
        match incoming.subject {
            Subject::Reading(reading) => Ok(reading.clone()),
            _ => Err(Failure::new("only what reads a resource has a Reading")),
        }
    }
}

/// What is being typed, in a completer.
impl Extract for Typing {
    fn extract(incoming: &Incoming<'_>) -> Result<Self> {
        match incoming.subject {
            Subject::Typing(typing) => Ok(typing.clone()),
            _ => Err(Failure::new("only a completer has a Typing")),
        }
    }
}
