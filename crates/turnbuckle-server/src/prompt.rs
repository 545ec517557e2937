//! Prompts: messages that a server has ready, filled in with a user's arguments.
//!
//! Specification: server/prompts (2026-07-28).

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use turnbuckle_session::{Handling, Method, Reply};
use turnbuckle_types::{Error, GetPromptResult, Map, PromptArgument, PromptMessage};

use crate::access::Access;
use crate::catalog::Item;
use crate::completion::{Completer, Completers};
use crate::context::Context;
use crate::error::BuildError;
use crate::failure::{Failure, Result};
use crate::handler::{Again, Run, handling};
use crate::item::item_setters;
use crate::name::check_prompt_name;
use crate::schema::{decode_arguments, input_schema_of};

/// A prompt: its definition and the function behind it. Made by [`prompt`].
pub struct Prompt {
    pub(crate) definition: turnbuckle_types::Prompt,
    pub(crate) access: Access,
    pub(crate) completers: Completers,
    call: Arc<dyn Callable>,
    /// Whether its argument type is one that a prompt can have.
    outcome: Result<(), String>,
}

/// A prompt under the name `name` that runs `handler`.
///
/// The handler is a function of the prompt's arguments and a [`Context`]. The arguments are a
/// struct of strings (`Option<String>` where one may be left out) that deserializes and has a JSON
/// schema, or `()` for none; its fields are listed as the prompt's arguments.
#[must_use]
pub fn prompt<H, A>(name: impl Into<String>, handler: H) -> Prompt
where
    H: PromptHandler<A>,
    A: DeserializeOwned + JsonSchema + Send + 'static,
{
    let mut definition = turnbuckle_types::Prompt::new(name);
    let (arguments, outcome) = match arguments_of::<A>() {
        Ok(arguments) => (arguments, Ok(())),
        Err(reason) => (Vec::new(), Err(reason)),
    };
    if !arguments.is_empty() {
        definition.arguments = Some(arguments);
    }
    Prompt {
        definition,
        access: Access::default(),
        completers: Completers::default(),
        call: Arc::new(Typed {
            handler,
            arguments: PhantomData,
        }),
        outcome,
    }
}

/// The fields of a type as a prompt's arguments, all of which are strings.
fn arguments_of<A: JsonSchema>() -> Result<Vec<PromptArgument>, String> {
    #[derive(Deserialize)]
    struct Root {
        #[serde(default)]
        properties: Map<Field>,
        #[serde(default)]
        required: Vec<String>,
    }
    #[derive(Deserialize)]
    struct Field {
        title: Option<String>,
        description: Option<String>,
        #[serde(rename = "type")]
        kind: Option<Kinds>,
    }
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Kinds {
        One(String),
        Several(Vec<String>),
    }
    impl Field {
        /// Whether a string may be its value; a schema that does not tell is given the benefit.
        fn takes_strings(&self) -> bool {
            match &self.kind {
                None => true,
                Some(Kinds::One(kind)) => kind == "string",
                Some(Kinds::Several(kinds)) => kinds.iter().any(|kind| kind == "string"),
            }
        }
    }
    let schema = input_schema_of::<A>().map_err(|error| error.to_string())?;
    let root: Root = serde_json::from_str(schema.as_str()).map_err(|error| error.to_string())?;
    let other = root
        .properties
        .iter()
        .find(|(_, field)| !field.takes_strings());
    if let Some((name, _)) = other {
        return Err(format!(
            "its argument {name:?} is no string, and clients send nothing else"
        ));
    }
    let named = |(name, field): (&str, &Field)| {
        let mut argument = PromptArgument::new(name);
        argument.title.clone_from(&field.title);
        argument.description.clone_from(&field.description);
        argument.required = Some(root.required.iter().any(|required| required == name));
        argument
    };
    Ok(root.properties.iter().map(named).collect())
}

impl Prompt {
    /// Suggests values for one of its arguments while the user types.
    #[must_use]
    pub fn complete(mut self, argument: impl Into<String>, completer: impl Completer) -> Self {
        self.completers.add(argument.into(), completer);
        self
    }

    item_setters!();

    pub(crate) fn register(self) -> Result<PromptEntry, BuildError> {
        let name = &self.definition.name;
        let fail = |reason: String| BuildError::new(format!("prompt {name:?}: {reason}"));
        check_prompt_name(name).map_err(|error| fail(error.to_string()))?;
        self.outcome.map_err(fail)?;
        let arguments = self.definition.arguments.as_deref().unwrap_or_default();
        if let Some(unknown) = self
            .completers
            .other_than(|known| arguments.iter().any(|argument| argument.name == known))
        {
            return Err(fail(format!(
                "it completes {unknown:?}, which is no argument of it"
            )));
        }
        Ok(PromptEntry {
            definition: self.definition,
            access: self.access,
            completers: self.completers,
            call: self.call,
        })
    }
}

