//! Prompts: templates of messages, filled in with a user's arguments.
//!
//! Specification: server/prompts (2026-07-28).

use std::borrow::Cow;
use std::sync::Arc;

use serde::Deserialize;
use turnbuckle_session::internal::HandlerOutcome;
use turnbuckle_types::base::debug_fields;
use turnbuckle_types::{Map, PromptArgument, RawJson, Schema};
use turnbuckle_wire::era::Reply;
use turnbuckle_wire::revision::Method;

use crate::error::BuildError;
use crate::error::failure::Result;
use crate::handler::CallKind;
use crate::handler::output::prompt::PromptOutput;
use crate::handler::{
    ErasedHandler, Handler, HandlerFactory, HandlerKind, HandlerOutput, HandlerRequest, SyncMarker,
    blocking_handler_factory, handler_factory,
};
use crate::items::CatalogItem;
use crate::items::access::AccessRules;
use crate::items::completion::{Completer, CompleterEntries, Completers};
use crate::items::registration::Registration;
use crate::items::{ItemInfo, ItemSettings, NoHandler, item_setters, with_item_info};
use crate::name_rules::check_prompt_name;
use crate::request::context::HandlerContext;
use crate::request::extract::{AddRequirements, HandlerRequirements};
use crate::schema::{ArgumentReader, EnforcedSchema, check_constraints, reorder_properties};

