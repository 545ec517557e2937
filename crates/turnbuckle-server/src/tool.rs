//! Tools: functions with typed arguments, called by a model.
//!
//! Specification: server/tools (2026-07-28).

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use turnbuckle_session::{Handling, Method, ParamHeader, Reply, param_headers};
use turnbuckle_types::{CallToolResult, Json, Schema, ToolAnnotations};

use crate::access::Access;
use crate::catalog::Item;
use crate::context::Context;
use crate::error::BuildError;
use crate::failure::Failure;
use crate::handler::{Again, Run, handling};
use crate::item::item_setters;
use crate::name::{check_tool_name, is_long_tool_name};
use crate::output::{OutputCheck, ToolOutput};
use crate::schema::{
    ArgumentError, Enforcer, Place, decode_arguments, input_schema_of, needs_validator,
};

/// A tool: its definition and the function behind it. Made by [`tool`].
pub struct Tool {
    pub(crate) definition: turnbuckle_types::Tool,
    pub(crate) access: Access,
    call: Box<dyn FnOnce(Option<OutputCheck>) -> Arc<dyn Callable> + Send + Sync>,
    input: Origin,
    output: Origin,
}

/// Where a schema comes from, and so what has to be checked of values.
enum Origin {
    /// From the Rust types: what they carry fits, but for keywords that a type does not enforce.
    Derived(Result<(), BuildError>),
    /// Written by hand: it is checked itself, and values against it.
    Written,
}

impl Origin {
    /// The schema to hold values against, if they have to be.
    fn enforcer(self, schema: &Schema, place: Place) -> Result<Option<Enforcer>, BuildError> {
        match self {
            Self::Derived(Err(error)) => Err(error),
            Self::Derived(Ok(())) => {
                Ok(needs_validator(schema).then(|| Enforcer::derived(schema, place)))
            }
            Self::Written => Enforcer::written(schema, place)
                .map(Some)
                .map_err(|error| BuildError::new(error.to_string())),
        }
    }
}

/// A tool under the name `name` that runs `handler`.
///
/// The handler is a function of the tool's arguments and a [`Context`]. The arguments are any type
/// that deserializes and has a JSON schema, `()` for none; the schema is what clients see, doc
/// comments included. What it returns is told as text, or as structured data
/// ([`Structured`](crate::Structured)); an error is told to the model.
///
/// A handler that captures something is a closure that returns a future,
/// `move |arguments, context| async move { … }`: an async closure that captures is not `Fn`.
///
/// ```
/// # use turnbuckle_server::{Context, tool};
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct Add {
///     a: i64,
///     b: i64,
/// }
///
/// let add = tool("add", async |add: Add, _: Context| (add.a + add.b).to_string())
///     .description("Adds two numbers");
/// # let _ = add;
/// ```
#[must_use]
pub fn tool<H, A>(name: impl Into<String>, handler: H) -> Tool
where
    H: ToolHandler<A>,
    A: DeserializeOwned + JsonSchema + Send + 'static,
{
    let (schema, input) = match input_schema_of::<A>() {
        Ok(schema) => (schema, Ok(())),
        Err(error) => (Schema::object(), Err(BuildError::new(error.to_string()))),
    };
    let mut definition = turnbuckle_types::Tool::new(name, schema);
    let output = H::Output::output_schema().map(|schema| definition.output_schema = schema);
    Tool {
        definition,
        access: Access::default(),
        call: Box::new(|output| {
            Arc::new(Typed {
                handler,
                output,
                arguments: PhantomData,
            })
        }),
        input: Origin::Derived(input),
        output: Origin::Derived(output),
    }
}

impl Tool {
    /// Hints at how it behaves.
    #[must_use]
    pub fn annotations(mut self, annotations: ToolAnnotations) -> Self {
        self.definition.annotations = Some(annotations);
        self
    }

    /// A schema for its arguments that is written by hand, instead of the one of their type. It is
    /// sent as it is, and arguments are checked against it before they are decoded.
    ///
    /// JSON Schema 2020-12 (the default) and draft-07 are understood; another `$schema`, or a
    /// `$ref` to somewhere else, is an error when the server is built.
    #[must_use]
    pub fn input_schema(mut self, schema: Schema) -> Self {
        self.definition.input_schema = schema;
        self.input = Origin::Written;
        self
    }

    /// A schema for its structured output that is written by hand. Every result is held against
    /// it: one that does not conform is an internal error.
    #[must_use]
    pub fn output_schema(mut self, schema: Schema) -> Self {
        self.definition.output_schema = Some(schema);
        self.output = Origin::Written;
        self
    }

    item_setters!();

    /// Checks what can be checked, once.
    pub(crate) fn register(self) -> Result<ToolEntry, BuildError> {
        let name = self.definition.name.clone();
        let fail = |reason: String| BuildError::new(format!("tool {name:?}: {reason}"));
        check_tool_name(&name).map_err(|error| fail(error.to_string()))?;
        if is_long_tool_name(&name) {
            tracing::warn!(
                tool = name,
                "some clients refuse tool names of more than 64 characters"
            );
        }
        let input = &self.definition.input_schema;
        let enforcer = self.input.enforcer(input, Place::Input);
        let enforcer = enforcer.map_err(|error| fail(error.to_string()))?;
        let output = match (&self.definition.output_schema, self.output) {
            (Some(schema), origin) => origin.enforcer(schema, Place::Output),
            (None, Origin::Derived(outcome)) => outcome.map(|()| None),
            (None, Origin::Written) => Ok(None),
        };
        let output = output.map_err(|error| fail(error.to_string()))?;
        let headers = param_headers(input).map_err(|error| fail(error.to_string()))?;
        Ok(ToolEntry {
            definition: self.definition,
            access: self.access,
            call: (self.call)(output.map(OutputCheck)),
            enforcer,
            headers: headers.into(),
        })
    }
}

impl fmt::Debug for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tool")
            .field("definition", &self.definition)
            .finish_non_exhaustive()
    }
}