impl fmt::Debug for Prompt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Prompt")
            .field("definition", &self.definition)
            .finish_non_exhaustive()
    }
}

/// A registered prompt.
pub(crate) struct PromptEntry {
    pub(crate) definition: turnbuckle_types::Prompt,
    access: Access,
    pub(crate) completers: Completers,
    call: Arc<dyn Callable>,
}

impl Item for PromptEntry {
    fn key(&self) -> &str {
        &self.definition.name
    }

    fn access(&self) -> &Access {
        &self.access
    }
}

impl PromptEntry {
    pub(crate) fn get(&self, arguments: Option<&RawValue>, context: Context) -> Handling {
        self.call.clone().call(arguments, context)
    }

    pub(crate) fn has_argument(&self, name: &str) -> bool {
        let arguments = self.definition.arguments.as_deref().unwrap_or_default();
        arguments.iter().any(|argument| argument.name == name)
    }
}

/// What a prompt may return.
pub trait PromptOutput: Send + 'static {
    /// The result.
    ///
    /// # Errors
    /// When it is a failure.
    fn into_result(self) -> Result<GetPromptResult>;
}

impl PromptOutput for GetPromptResult {
    fn into_result(self) -> Result<GetPromptResult> {
        Ok(self)
    }
}

impl PromptOutput for Vec<PromptMessage> {
    fn into_result(self) -> Result<GetPromptResult> {
        Ok(GetPromptResult::new(self))
    }
}

impl PromptOutput for PromptMessage {
    fn into_result(self) -> Result<GetPromptResult> {
        vec![self].into_result()
    }
}

impl PromptOutput for String {
    fn into_result(self) -> Result<GetPromptResult> {
        PromptMessage::user(turnbuckle_types::ContentBlock::text(self)).into_result()
    }
}

impl<T: PromptOutput, E: Into<Failure> + Send + 'static> PromptOutput
    for std::result::Result<T, E>
{
    fn into_result(self) -> Result<GetPromptResult> {
        self.map_err(Into::into)?.into_result()
    }
}

/// A function that can be a prompt: of its arguments and a [`Context`], async.
pub trait PromptHandler<A>: Send + Sync + 'static {
    /// What it returns.
    type Output: PromptOutput;

    /// Runs it.
    fn call(
        &self,
        arguments: A,
        context: Context,
    ) -> impl Future<Output = Self::Output> + Send + 'static;
}

impl<F, A, Fut> PromptHandler<A> for F
where
    F: Fn(A, Context) -> Fut + Send + Sync + 'static,
    Fut: Future<Output: PromptOutput> + Send + 'static,
{
    type Output = Fut::Output;

    fn call(
        &self,
        arguments: A,
        context: Context,
    ) -> impl Future<Output = Self::Output> + Send + 'static {
        self(arguments, context)
    }
}

trait Callable: Send + Sync {
    fn call(self: Arc<Self>, arguments: Option<&RawValue>, context: Context) -> Handling;
}

struct Typed<H, A> {
    handler: H,
    arguments: PhantomData<fn(A)>,
}

fn decode<A: DeserializeOwned>(arguments: Option<&RawValue>) -> Result<A, Error> {
    decode_arguments(arguments).map_err(|error| Error::invalid_params(error.to_string()))
}

impl<H, A> Callable for Typed<H, A>
where
    H: PromptHandler<A>,
    A: DeserializeOwned + Send + 'static,
{
    fn call(self: Arc<Self>, arguments: Option<&RawValue>, context: Context) -> Handling {
        let decoded: A = match decode(arguments) {
            Ok(decoded) => decoded,
            Err(error) => return Reply::Error(error).into(),
        };
        let run = self.handler.call(decoded, context.clone());
        handling(self, context, async move {
            Ok(Reply::complete(run.await.into_result()?))
        })
    }
}

impl<H, A> Again for Typed<H, A>
where
    H: PromptHandler<A>,
    A: DeserializeOwned + Send + 'static,
{
    fn again(self: Arc<Self>, context: Context) -> Run {
        Box::pin(async move {
            let decoded: A = decode(context.params().arguments)?;
            let result = self.handler.call(decoded, context).await.into_result()?;
            Ok(Reply::complete(result))
        })
    }

    fn tells(&self) -> bool {
        false
    }

    fn method(&self) -> Method {
        Method::GetPrompt
    }
}
