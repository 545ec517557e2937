//! Tools: functions with typed arguments, called by a model.
//!
//! Specification: server/tools (2026-07-28).

mod entry;
#[cfg(test)]
mod tests;

use std::fmt;

use turnbuckle_session::{Method, Reply};
use turnbuckle_types::{Schema, ToolAnnotations};

use crate::access::Access;
use crate::error::BuildError;
use crate::extract::Needs;
use crate::failure::Result;
use crate::handler::{Handler, InPlace, Kind, Maker, Returns, blocking_maker, maker};
use crate::item::item_setters;
use crate::name::{check_tool_name, is_long_tool_name};
use crate::output::ToolOutput;
use crate::policy::Policy;
use crate::schema::{Held, Intake};
use crate::scope::Scope;

pub(crate) use entry::ToolEntry;
use entry::{MakeOutput, Outgoing, Recipe};

/// A tool: its definition and the function behind it.
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
pub struct Tool {
    pub(crate) draft: Draft,
    make: Maker<Self>,
    needs: Needs,
    output: MakeOutput,
}

/// A tool that has no function yet; see [`Tool::builder`].
///
/// Specification: server/tools (2026-07-28).
#[must_use]
pub struct ToolBuilder {
    draft: Draft,
}

/// What is said of a tool. Its schemas are written by hand, or come from its function.
pub(crate) struct Draft {
    /// Apart, so that a tool is handed on cheaply.
    pub(crate) definition: Box<turnbuckle_types::Tool>,
    pub(crate) access: Access,
    pub(crate) policy: Policy,
    input: Origin,
    output: Origin,
}

/// Where a schema comes from, and so what has to be checked of values.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Origin {
    /// From the Rust types: what they carry fits, but for keywords that a type does not enforce.
    Derived,
    /// Written by hand: it is checked itself, and values against it.
    Written,
}

macro_rules! tool_setters {
    () => {
        /// Hints at how it behaves.
        pub fn annotations(mut self, annotations: ToolAnnotations) -> Self {
            self.draft.definition.annotations = Some(annotations);
            self
        }

        /// A schema for its arguments that is written by hand, instead of the one of their type. It
        /// is sent as it is, and arguments are checked against it before they are decoded.
        ///
        /// JSON Schema 2020-12 (the default) and draft-07 are understood; another `$schema`, or a
        /// `$ref` to somewhere else, is an error when the server is built.
        pub fn input_schema(mut self, schema: Schema) -> Self {
            self.draft.definition.input_schema = schema;
            self.draft.input = Origin::Written;
            self
        }

        /// A schema for its structured output that is written by hand. Every result is held
        /// against it: one that does not conform is an internal error.
        pub fn output_schema(mut self, schema: Schema) -> Self {
            self.draft.definition.output_schema = Some(schema);
            self.draft.output = Origin::Written;
            self
        }

        item_setters!("Tool");
    };
}

impl ToolBuilder {
    tool_setters!();

    /// The function that it runs: of extractors, sync or async; see [`Handler`].
    ///
    /// The arguments are an [`Args<T>`](crate::Args), and their schema is what clients see, doc
    /// comments included. What it returns is told as text, or as structured data
    /// ([`Structured`](crate::Structured)); an error is told to the model.
    pub fn handler<H, M>(self, handler: H) -> Tool
    where
        H: Handler<Tool, M, Output: ToolOutput>,
        M: 'static,
    {
        let mut needs = Needs::default();
        H::needs(&mut needs);
        Tool {
            draft: self.draft,
            make: maker(handler, needs.asks),
            needs,
            output: H::Output::output_schema,
        }
    }

