//! Tools: functions with typed arguments, called by a model.
//!
//! Specification: server/tools (2026-07-28).

mod entry;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::fmt;

use turnbuckle_types::{Schema, ToolAnnotations};
use turnbuckle_wire::era::Reply;
use turnbuckle_wire::revision::Method;

use crate::access::Access;
use crate::error::BuildError;
use crate::extract::{Declare, Needs};
use crate::failure::Result;
use crate::handler::{Handler, InPlace, Kind, Maker, Returns, blocking_maker, maker};
use crate::item::{About, item_setters};
use crate::name::{check_tool_name, is_long_tool_name};
use crate::output::ToolOutput;
use crate::policy::Policy;
use crate::schema::{Held, Intake};
use crate::scope::{Schemas, Scope};

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
    pub(crate) draft: Box<Draft>,
    make: Maker<Self>,
    needs: Declare,
    output: MakeOutput,
}

/// A tool that has no function yet; see [`Tool::builder`].
///
/// Specification: server/tools (2026-07-28).
#[must_use]
pub struct ToolBuilder {
    /// Apart, so that a tool is handed on cheaply.
    draft: Box<Draft>,
}

/// What is said of a tool. A schema that is not written by hand comes from its function's types:
/// what they carry fits, but for keywords that a type does not enforce.
pub(crate) struct Draft {
    name: Cow<'static, str>,
    pub(crate) about: About,
    annotations: Option<Box<ToolAnnotations>>,
    /// Written by hand: it is checked itself, and values against it.
    input: Option<Schema>,
    /// The same.
    output: Option<Schema>,
    pub(crate) access: Access,
    pub(crate) policy: Policy,
}

macro_rules! tool_setters {
    () => {
        /// Hints at how it behaves.
        pub fn annotations(mut self, annotations: ToolAnnotations) -> Self {
            self.draft.annotations = Some(Box::new(annotations));
            self
        }

        /// A schema for its arguments that is written by hand, instead of the one of their type. It
        /// is sent as it is, and arguments are checked against it before they are decoded.
        ///
        /// JSON Schema 2020-12 (the default) and draft-07 are understood; another `$schema`, or a
        /// `$ref` to somewhere else, is an error when the server is built.
        pub fn input_schema(mut self, schema: Schema) -> Self {
            self.draft.input = Some(schema);
            self
        }

        /// A schema for its structured output that is written by hand. Every result is held
        /// against it: one that does not conform is an internal error.
        pub fn output_schema(mut self, schema: Schema) -> Self {
            self.draft.output = Some(schema);
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
        Tool {
            draft: self.draft,
            make: maker(handler),
            needs: H::needs,
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
        Tool {
            draft: self.draft,
            make: blocking_maker(handler),
            needs: H::needs,
            output: H::Output::output_schema,
        }
    }
}

impl Tool {
    /// Begins a tool of that name: 1 to 128 of the characters `A-Z a-z 0-9 _ - .`
    pub fn builder(name: impl Into<Cow<'static, str>>) -> ToolBuilder {
        ToolBuilder {
            draft: Box::new(Draft {
                name: name.into(),
                about: About::default(),
                annotations: None,
                input: None,
                output: None,
                access: Access::default(),
                policy: Policy::default(),
            }),
        }
    }

    tool_setters!();

    /// Checks what can be checked without a schema that a type makes.
    pub(crate) fn register(self, scope: &Scope) -> Result<ToolEntry, BuildError> {
        let Self {
            mut draft,
            make,
            needs,
            output,
        } = self;
        draft.name = scope.name_of_tool(draft.name)?;
        let needs = Needs::of(needs);
        let checks = draft.checks(&needs, output, scope);
        let (intake, outgoing, recipe) = checks.map_err(|error| draft.named(&error))?;
        draft.access = scope.access(std::mem::take(&mut draft.access));
        let call = make(outgoing, intake, scope, needs.asks);
        let call = scope.guard::<Self>(call, &draft.name, &draft.policy);
        let sure = recipe.input.is_some() && !needs.unsure;
        let entry = ToolEntry::new(draft, call, recipe);
        if !sure {
            entry.finish()?;
        }
        Ok(entry)
    }
}

impl Draft {
    fn checks(
        &self,
        needs: &Needs,
        output: MakeOutput,
        scope: &Scope,
    ) -> Result<(Intake, Outgoing, Recipe), BuildError> {
        check_tool_name(&self.name).map_err(|error| BuildError::new(error.to_string()))?;
        if is_long_tool_name(&self.name) {
            tracing::warn!(
                tool = &*self.name,
                "some clients refuse tool names of more than 64 characters"
            );
        }
        scope.provide(needs)?;
        let source = needs.source()?;
        let Schemas {
            profile,
            lenient,
            ref limits,
        } = scope.schemas;
        let held = match &self.input {
            None => Held::of_type(source),
            Some(schema) => Held::written(schema, true, limits)?,
        };
        let outgoing = match &self.output {
            None => Outgoing::of_type(output),
            Some(schema) => Outgoing::written(Held::written(schema, false, limits)?),
        };
        let recipe = Recipe {
            input: self.input.is_none().then_some(source),
            output: self.output.is_none().then_some(output),
            order: needs.order,
            profile,
        };
        let intake = Intake::new(held, lenient, needs.arguments.is_none());
        Ok((intake, outgoing, recipe))
    }

    fn named(&self, error: &BuildError) -> BuildError {
        BuildError::new(format!("tool {:?}: {error}", self.name))
    }
}

impl fmt::Debug for Draft {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Draft")
            .field("name", &self.name)
            .field("about", &self.about)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tool")
            .field("draft", &self.draft)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for ToolBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolBuilder")
            .field("draft", &self.draft)
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
