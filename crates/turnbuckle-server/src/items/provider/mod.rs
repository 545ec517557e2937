//! Providers: async functions that list and find items which are not registered.
//!
//! A server asks a provider for items that it does not have itself. Items of a provider are registered for
//! one request, so that everything that holds for registered items holds for them.

mod function;

use std::borrow::Cow;
use std::time::Duration;

use crate::handler::Handler;
use crate::items::prompt::Prompt;
use crate::items::resource::Resource;
use crate::items::tool::Tool;
use turnbuckle_types::base::debug_fields;

use crate::request::list::ListPage;
pub(crate) use function::ProviderFunction;
pub(crate) use function::{FindFunction, ListFunction};

/// The default time that a provider may take to answer.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);

/// A source of tools, prompts or resources that are kept elsewhere, such as in a database: functions
/// that list them in pages and find one of them.
///
/// The functions are [`Handler`]s, sync or async, whose parameters are extractors: a
/// [`ListRequest`](crate::ListRequest) or an [`ItemName`](crate::ItemName), and for instance
/// [`State`](crate::State) and [`Principal`](turnbuckle_types::Principal), so that every principal
/// can have items of its own. What they return are items as a server registers them, with handlers,
/// scopes and limits; those of the groups around the provider apply, too.
///
/// Clients see one list: registered items first, then those of each provider in the order of
/// registration. A name that is registered is never looked up in a provider, nor listed from it.
///
/// ```
/// use turnbuckle_server::{ItemName, ListPage, ListRequest, Provider, Resource, Server, State};
///
/// /// A database.
/// struct Notes(Vec<String>);
///
/// fn note(id: usize, text: &str) -> Resource {
///     let text = text.to_owned();
///     Resource::builder(format!("notes:{id}"), "note").handler(move || text.clone())
/// }
///
/// let notes = Provider::resources("notes")
///     .list(async |request: ListRequest, notes: State<Notes>| {
///         let rows = notes.0.iter().enumerate().take(request.limit);
///         ListPage::new(rows.map(|(id, text)| note(id, text)))
///     })
///     .find(async |ItemName(uri): ItemName, notes: State<Notes>| {
///         let id = uri.strip_prefix("notes:")?.parse().ok()?;
///         Some(note(id, notes.0.get(id)?))
///     });
/// let server = Server::new("notes", "1.0.0")
///     .state(Notes(vec!["Buy milk".to_owned()]))
///     .provider(notes)
///     .build()?;
/// # Ok::<(), turnbuckle_server::BuildError>(())
/// ```
#[must_use]
pub struct Provider<T> {
    pub(crate) name: Cow<'static, str>,
    pub(crate) list: Option<ProviderFunction<ListPage<T>>>,
    /// Lists resource templates, in a provider of resources.
    pub(crate) list_templates: Option<ProviderFunction<ListPage<T>>>,
    pub(crate) find: Option<ProviderFunction<Option<T>>>,
    pub(crate) timeout: Duration,
}

impl<T: ProvidedItem> Provider<T> {
    fn new(name: Cow<'static, str>) -> Self {
        Self {
            name,
            list: None,
            list_templates: None,
            find: None,
            timeout: DEFAULT_TIMEOUT,
        }
    }

    /// Sets the function that lists the items, one page at a time. It returns a
    /// [`ListPage`](crate::ListPage) or a `Vec`, or a `Result` of one.
    ///
    /// Resources may be listed without a handler, as [`Resource<NoHandler>`](crate::NoHandler),
    /// where `find` or a registered template has the handler that reads them. Their access rules
    /// then decide only about the list.
    ///
    /// When it fails, the page of the list that it was called for is an error, unless registered
    /// items or those of other providers are on the page before; then it is called again for the
    /// next page. An item that cannot be registered is left out, and the reason is logged.
    pub fn list<H, M>(mut self, function: H) -> Self
    where
        H: Handler<ListFunction<T>, M>,
        M: 'static,
    {
        self.list = Some(ProviderFunction::new(function));
        self
    }

    /// Sets the function that finds the item with a name, or with a URI. It returns an `Option`, or
    /// a `Result` of one.
    ///
    /// It is called before an item is called, read or completed, and when a client subscribes to a
    /// resource. For a resource it may return a template that matches the URI.
    pub fn find<H, M>(mut self, function: H) -> Self
    where
        H: Handler<FindFunction<T>, M>,
        M: 'static,
    {
        self.find = Some(ProviderFunction::new(function));
        self
    }

    /// Sets how long each function may take. Default: ten seconds.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }
}

impl Provider<Tool> {
    /// Starts a provider of tools. Its name is for error messages and logs.
    pub fn tools(name: impl Into<Cow<'static, str>>) -> Self {
        Self::new(name.into())
    }
}

impl Provider<Prompt> {
    /// Starts a provider of prompts. Its name is for error messages and logs.
    pub fn prompts(name: impl Into<Cow<'static, str>>) -> Self {
        Self::new(name.into())
    }
}

impl Provider<Resource> {
    /// Starts a provider of resources. Its name is for error messages and logs.
    pub fn resources(name: impl Into<Cow<'static, str>>) -> Self {
        Self::new(name.into())
    }

    /// Sets the function that lists resource templates, one page at a time, as
    /// [`list`](Self::list) does with resources.
    pub fn list_templates<H, M>(mut self, function: H) -> Self
    where
        H: Handler<ListFunction<Resource>, M>,
        M: 'static,
    {
        self.list_templates = Some(ProviderFunction::new(function));
        self
    }
}

debug_fields!([T] Provider<T> { name, timeout });

/// A type of item that a provider can have: a [`Tool`], a [`Prompt`] or a [`Resource`].
pub trait ProvidedItem: Send + 'static + sealed::Sealed {}

pub(crate) mod sealed {
    //! The part of [`ProvidedItem`](super::ProvidedItem) that keeps other crates from implementing
    //! it.

    use super::{GroupProviders, Provider};

    /// An item that a group has a list of providers for.
    pub trait Sealed: Sized {
        /// Adds a provider of such items to those of a group.
        fn add_provider(provider: Provider<Self>, providers: &mut GroupProviders);
    }
}

/// The providers of a group that is not registered yet.
#[derive(Debug, Default)]
pub struct GroupProviders {
    pub(crate) tools: Vec<Provider<Tool>>,
    pub(crate) prompts: Vec<Provider<Prompt>>,
    pub(crate) resources: Vec<Provider<Resource>>,
}

macro_rules! provided_items {
    ($($Item:ty => $list:ident;)*) => {$(
        impl ProvidedItem for $Item {}

        impl sealed::Sealed for $Item {
            fn add_provider(provider: Provider<Self>, providers: &mut GroupProviders) {
                providers.$list.push(provider);
            }
        }
    )*};
}

provided_items! {
    Tool => tools;
    Prompt => prompts;
    Resource => resources;
}
