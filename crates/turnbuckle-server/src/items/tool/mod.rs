//! Tools: functions with typed arguments that a model can call.
//!
//! Specification: server/tools (2026-07-28).

mod entry;
mod task_support;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::sync::Arc;

use turnbuckle_types::base::{debug_fields, setters};
use turnbuckle_types::{Schema, ToolAnnotations};
use turnbuckle_wire::era::Reply;
use turnbuckle_wire::revision::Method;

use crate::error::BuildError;
use crate::error::failure::Result;
use crate::handler::CallKind;
use crate::handler::output::tool::ToolOutput;
use crate::handler::{
    Handler, HandlerFactory, HandlerKind, HandlerOutput, SyncMarker, blocking_handler_factory,
    handler_factory,
};
use crate::items::registration::{Registration, SchemaOptions};
use crate::items::{ItemSettings, NoHandler, item_setters};
use crate::name_rules::{check_tool_name, is_long_tool_name};
use crate::request::extract::{AddRequirements, HandlerRequirements};
use crate::schema::{ArgumentReader, EnforcedSchema};

pub(crate) use entry::ToolEntry;
use entry::{OutputSchemaCheck, OutputSchemaFactory, SchemaFactories};
pub use task_support::TaskSupport;

/// A tool: its definition and its handler.
///
/// ```
/// use turnbuckle_server::{Args, Tool};
///
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct Add {
///     a: i64,
///     b: i64,
/// }
///
/// let add = Tool::builder("add")
///     .description("Adds two numbers")
///     .handler(|Args(add): Args<Add>| (add.a + add.b).to_string());
/// ```
///
/// Specification: server/tools (2026-07-28).
#[must_use]
pub struct Tool<H = ToolHandler> {
    /// Boxed, so that passing a tool from setter to setter moves one pointer.
    pub(crate) draft: Box<ToolDraft>,
    handler: H,
}

/// The function that a tool runs.
pub struct ToolHandler {
    make: HandlerFactory<Tool>,
    needs: AddRequirements,
    /// Makes the output schema of the type that the function returns.
    output: OutputSchemaFactory,
}

/// The definition of a tool before its registration.
///
/// A schema that is not written by hand comes from the types of the handler, which guarantee it
/// except for keywords that a type does not enforce.
#[derive(Debug)]
pub(crate) struct ToolDraft {
    name: Cow<'static, str>,
    pub(crate) settings: ItemSettings,
    annotations: Option<Box<ToolAnnotations>>,
    /// Set if calls may become tasks.
    task: Option<TaskSupport>,
    /// The definition of the server that runs the tool.
    forwarded: Option<Arc<turnbuckle_types::Tool>>,
    /// The input schema written by hand, if any. It is validated itself, and arguments against it.
    input: Option<Schema>,
    /// The output schema written by hand, if any. It is validated itself, and structured output
    /// against it.
    output: Option<Schema>,
}

impl<H> Tool<H> {
    setters! {
        /// Sets hints about the tool's behaviour.
        annotations(annotations: ToolAnnotations) {
            draft.annotations = Some(Box::new(annotations))
        }

        /// Lets calls of the tool become tasks: work that goes on after its request.
        task(support: TaskSupport) { draft.task = Some(support) }

        /// Sets an input schema written by hand, instead of the one of the arguments' type. It is
        /// sent unchanged, and arguments are validated against it before they are decoded.
        ///
        /// JSON Schema 2020-12 (the default) and draft-07 are supported. Another `$schema`, or a
        /// `$ref` to another document, is an error when the server is built.
        input_schema(schema: Schema) { draft.input = Some(schema) }

        /// Sets an output schema written by hand. Every result is validated against it; a result
        /// that does not match is an internal error.
        output_schema(schema: Schema) { draft.output = Some(schema) }

        /// Sends this definition as it is, under the name of the builder, for a tool that another server runs.
        /// Neither arguments nor output are checked against its schemas: that server does so.
        foreign_definition(definition: Arc<turnbuckle_types::Tool>) { draft.forwarded = Some(definition) }
    }

    item_setters!("Tool");
}

impl Tool<NoHandler> {
    /// Sets the function that the tool runs: sync or async, with extractors as parameters; see
    /// [`Handler`].
    ///
    /// Arguments are an [`Args<T>`](crate::Args), whose schema clients see, doc comments included.
    /// The output is sent as text, or as structured data with [`Structured`](crate::Structured). An
    /// error is sent to the model as an error result.
    pub fn handler<H, M>(self, handler: H) -> Tool
    where
        H: Handler<Tool, M, Output: ToolOutput>,
        M: 'static,
    {
        self.with_handler(ToolHandler {
            make: handler_factory(handler),
            needs: H::add_requirements,
            output: H::Output::output_schema,
        })
    }

    /// Sets a sync function that holds its thread, because it reads files, computes or calls
    /// blocking code.
    ///
    /// It runs on the runtime's blocking pool, up to
    /// [`max_blocking`](crate::ServerBuilder::max_blocking) at once; further calls wait. A running
    /// function cannot be stopped: one that takes long should look at
    /// [`Cancellation`](crate::Cancellation) now and then.
    pub fn blocking<H, E>(self, handler: H) -> Tool
    where
        H: Handler<Tool, SyncMarker<E>, Output: ToolOutput>,
        E: 'static,
    {
        self.with_handler(ToolHandler {
            make: blocking_handler_factory(handler),
            needs: H::add_requirements,
            output: H::Output::output_schema,
        })
    }

    fn with_handler(self, handler: ToolHandler) -> Tool {
        Tool {
            draft: self.draft,
            handler,
        }
    }
    /// Starts a tool with this name: 1 to 128 of the characters `A-Z a-z 0-9 _ - .`
    pub fn builder(name: impl Into<Cow<'static, str>>) -> Self {
        Self {
            draft: Box::new(ToolDraft {
                name: name.into(),
                settings: ItemSettings::default(),
                annotations: None,
                task: None,
                forwarded: None,
                input: None,
                output: None,
            }),
            handler: NoHandler,
        }
    }
}

impl Tool {
    /// Checks everything that does not need the schema of a type, and makes the tool callable.
    pub(crate) fn register(self, registration: &Registration) -> Result<ToolEntry, BuildError> {
        let Self { mut draft, handler } = self;
        draft.name = registration.tool_name(draft.name)?;
        let needs = HandlerRequirements::collect(handler.needs);
        let prepare = draft.prepare(&needs, handler.output, registration);
        let (reader, output_check, factories) =
            prepare.map_err(|error| draft.with_tool_name(&error))?;
        let ItemSettings { access, policy, .. } = &mut draft.settings;
        *access = registration.access(std::mem::take(access));
        let settings = registration.handler_settings(needs.asks, policy);
        let call = (handler.make)(output_check, reader, &settings);
        let forwarded = draft.forwarded.as_deref();
        let annotations =
            forwarded.map_or(draft.annotations.as_deref(), |it| it.annotations.as_ref());
        let read_only = annotations.and_then(|hints| hints.read_only_hint) == Some(true);
        let policy = &draft.settings.policy;
        let call = registration.wrap_handler::<Self>(call, &draft.name, read_only, policy);
        let sure = factories.input.is_some() && !needs.object_unproven;
        let entry = ToolEntry::new(draft, call, factories);
        if !sure {
            entry.make_schemas_now()?;
        }
        Ok(entry)
    }
}

impl ToolDraft {
    /// Checks the draft and prepares its schemas.
    fn prepare(
        &self,
        needs: &HandlerRequirements,
        output: OutputSchemaFactory,
        registration: &Registration,
    ) -> Result<(ArgumentReader, OutputSchemaCheck, SchemaFactories), BuildError> {
        check_tool_name(&self.name).map_err(|error| BuildError::new(error.to_string()))?;
        if is_long_tool_name(&self.name) {
            tracing::warn!(
                tool = &*self.name,
                "some clients refuse tool names of more than 64 characters"
            );
        }
        registration.check_requirements(needs)?;
        registration.check_tasks(self.task.is_some())?;
        let source = needs.schema_factory()?;
        if self.forwarded.is_some() {
            let factories = SchemaFactories::without_sources();
            let unchecked = OutputSchemaCheck::of_type(|| Ok(None));
            return Ok((ArgumentReader::without_arguments(), unchecked, factories));
        }
        let SchemaOptions {
            profile, lenient, ..
        } = registration.schemas;
        let schema = match &self.input {
            None => EnforcedSchema::of_type(source),
            Some(written) => registration.compile_schema(written, true)?,
        };
        let output_check = match &self.output {
            None => OutputSchemaCheck::of_type(output),
            Some(schema) => OutputSchemaCheck::written(registration.compile_schema(schema, false)?),
        };
        let factories = SchemaFactories {
            input: self.input.is_none().then_some(source),
            output: self.output.is_none().then_some(output),
            order: needs.order,
            profile,
        };
        let reader = ArgumentReader::new(schema, lenient, needs.arguments.is_none());
        Ok((reader, output_check, factories))
    }

    /// Adds the tool's name to an error.
    fn with_tool_name(&self, error: &BuildError) -> BuildError {
        BuildError::new(format!("tool {:?}: {error}", self.name))
    }
}

debug_fields!([H] Tool<H> { draft });

impl HandlerKind for Tool {
    type ReplyOptions = OutputSchemaCheck;
    type Reply = Reply;

    const METHOD: Method = Method::CallTool;
    const ERRORS_IN_RESULT: bool = true;
    const CALL_KIND: CallKind = CallKind::Tool;
}

impl<T: ToolOutput> HandlerOutput<Tool> for T {
    fn into_handler_reply(
        self,
        output_check: &OutputSchemaCheck,
        _: Option<&str>,
    ) -> Result<Reply> {
        if let Some(schema) = output_check.check()? {
            self.check(schema)?;
        }
        self.into_reply()
    }
}
