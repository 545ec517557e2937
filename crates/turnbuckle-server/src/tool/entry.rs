//! A registered tool, and what its types make of it when that is first needed.

use std::sync::{Arc, OnceLock};

use turnbuckle_schema::{Profile, SchemaFault};
use turnbuckle_session::Handling;
use turnbuckle_types::{RawJson, Schema, Tool};
use turnbuckle_wire::era::{ParamHeader, Reply, param_headers};

use super::Draft;
use crate::access::Access;
use crate::catalog::Item;
use crate::context::Context;
use crate::error::BuildError;
use crate::extract::MakeSchema;
use crate::failure::Result;
use crate::handler::{Callable, Request};
use crate::item::told;
use crate::output::OutputCheck;
use crate::schema::{Held, compile, in_order, invalid};

/// Makes the schema of a result, if it has one.
pub(super) type MakeOutput = fn() -> Result<Option<Schema>, BuildError>;

/// A registered tool.
///
/// A server begins with what is known of its tools without a schema. Those that types make are made
/// when a tool is first listed or called: a thousand tools that nobody asks for cost next to nothing.
pub(crate) struct ToolEntry {
    /// What its author said.
    draft: Box<Draft>,
    call: Arc<dyn Callable>,
    recipe: Recipe,
    made: OnceLock<Result<Made, BuildError>>,
}

/// How its schemas are made.
#[derive(Debug, Clone, Copy)]
pub(super) struct Recipe {
    /// Where the schema of the arguments was not written by hand.
    pub(super) input: Option<MakeSchema>,
    /// Where the schema of the result was not written by hand.
    pub(super) output: Option<MakeOutput>,
    /// The names of the arguments as they were declared.
    pub(super) order: &'static [&'static str],
    /// How clients are told what a type made.
    pub(super) profile: Profile,
}

/// The schemas that types made, where none was written by hand.
struct Derived {
    input: Option<Schema>,
    output: Option<Schema>,
}

/// What clients are told.
#[derive(Debug)]
struct Made {
    input: Schema,
    output: Option<Schema>,
    headers: Arc<[ParamHeader]>,
}

impl Recipe {
    fn derived(&self) -> Result<Derived, BuildError> {
        Ok(Derived {
            input: self.input.map(|make| make()).transpose()?,
            output: self.output.map_or(Ok(None), |make| make())?,
        })
    }

    fn make(&self, derived: &Derived, draft: &Draft) -> Result<Made, BuildError> {
        let input = match &derived.input {
            Some(derived) => in_order(self.told(derived)?, self.order),
            None => draft.input.clone().unwrap_or_else(Schema::object),
        };
        let headers = param_headers(&input).map_err(|error| BuildError::new(error.to_string()))?;
        Ok(Made {
            input,
            output: derived.output.clone().or_else(|| draft.output.clone()),
            headers: headers.into(),
        })
    }

    /// What clients are told instead of a schema that a type made. One that would become too large
    /// is told as it is.
    fn told(&self, derived: &Schema) -> Result<Schema, BuildError> {
        match self.profile.apply(derived) {
            Ok(told) => Ok(told),
            Err(SchemaFault::TooLarge) => Ok(derived.clone()),
            Err(fault) => Err(BuildError::new(fault.to_string())),
        }
    }
}

impl ToolEntry {
    pub(super) fn new(draft: Box<Draft>, call: Arc<dyn Callable>, recipe: Recipe) -> Self {
        Self {
            draft,
            call,
            recipe,
            made: OnceLock::new(),
        }
    }

    /// Makes now what is made when it is first needed.
    ///
    /// # Errors
    /// When a schema of its types is none that a tool can have.
    pub(crate) fn finish(&self) -> Result<(), BuildError> {
        let made = self.made.get_or_init(|| self.make()).as_ref();
        made.map(drop).map_err(|error| self.draft.named(error))
    }

    /// The same, and whether values can be held against its schemas: of each, what is kept and what
    /// is looked at are made at once.
    pub(crate) fn check(&self) -> Result<(), BuildError> {
        let sound = || {
            let derived = self.recipe.derived()?;
            let make = || self.recipe.make(&derived, &self.draft);
            self.made.get_or_init(make).as_ref().map_err(Clone::clone)?;
            let Derived { input, output } = &derived;
            let mut schemas = input.iter().chain(output);
            schemas.try_for_each(|schema| compile(schema).map(drop))
        };
        sound().map_err(|error| self.draft.named(&error))
    }

    fn make(&self) -> Result<Made, BuildError> {
        self.recipe.make(&self.recipe.derived()?, &self.draft)
    }

    fn made(&self) -> Result<&Made, &BuildError> {
        let make = || {
            let made = self.make();
            if let Err(error) = &made {
                let tool = &*self.draft.name;
                tracing::error!(tool, "the tool is not offered: {error}");
            }
            made
        };
        self.made.get_or_init(make).as_ref()
    }

    /// Its definition as clients are told it; none if its types do not make one.
    pub(crate) fn told(&self) -> Option<Tool> {
        let made = self.made().ok()?;
        let definition = Tool::new(&*self.draft.name, made.input.clone());
        let mut definition = told!(definition, self.draft.about);
        definition.output_schema.clone_from(&made.output);
        definition.annotations = self.draft.annotations.as_deref().cloned();
        Some(definition)
    }

    /// Which of its arguments are mirrored in headers.
    pub(crate) fn headers(&self) -> Arc<[ParamHeader]> {
        let made = self.made().ok();
        made.map(|made| made.headers.clone()).unwrap_or_default()
    }

    /// Calls it, in its first or a later round.
    pub(crate) fn call(&self, arguments: Option<RawJson<'_>>, context: Context) -> Handling {
        match self.made() {
            Ok(_) => self.call.clone().call(Request::new(context, arguments)),
            Err(error) => Reply::Error(invalid(error)).into(),
        }
    }
}

impl Item for ToolEntry {
    fn key(&self) -> &str {
        &self.draft.name
    }

    fn access(&self) -> &Access {
        &self.draft.access
    }
}

/// What structured output is held against, where its type does not vouch for that.
pub struct Outgoing {
    make: MakeOutput,
    check: OnceLock<Result<Option<OutputCheck>, BuildError>>,
}

impl Outgoing {
    /// A schema that was written by hand.
    pub(super) fn written(schema: Held) -> Self {
        Self {
            make: || Ok(None),
            check: OnceLock::from(Ok(Some(OutputCheck(schema)))),
        }
    }

    /// The schema that a type makes when it is first needed.
    pub(super) fn of_type(make: MakeOutput) -> Self {
        Self {
            make,
            check: OnceLock::new(),
        }
    }

    /// # Errors
    /// If a type made a schema that is not good.
    pub(super) fn check(&self) -> Result<Option<&OutputCheck>> {
        let make = || Ok((self.make)()?.map(|schema| OutputCheck(Held::derived(schema))));
        let check = self.check.get_or_init(make).as_ref();
        Ok(check.map_err(invalid)?.as_ref())
    }
}