/// A prompt: its definition and its handler.
///
/// ```
/// use turnbuckle_server::{Args, Prompt};
///
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct Review {
///     /// What to look at.
///     code: String,
/// }
///
/// let review = Prompt::builder("review")
///     .handler(|Args(review): Args<Review>| format!("Review this: {}", review.code));
/// ```
///
/// Specification: server/prompts (2026-07-28).
#[must_use]
pub struct Prompt<H = PromptHandler> {
    /// Boxed, so that passing a prompt from setter to setter moves one pointer.
    pub(crate) draft: Box<PromptDraft>,
    handler: H,
}

/// The function that creates the messages of a prompt.
pub struct PromptHandler {
    make: HandlerFactory<Prompt>,
    needs: AddRequirements,
}

/// The definition of a prompt before its registration.
pub(crate) struct PromptDraft {
    name: Cow<'static, str>,
    settings: ItemSettings,
    pub(crate) completers: Completers,
    /// The arguments to list, if they do not follow from the handler.
    arguments: Option<Vec<PromptArgument>>,
    /// The definition of the server that has the prompt.
    forwarded: Option<Arc<turnbuckle_types::Prompt>>,
}

impl<H> Prompt<H> {
    /// Sets the arguments that the prompt lists, instead of those that follow from the handler's
    /// parameters. This is for prompts whose arguments are known only at run time; the handler
    /// takes them as [`RawArguments`](crate::RawArguments).
    pub fn arguments(mut self, arguments: impl IntoIterator<Item = PromptArgument>) -> Self {
        self.draft.arguments = Some(arguments.into_iter().collect());
        self
    }

    /// Sends this definition as it is, under the name of the builder, for a prompt that another server has.
    /// Arguments are not checked: that server does so.
    pub fn foreign_definition(mut self, definition: Arc<turnbuckle_types::Prompt>) -> Self {
        self.draft.arguments = Some(definition.arguments.clone().unwrap_or_default());
        self.draft.forwarded = Some(definition);
        self
    }

    /// Sets a completer for one of the arguments.
    pub fn complete<C, M>(mut self, argument: impl Into<String>, completer: C) -> Self
    where
        C: Handler<Completer, M>,
        M: 'static,
    {
        self.draft.completers.add(argument.into(), completer);
        self
    }

    item_setters!("Prompt");
}

impl Prompt<NoHandler> {
    /// Starts a prompt with this name.
    pub fn builder(name: impl Into<Cow<'static, str>>) -> Self {
        Self {
            draft: Box::new(PromptDraft {
                name: name.into(),
                settings: ItemSettings::default(),
                completers: Completers::default(),
                arguments: None,
                forwarded: None,
            }),
            handler: NoHandler,
        }
    }

    /// Sets the function that creates the messages: sync or async, with extractors as parameters;
    /// see [`Handler`].
    ///
    /// The arguments are an [`Args<T>`](crate::Args) of a struct whose fields are listed as the
    /// prompt's arguments: text, or types that can be parsed from text (numbers, booleans, enums),
    /// as `Option` if they are optional.
    pub fn handler<H, M>(self, handler: H) -> Prompt
    where
        H: Handler<Prompt, M>,
        M: 'static,
    {
        self.with_handler(PromptHandler {
            make: handler_factory(handler),
            needs: H::add_requirements,
        })
    }

    /// Sets a sync function that holds its thread, because it reads files, computes or calls
    /// blocking code.
    ///
    /// It runs on the runtime's blocking pool, up to
    /// [`max_blocking`](crate::ServerBuilder::max_blocking) at once; further calls wait. A running
    /// function cannot be stopped: one that takes long should look at
    /// [`Cancellation`](crate::Cancellation) now and then.
    pub fn blocking<H, E>(self, handler: H) -> Prompt
    where
        H: Handler<Prompt, SyncMarker<E>>,
        E: 'static,
    {
        self.with_handler(PromptHandler {
            make: blocking_handler_factory(handler),
            needs: H::add_requirements,
        })
    }

    fn with_handler(self, handler: PromptHandler) -> Prompt {
        Prompt {
            draft: self.draft,
            handler,
        }
    }
}

/// Returns the fields of an argument type as a prompt's arguments, which are always sent as
/// strings.
fn arguments_from_schema(schema: &Schema) -> Result<Vec<PromptArgument>, String> {
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
        /// Returns whether a value can be parsed from text; true if the schema does not tell.
        fn is_read_from_text(&self) -> bool {
            let scalar = |kind: &String| !matches!(kind.as_str(), "object" | "array" | "null");
            match &self.kind {
                None => true,
                Some(Kinds::One(kind)) => scalar(kind),
                Some(Kinds::Several(kinds)) => kinds.iter().any(scalar),
            }
        }
    }
    let root: Root = serde_json::from_str(schema.as_str()).map_err(|error| error.to_string())?;
    let other = root
        .properties
        .iter()
        .find(|(_, field)| !field.is_read_from_text());
    if let Some((name, _)) = other {
        return Err(format!(
            "its argument {name:?} cannot be parsed from text, but clients send prompt arguments as text"
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
    pub(crate) fn register(
        mut self,
        registration: &Registration,
    ) -> Result<PromptEntry, BuildError> {
        let name = registration.prompt_name(self.draft.name);
        self.draft.name = name.clone();
        self.finish(registration)
            .map_err(|error| BuildError::new(format!("prompt {name:?}: {error}")))
    }

    fn finish(self, registration: &Registration) -> Result<PromptEntry, BuildError> {
        let PromptDraft {
            name,
            settings,
            completers,
            arguments: listed,
            forwarded,
        } = *self.draft;
        let ItemSettings {
            info,
            access,
            policy,
        } = settings;
        check_prompt_name(&name).map_err(|error| BuildError::new(error.to_string()))?;
        let needs = HandlerRequirements::collect(self.handler.needs);
        registration.check_requirements(&needs)?;
        let source = needs.schema_factory()?;
        let schema = source()?;
        check_constraints(&schema)?;
        let arguments = arguments_from_schema(&reorder_properties(schema, needs.order))
            .map_err(BuildError::new)?;
        let unread = needs.arguments.is_none();
        let reader = match &forwarded {
            None => ArgumentReader::new(EnforcedSchema::of_type(source), true, unread),
            Some(_) => ArgumentReader::without_arguments(),
        };
        let arguments = listed.unwrap_or(arguments);
        let is_argument = |name: &str| arguments.iter().any(|argument| argument.name == name);
        if let Some(unknown) = completers.first_unknown(is_argument) {
            return Err(BuildError::new(format!(
                "it has a completer for {unknown:?}, but no argument of that name"
            )));
        }
        let settings = registration.handler_settings(needs.asks, &policy);
        let call = (self.handler.make)((), reader, &settings);
        Ok(PromptEntry {
            call: registration.wrap_handler::<Self>(call, &name, false, &policy),
            access: registration.access(access),
            completers: completers.register(&name, &policy, registration)?,
            name,
            info,
            arguments,
            forwarded,
        })
    }
}

debug_fields!(PromptDraft { name, settings });
debug_fields!([H] Prompt<H> { draft });

impl HandlerKind for Prompt {
    type ReplyOptions = ();
    type Reply = Reply;

    const METHOD: Method = Method::GetPrompt;
    const ERRORS_IN_RESULT: bool = false;
    const CALL_KIND: CallKind = CallKind::Prompt;
}

impl<T: PromptOutput> HandlerOutput<Prompt> for T {
    fn into_handler_reply(self, (): &(), _: Option<&str>) -> Result<Reply> {
        Ok(Reply::complete(self.into_result()?))
    }
}

/// A registered prompt.
pub(crate) struct PromptEntry {
    name: Cow<'static, str>,
    info: ItemInfo,
    arguments: Vec<PromptArgument>,
    forwarded: Option<Arc<turnbuckle_types::Prompt>>,
    access: AccessRules,
    pub(crate) completers: CompleterEntries,
    call: Arc<dyn ErasedHandler>,
}

impl CatalogItem for PromptEntry {
    fn key(&self) -> &str {
        &self.name
    }

    fn access(&self) -> &AccessRules {
        &self.access
    }
}

impl PromptEntry {
    /// Returns the definition for `prompts/list`.
    pub(crate) fn definition(&self) -> turnbuckle_types::Prompt {
        if let Some(forwarded) = &self.forwarded {
            let mut definition = turnbuckle_types::Prompt::clone(forwarded);
            definition.name = self.name.clone().into_owned();
            return definition;
        }
        let definition = turnbuckle_types::Prompt::new(&*self.name);
        let mut definition = with_item_info!(definition, self.info);
        definition.arguments = (!self.arguments.is_empty()).then(|| self.arguments.clone());
        definition
    }

    pub(crate) fn get(
        &self,
        arguments: Option<RawJson<'_>>,
        context: HandlerContext,
    ) -> HandlerOutcome {
        self.call
            .clone()
            .call(HandlerRequest::new(context, arguments))
    }

    pub(crate) fn has_argument(&self, name: &str) -> bool {
        self.arguments.iter().any(|argument| argument.name == name)
    }
}