    /// A sync function that holds its thread, instead of a [`handler`](Self::handler): it reads
    /// files, computes, or calls what blocks. It runs on a pool of the server's, up to
    /// [`max_blocking`](crate::ServerBuilder::max_blocking) of them at once; further calls wait.
    ///
    /// Nothing can stop it in the middle: one that takes long looks at [`Cancel`](crate::Cancel)
    /// now and then.
    pub fn blocking<H, E>(self, handler: H) -> Tool
    where
        H: Handler<Tool, InPlace<E>, Output: ToolOutput>,
        E: 'static,
    {
        let mut needs = Needs::default();
        H::needs(&mut needs);
        Tool {
            draft: self.draft,
            make: blocking_maker(handler, needs.asks),
            needs,
            output: H::Output::output_schema,
        }
    }
}

impl Tool {
    /// Begins a tool of that name: 1 to 128 of the characters `A-Z a-z 0-9 _ - .`
    pub fn builder(name: impl Into<String>) -> ToolBuilder {
        ToolBuilder {
            draft: Draft {
                definition: Box::new(turnbuckle_types::Tool::new(name, Schema::object())),
                access: Access::default(),
                policy: Policy::default(),
                input: Origin::Derived,
                output: Origin::Derived,
            },
        }
    }

    tool_setters!();

    /// Checks what can be checked without a schema that a type makes.
    pub(crate) fn register(mut self, scope: &Scope) -> Result<ToolEntry, BuildError> {
        let name = std::mem::take(&mut self.draft.definition.name);
        self.draft.definition.name = scope.name_of_tool(name)?;
        let checks = self.checks(scope);
        let (intake, outgoing, recipe) = checks.map_err(|error| {
            let name = &self.draft.definition.name;
            BuildError::new(format!("tool {name:?}: {error}"))
        })?;
        let sure = recipe.input.is_some() && !self.needs.unsure;
        let Draft {
            definition,
            access,
            policy,
            ..
        } = self.draft;
        let call = (self.make)(outgoing, intake, scope);
        let call = scope.guard::<Self>(call, &definition.name, &policy);
        let entry = ToolEntry::new(definition, scope.access(access), call, recipe);
        if !sure {
            entry.finish()?;
        }
        Ok(entry)
    }

    fn checks(&self, scope: &Scope) -> Result<(Intake, Outgoing, Recipe), BuildError> {
        let definition = &self.draft.definition;
        check_tool_name(&definition.name).map_err(|error| BuildError::new(error.to_string()))?;
        if is_long_tool_name(&definition.name) {
            tracing::warn!(
                tool = definition.name,
                "some clients refuse tool names of more than 64 characters"
            );
        }
        scope.provide(&self.needs)?;
        let source = self.needs.source()?;
        let mut recipe = Recipe {
            input: Some(source),
            output: Some(self.output),
            order: self.needs.order,
            schemas: scope.schemas,
        };
        let mut held = Held::of_type(source);
        if self.draft.input == Origin::Written {
            recipe.input = None;
            held = Held::written(&definition.input_schema, true, &scope.schemas.limits)?;
        }
        let mut outgoing = Outgoing::of_type(self.output);
        if let (Origin::Written, Some(schema)) = (self.draft.output, &definition.output_schema) {
            recipe.output = None;
            outgoing = Outgoing::written(Held::written(schema, false, &scope.schemas.limits)?);
        }
        let unread = self.needs.arguments.is_none();
        let intake = Intake::new(held, scope.schemas.lenient, unread);
        Ok((intake, outgoing, recipe))
    }
}

impl fmt::Debug for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tool")
            .field("definition", &self.draft.definition)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for ToolBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolBuilder")
            .field("definition", &self.draft.definition)
            .finish_non_exhaustive()
    }
}

impl Kind for Tool {
    type Frame = Outgoing;

    const METHOD: Method = Method::CallTool;
    const TELLS: bool = true;
    const ATTRIBUTE: Option<&'static str> = Some("tool");
}

impl<T: ToolOutput> Returns<Tool> for T {
    fn reply(self, outgoing: &Outgoing, _: Option<&str>) -> Result<Reply> {
        if let Some(schema) = outgoing.check()? {
            self.check(schema)?;
        }
        self.into_reply()
    }
}
