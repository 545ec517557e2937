//! A registered tool, whose schemas are made when they are first needed.

use std::sync::{Arc, OnceLock};

use turnbuckle_schema::{Profile, SchemaError};
use turnbuckle_session::internal::HandlerOutcome;
use turnbuckle_types::{ProtocolError, RawJson, Schema, Tool};
use turnbuckle_wire::era::headers::{HeaderSource, check_param_headers};
use turnbuckle_wire::era::{ParamHeader, Reply, param_headers};

use super::{TaskSupport, ToolDraft};
use crate::error::BuildError;
use crate::error::failure::Result;
#[cfg(feature = "tasks")]
use crate::handler::DetachedRequest;
use crate::handler::output::tool::OutputValidator;
use crate::handler::{ErasedHandler, HandlerRequest};
use crate::items::CatalogItem;
use crate::items::access::AccessRules;
use crate::items::with_item_info;
use crate::request::context::HandlerContext;
use crate::schema::{EnforcedSchema, SchemaFactory, compile, invalid, reorder_properties};

/// Makes the output schema of a type, if it has one.
pub(super) type OutputSchemaFactory = fn() -> Result<Option<Schema>, BuildError>;

/// A registered tool.
///
/// Its schemas are made when the tool is first listed or called, so that a thousand tools that
/// nobody uses cost next to nothing.
pub(crate) struct ToolEntry {
    /// The definition as the author gave it.
    draft: Box<ToolDraft>,
    call: Arc<dyn ErasedHandler>,
    factories: SchemaFactories,
    schemas: OnceLock<Result<ToolSchemas, BuildError>>,
}

/// The sources of the schemas of a tool.
#[derive(Debug, Clone, Copy)]
pub(super) struct SchemaFactories {
    /// Set if the input schema was not written by hand.
    pub(super) input: Option<SchemaFactory>,
    /// Set if the output schema was not written by hand.
    pub(super) output: Option<OutputSchemaFactory>,
    /// The names of the arguments in the order of their declaration.
    pub(super) order: &'static [&'static str],
    /// The dialect in which clients see schemas of types.
    pub(super) profile: Profile,
}

/// The schemas of types, where none was written by hand.
struct DerivedSchemas {
    input: Option<Schema>,
    output: Option<Schema>,
}

/// The schemas and headers that clients see.
#[derive(Debug)]
struct ToolSchemas {
    input: Schema,
    output: Option<Schema>,
    headers: Vec<ParamHeader>,
}

impl SchemaFactories {
    /// Creates the sources of a tool whose schemas are those of another server.
    pub(super) fn without_sources() -> Self {
        Self {
            input: None,
            output: None,
            order: &[],
            profile: Profile::Portable,
        }
    }

    fn derive(&self) -> Result<DerivedSchemas, BuildError> {
        Ok(DerivedSchemas {
            input: self.input.map(|make| make()).transpose()?,
            output: self.output.map_or(Ok(None), |make| make())?,
        })
    }

    fn make(&self, derived: &DerivedSchemas, draft: &ToolDraft) -> Result<ToolSchemas, BuildError> {
        let input = match &derived.input {
            Some(derived) => reorder_properties(
                for_clients(derived, self.profile.apply(derived))?,
                self.order,
            ),
            None => match (&draft.forwarded, &draft.input) {
                (Some(forwarded), _) => forwarded.input_schema.clone(),
                (None, Some(written)) => written.clone(),
                (None, None) => Schema::object(),
            },
        };
        let headers = param_headers(&input).map_err(|error| BuildError::new(error.to_string()))?;
        let output = match &derived.output {
            Some(derived) => Some(for_clients(
                derived,
                self.profile.apply_to_results(derived),
            )?),
            None => draft.output.clone(),
        };
        Ok(ToolSchemas {
            input,
            output,
            headers,
        })
    }
}

/// Returns a derived schema in the profile's dialect; unchanged if it would become too large.
fn for_clients(
    derived: &Schema,
    converted: Result<Schema, SchemaError>,
) -> Result<Schema, BuildError> {
    match converted {
        Ok(schema) => Ok(schema),
        Err(SchemaError::TooLarge) => Ok(derived.clone()),
        Err(fault) => Err(BuildError::new(fault.to_string())),
    }
}

impl ToolEntry {
    pub(super) fn new(
        draft: Box<ToolDraft>,
        call: Arc<dyn ErasedHandler>,
        factories: SchemaFactories,
    ) -> Self {
        Self {
            draft,
            call,
            factories,
            schemas: OnceLock::new(),
        }
    }

    /// Makes the schemas that are otherwise made when they are first needed.
    ///
    /// # Errors
    /// If a schema is not valid for a tool.
    pub(crate) fn make_schemas_now(&self) -> Result<(), BuildError> {
        let schemas = self.schemas.get_or_init(|| self.make()).as_ref();
        schemas
            .map(drop)
            .map_err(|error| self.draft.with_tool_name(error))
    }