/// A registered tool.
pub(crate) struct ToolEntry {
    pub(crate) definition: turnbuckle_types::Tool,
    access: Access,
    call: Arc<dyn Callable>,
    enforcer: Option<Enforcer>,
    pub(crate) headers: Arc<[ParamHeader]>,
}

impl Item for ToolEntry {
    fn key(&self) -> &str {
        &self.definition.name
    }

    fn access(&self) -> &Access {
        &self.access
    }
}

impl ToolEntry {
    /// Calls it, in its first or a later round.
    pub(crate) fn call(&self, arguments: Option<&RawValue>, context: Context) -> Handling {
        if let Some(enforcer) = &self.enforcer {
            let validator = match enforcer.validator() {
                Ok(validator) => validator,
                Err(error) => return Reply::Error(error).into(),
            };
            let valid = match arguments {
                Some(arguments) => validator.validate(arguments),
                None => {
                    validator.validate_value(&serde_json::Value::Object(serde_json::Map::new()))
                }
            };
            if let Err(violations) = valid {
                return bad_arguments(self.key(), &violations.into());
            }
        }
        self.call.clone().call(self.key(), arguments, context)
    }
}

/// Bad arguments are told to the model, so that it can do better.
fn bad_arguments(name: &str, error: &ArgumentError) -> Handling {
    let text = format!("Invalid arguments for tool {name:?}: {error}");
    Reply::complete(CallToolResult::error(text)).into()
}

/// A function that can be a tool: of its arguments and a [`Context`], async.
pub trait ToolHandler<A>: Send + Sync + 'static {
    /// What it returns.
    type Output: ToolOutput;

    /// Runs it.
    fn call(
        &self,
        arguments: A,
        context: Context,
    ) -> impl Future<Output = Self::Output> + Send + 'static;
}

impl<F, A, Fut> ToolHandler<A> for F
where
    F: Fn(A, Context) -> Fut + Send + Sync + 'static,
    Fut: Future<Output: ToolOutput> + Send + 'static,
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

/// A handler whose argument type is no longer seen.
trait Callable: Send + Sync {
    fn call(self: Arc<Self>, name: &str, arguments: Option<&RawValue>, cx: Context) -> Handling;
}

struct Typed<H, A> {
    handler: H,
    /// What its output is held against, where its type does not vouch for that.
    output: Option<OutputCheck>,
    arguments: PhantomData<fn(A)>,
}

impl<H, A> Typed<H, A> {
    fn reply(&self, output: impl ToolOutput) -> crate::Result<Reply> {
        if let Some(schema) = &self.output {
            output.check(schema)?;
        }
        output.into_reply()
    }
}

impl<H, A> Callable for Typed<H, A>
where
    H: ToolHandler<A>,
    A: DeserializeOwned + Send + 'static,
{
    fn call(
        self: Arc<Self>,
        name: &str,
        arguments: Option<&RawValue>,
        context: Context,
    ) -> Handling {
        let decoded: A = match decode_arguments(arguments) {
            Ok(decoded) => decoded,
            Err(error) => return bad_arguments(name, &error),
        };
        let run = self.handler.call(decoded, context.clone());
        let this = self.clone();
        handling(self, context, async move { this.reply(run.await) })
    }
}

impl<H, A> Again for Typed<H, A>
where
    H: ToolHandler<A>,
    A: DeserializeOwned + Send + 'static,
{
    fn again(self: Arc<Self>, context: Context) -> Run {
        Box::pin(async move {
            let decoded: A = {
                let params = context.params();
                decode_arguments(params.arguments).map_err(|e| Failure::new(e.to_string()))?
            };
            let output = self.handler.call(decoded, context).await;
            self.reply(output)
        })
    }

    fn tells(&self) -> bool {
        true
    }

    fn method(&self) -> Method {
        Method::CallTool
    }
}

/// Arguments as they came, for tools with a schema that is written by hand.
#[derive(Debug, Clone, serde::Deserialize)]
#[serde(transparent)]
pub struct RawArguments(pub Json);

impl JsonSchema for RawArguments {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "RawArguments".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "object" })
    }
}
