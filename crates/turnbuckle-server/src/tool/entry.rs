//! A registered tool, and what its types make of it when that is first needed.

use std::sync::{Arc, OnceLock};

use serde_json::value::RawValue;
use turnbuckle_session::{Handling, ParamHeader, Reply, param_headers};
use turnbuckle_types::{Schema, Tool};

use crate::access::Access;
use crate::catalog::Item;
use crate::context::Context;
use crate::error::BuildError;
use crate::extract::MakeSchema;
use crate::failure::Result;
use crate::handler::{Callable, Request};
use crate::output::OutputCheck;
use crate::schema::{Held, compile, in_order, invalid};
use crate::scope::Schemas;

/// Makes the schema of a result, if it has one.
pub(super) type MakeOutput = fn() -> Result<Option<Schema>, BuildError>;

/// A registered tool.
///
/// A server begins with what is known of its tools without a schema. Those that types make are made
/// when a tool is first listed or called: a thousand tools that nobody asks for cost next to nothing.
pub(crate) struct ToolEntry {
    /// What its author said.
    definition: Box<Tool>,
    access: Access,
    call: Arc<dyn Callable>,
    recipe: Recipe,
    made: OnceLock<Result<Made, BuildError>>,
}

/// How the rest of a definition is made.
#[derive(Debug, Clone, Copy)]
pub(super) struct Recipe {
    /// Where the schema of the arguments was not written by hand.
    pub(super) input: Option<MakeSchema>,
    /// Where the schema of the result was not written by hand.
    pub(super) output: Option<MakeOutput>,
    /// The names of the arguments as they were declared.
    pub(super) order: &'static [&'static str],
    pub(super) schemas: Schemas,
}

/// The rest of a definition.
#[derive(Debug)]
struct Made {
    input: Schema,
    output: Option<Schema>,
    headers: Arc<[ParamHeader]>,
}

impl Recipe {
    fn make(&self, definition: &Tool) -> Result<Made, BuildError> {
        let input = match self.input {
            Some(make) => in_order(self.schemas.told(&make()?)?, self.order),
            None => definition.input_schema.clone(),
        };
        let output = match self.output {
            Some(make) => make()?,
            None => definition.output_schema.clone(),
        };
        let headers = param_headers(&input).map_err(|error| BuildError::new(error.to_string()))?;
        Ok(Made {
            input,
            output,
            headers: headers.into(),
        })
    }
}

impl ToolEntry {
    pub(super) fn new(
        definition: Box<Tool>,
        access: Access,
        call: Arc<dyn Callable>,
        recipe: Recipe,
    ) -> Self {
        Self {
            definition,
            access,
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
        let made = self
            .made
            .get_or_init(|| self.recipe.make(&self.definition))
            .as_ref();
        made.map(drop).map_err(|error| self.named(error))
    }

    /// The same, and whether values can be held against its schemas.
    pub(crate) fn check(&self) -> Result<(), BuildError> {
        self.finish()?;
        let arguments = self.recipe.input.map(|make| make()).transpose();
        let result = self.recipe.output.map_or(Ok(None), |make| make());
        let sound = || {
            let schemas = [arguments?, result?];
            schemas
                .iter()
                .flatten()
                .try_for_each(|it| compile(it).map(drop))
        };
        sound().map_err(|error| self.named(&error))
    }

    fn named(&self, error: &BuildError) -> BuildError {
        BuildError::new(format!("tool {:?}: {error}", self.definition.name))
    }

    fn made(&self) -> Result<&Made, &BuildError> {
        let make = || {
            let made = self.recipe.make(&self.definition);
            if let Err(error) = &made {
                let tool = &self.definition.name;
                tracing::error!(tool, "the tool is not offered: {error}");
            }
            made
        };
        self.made.get_or_init(make).as_ref()
    }

    /// Its definition as clients are told it; none if its types do not make one.
    pub(crate) fn told(&self) -> Option<Tool> {
        let made = self.made().ok()?;
        let mut definition = Tool::clone(&self.definition);
        definition.input_schema = made.input.clone();
        definition.output_schema.clone_from(&made.output);
        Some(definition)
    }

    /// Which of its arguments are mirrored in headers.
    pub(crate) fn headers(&self) -> Arc<[ParamHeader]> {
        let made = self.made().ok();
        made.map(|made| made.headers.clone()).unwrap_or_default()
    }

    /// Calls it, in its first or a later round.
    pub(crate) fn call(&self, arguments: Option<&RawValue>, context: Context) -> Handling {
        match self.made() {
            Ok(_) => self.call.clone().call(Request::new(context, arguments)),
            Err(error) => Reply::Error(invalid(error)).into(),
        }
    }
}

impl Item for ToolEntry {
    fn key(&self) -> &str {
        &self.definition.name
    }

    fn access(&self) -> &Access {
        &self.access
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