    /// Makes the schemas and checks that values can be validated against them. Each type's schema
    /// is made once for both.
    pub(crate) fn check(&self) -> Result<(), BuildError> {
        let sound = || {
            let derived = self.factories.derive()?;
            let make = || self.factories.make(&derived, &self.draft);
            self.schemas
                .get_or_init(make)
                .as_ref()
                .map_err(Clone::clone)?;
            let DerivedSchemas { input, output } = &derived;
            let mut schemas = input.iter().chain(output);
            schemas.try_for_each(|schema| compile(schema).map(drop))
        };
        sound().map_err(|error| self.draft.with_tool_name(&error))
    }

    fn make(&self) -> Result<ToolSchemas, BuildError> {
        self.factories.make(&self.factories.derive()?, &self.draft)
    }

    /// Returns the schemas; makes them the first time, and logs an error if they are not valid.
    fn schemas(&self) -> Result<&ToolSchemas, &BuildError> {
        let make = || {
            let schemas = self.make();
            if let Err(error) = &schemas {
                let tool = &*self.draft.name;
                tracing::error!(
                    tool,
                    "the tool is not listed, since its schema is not valid: {error}"
                );
            }
            schemas
        };
        self.schemas.get_or_init(make).as_ref()
    }

    /// Returns the way in which calls become tasks; `None` if they never do.
    pub(crate) fn task_support(&self) -> Option<&TaskSupport> {
        self.draft.task.as_ref()
    }

    /// Returns the definition for `tools/list`; `None` if the schemas are not valid.
    pub(crate) fn definition(&self) -> Option<Tool> {
        let schemas = self.schemas().ok()?;
        if let Some(forwarded) = &self.draft.forwarded {
            let mut definition = Tool::clone(forwarded);
            definition.name = self.draft.name.clone().into_owned();
            if let Some(support) = self.task_support() {
                definition.execution = Some(support.to_execution());
            }
            return Some(definition);
        }
        let definition = Tool::new(&*self.draft.name, schemas.input.clone());
        let mut definition = with_item_info!(definition, self.draft.settings.info);
        definition.output_schema.clone_from(&schemas.output);
        definition.annotations = self.draft.annotations.as_deref().cloned();
        definition.execution = self.task_support().map(TaskSupport::to_execution);
        Some(definition)
    }

    /// Calls the tool, in its first or in a later round.
    ///
    /// `headers` are those of the HTTP request, if they have to mirror arguments.
    pub(crate) fn call(
        &self,
        arguments: Option<RawJson<'_>>,
        headers: Option<&dyn HeaderSource>,
        context: HandlerContext,
    ) -> HandlerOutcome {
        if let Err(error) = self.check_headers(arguments, headers) {
            return Reply::Error(error).into();
        }
        let request = HandlerRequest::new(context, arguments);
        self.call.clone().call(request)
    }

    /// Calls the tool with the arguments of the message, whose headers were checked before.
    #[cfg(feature = "tasks")]
    pub(crate) fn run(&self, context: HandlerContext) -> HandlerOutcome {
        let message = context.call.clone();
        self.call(message.params().arguments, None, context)
    }

    /// Calls the tool with a request whose headers were checked before.
    #[cfg(feature = "tasks")]
    pub(crate) fn run_request(&self, request: DetachedRequest) -> HandlerOutcome {
        request.call(self.call.clone())
    }

    /// Checks that the headers of an HTTP request mirror the arguments that they have to mirror.
    ///
    /// # Errors
    /// When they do not, or the schema of the tool is not valid.
    pub(crate) fn check_headers(
        &self,
        arguments: Option<RawJson<'_>>,
        headers: Option<&dyn HeaderSource>,
    ) -> Result<(), ProtocolError> {
        let schemas = self.schemas().map_err(invalid)?;
        match headers {
            None => Ok(()),
            Some(headers) => {
                check_param_headers(&schemas.headers, arguments, |name| headers.values(name))
            }
        }
    }
}

impl CatalogItem for ToolEntry {
    fn key(&self) -> &str {
        &self.draft.name
    }

    fn access(&self) -> &AccessRules {
        &self.draft.settings.access
    }
}

/// The validator of structured output, for types that do not guarantee their schema.
pub struct OutputSchemaCheck {
    make: OutputSchemaFactory,
    check: OnceLock<Result<Option<OutputValidator>, BuildError>>,
}

impl OutputSchemaCheck {
    /// Creates a check with a schema written by hand.
    pub(super) fn written(schema: EnforcedSchema) -> Self {
        Self {
            make: || Ok(None),
            check: OnceLock::from(Ok(Some(OutputValidator(schema)))),
        }
    }

    /// Creates a check with the schema of a type, which is made when it is first needed.
    pub(super) fn of_type(make: OutputSchemaFactory) -> Self {
        Self {
            make,
            check: OnceLock::new(),
        }
    }

    /// Returns the validator, if the output needs one.
    ///
    /// # Errors
    /// If the schema of a type is not valid.
    pub(super) fn check(&self) -> Result<Option<&OutputValidator>> {
        let make = || {
            Ok((self.make)()?.map(|schema| OutputValidator(EnforcedSchema::from_derived(schema))))
        };
        let check = self.check.get_or_init(make).as_ref();
        Ok(check.map_err(invalid)?.as_ref())
    }
}
