//! Prompts: messages that a server has ready, filled in with a user's arguments.
//!
//! Specification: server/prompts (2026-07-28).

mod output;

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde::Deserialize;
use turnbuckle_session::Handling;
use turnbuckle_types::{Map, PromptArgument, RawJson, Schema};
use turnbuckle_wire::era::Reply;
use turnbuckle_wire::revision::Method;

use crate::access::Access;
use crate::catalog::Item;
use crate::completion::{Completer, CompleterEntries, Completers};
use crate::context::Context;
use crate::error::BuildError;
use crate::extract::{Declare, Needs};
use crate::failure::Result;
use crate::handler::{
    Callable, Handler, InPlace, Kind, Maker, Request, Returns, blocking_maker, maker,
};
use crate::item::{About, item_setters, told};
use crate::name::check_prompt_name;
use crate::policy::Policy;
use crate::schema::{Held, Intake, in_order};
use crate::scope::Scope;

pub use output::PromptOutput;

/// A prompt: its definition and the function behind it.
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
pub struct Prompt {
    pub(crate) draft: Box<Draft>,
    make: Maker<Self>,
    needs: Declare,
}

/// A prompt that has no function yet; see [`Prompt::builder`].
///
/// Specification: server/prompts (2026-07-28).
#[must_use]
pub struct PromptBuilder {
    /// Apart, so that a prompt is handed on cheaply.
    draft: Box<Draft>,
}

/// What is said of a prompt.
pub(crate) struct Draft {
    name: Cow<'static, str>,
    pub(crate) about: About,
    pub(crate) access: Access,
    pub(crate) policy: Policy,
    pub(crate) completers: Completers,
}

macro_rules! prompt_setters {
    () => {
        /// Suggests values for one of its arguments while the user types.
        pub fn complete<H, M>(mut self, argument: impl Into<String>, completer: H) -> Self
        where
            H: Handler<Completer, M>,
            M: 'static,
        {
            self.draft.completers.add(argument.into(), completer);
            self
        }

        item_setters!("Prompt");
    };
}

impl PromptBuilder {
    prompt_setters!();

    /// The function that it runs: of extractors, sync or async; see [`Handler`].
    ///
    /// The arguments are an [`Args<T>`](crate::Args) of a struct whose fields are listed as the
    /// prompt's arguments: text, or what can be read from text (numbers, booleans, enums), in an
    /// `Option` where it may be left out.
    pub fn handler<H, M>(self, handler: H) -> Prompt
    where
        H: Handler<Prompt, M>,
        M: 'static,
    {
        Prompt {
            draft: self.draft,
            make: maker(handler),
            needs: H::needs,
        }
    }

    /// A sync function that holds its thread, instead of a [`handler`](Self::handler): it reads
    /// files, computes, or calls what blocks. It runs on a pool of the server's, up to
    /// [`max_blocking`](crate::ServerBuilder::max_blocking) of them at once; further calls wait.
    ///
    /// Nothing can stop it in the middle: one that takes long looks at [`Cancel`](crate::Cancel)
    /// now and then.
    pub fn blocking<H, E>(self, handler: H) -> Prompt
    where
        H: Handler<Prompt, InPlace<E>>,
        E: 'static,
    {
        Prompt {
            draft: self.draft,
            make: blocking_maker(handler),
            needs: H::needs,
        }
    }
}

/// The fields of a type as a prompt's arguments, all of which come as strings.
fn arguments_of(schema: &Schema) -> Result<Vec<PromptArgument>, String> {
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
        /// Whether its value can be read from text; a schema that does not tell is given the
        /// benefit.
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
            "its argument {name:?} cannot be read from text, and clients send nothing else"
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
    /// Begins a prompt of that name.
    pub fn builder(name: impl Into<Cow<'static, str>>) -> PromptBuilder {
        PromptBuilder {
            draft: Box::new(Draft {
                name: name.into(),
                about: About::default(),
                access: Access::default(),
                policy: Policy::default(),
                completers: Completers::default(),
            }),
        }
    }

    prompt_setters!();

    pub(crate) fn register(mut self, scope: &Scope) -> Result<PromptEntry, BuildError> {
        let name = scope.name_of(self.draft.name);
        self.draft.name = name.clone();
        self.finish(scope)
            .map_err(|error| BuildError::new(format!("prompt {name:?}: {error}")))
    }

    fn finish(self, scope: &Scope) -> Result<PromptEntry, BuildError> {
        let Draft {
            name,
            about,
            access,
            policy,
            completers,
        } = *self.draft;
        check_prompt_name(&name).map_err(|error| BuildError::new(error.to_string()))?;
        let needs = Needs::of(self.needs);
        scope.provide(&needs)?;
        let source = needs.source()?;
        let arguments = arguments_of(&in_order(source()?, needs.order)).map_err(BuildError::new)?;
        let intake = Intake::new(Held::of_type(source), true, needs.arguments.is_none());
        let known = |name: &str| arguments.iter().any(|argument| argument.name == name);
        if let Some(unknown) = completers.other_than(known) {
            return Err(BuildError::new(format!(
                "it completes {unknown:?}, which is no argument of it"
            )));
        }
        let call = (self.make)((), intake, scope, needs.asks);
        Ok(PromptEntry {
            call: scope.guard::<Self>(call, &name, &policy),
            access: scope.access(access),
            completers: completers.register(scope)?,
            name,
            about,
            arguments,
        })
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

impl fmt::Debug for Prompt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Prompt")
            .field("draft", &self.draft)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for PromptBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PromptBuilder")
            .field("draft", &self.draft)
            .finish_non_exhaustive()
    }
}

impl Kind for Prompt {
    type Frame = ();

    const METHOD: Method = Method::GetPrompt;
    const TELLS: bool = false;
    const ATTRIBUTE: Option<&'static str> = Some("prompt");
}

impl<T: PromptOutput> Returns<Prompt> for T {
    fn reply(self, (): &(), _: Option<&str>) -> Result<Reply> {
        Ok(Reply::complete(self.into_result()?))
    }
}

/// A registered prompt.
pub(crate) struct PromptEntry {
    name: Cow<'static, str>,
    about: About,
    arguments: Vec<PromptArgument>,
    access: Access,
    pub(crate) completers: CompleterEntries,
    call: Arc<dyn Callable>,
}

impl Item for PromptEntry {
    fn key(&self) -> &str {
        &self.name
    }

    fn access(&self) -> &Access {
        &self.access
    }
}

impl PromptEntry {
    /// Its definition as clients are told it.
    pub(crate) fn told(&self) -> turnbuckle_types::Prompt {
        let definition = turnbuckle_types::Prompt::new(&*self.name);
        let mut definition = told!(definition, self.about);
        definition.arguments = (!self.arguments.is_empty()).then(|| self.arguments.clone());
        definition
    }

    pub(crate) fn get(&self, arguments: Option<RawJson<'_>>, context: Context) -> Handling {
        self.call.clone().call(Request::new(context, arguments))
    }

    pub(crate) fn has_argument(&self, name: &str) -> bool {
        self.arguments.iter().any(|argument| argument.name == name)
    }
}
