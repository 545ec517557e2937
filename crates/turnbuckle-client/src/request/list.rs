//! Lists of the server, which come in pages.
//!
//! Specification: server/utilities/pagination (2026-07-28).

use std::collections::HashSet;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use turnbuckle_types::base::debug_fields;

use futures_core::Stream;
use turnbuckle_types::method::{
    ListPrompts, ListResourceTemplates, ListResources, ListTasks, ListTools,
};
use turnbuckle_types::{
    LegacyTask, PaginatedRequestParams, Prompt, Request, Resource, ResourceTemplate, Tool,
};

use crate::error::Error;
use crate::method::ServerMethod;
use crate::request::builder::RequestBuilder;

/// A method that lists items of the server. The trait is sealed.
pub trait ListMethod: ServerMethod<Params = PaginatedRequestParams> {
    /// The type of the listed items.
    type Item: Send + Unpin + 'static;

    /// Splits a result into its items and the cursor of the next page.
    fn into_page(result: Self::Result) -> (Vec<Self::Item>, Option<String>);
}

macro_rules! lists {
    ($($Method:ident: $Item:ty = $items:ident;)+) => {$(
        impl ListMethod for $Method {
            type Item = $Item;

            fn into_page(result: Self::Result) -> (Vec<$Item>, Option<String>) {
                (result.$items, result.next_cursor)
            }
        }
    )+};
}

lists! {
    ListTools: Tool = tools;
    ListResources: Resource = resources;
    ListResourceTemplates: ResourceTemplate = resource_templates;
    ListPrompts: Prompt = prompts;
    ListTasks: LegacyTask = tasks;
}

/// A list of the server: read as a whole, page by page, or as a stream of items.
///
/// The stream requests the next page when the items of the page before are used up. It ends with
/// the list or after the first error. A list that the server declares and does not know (-32601) is
/// empty.
#[must_use = "nothing is asked for before the list is read"]
pub struct List<M: ListMethod> {
    /// The request for the first page.
    request: RequestBuilder<M>,
    walk: PageWalk,
    pending_page: Option<<RequestBuilder<M> as IntoFuture>::IntoFuture>,
    items: std::vec::IntoIter<M::Item>,
}

impl<M: ListMethod> List<M> {
    pub(crate) fn new(request: RequestBuilder<M>) -> Self {
        Self {
            walk: PageWalk::new(request.inner().limits.max_list_pages),
            request,
            pending_page: None,
            items: Vec::new().into_iter(),
        }
    }

    /// Sets how long the server may send nothing about the request for one page, instead of the
    /// client's setting.
    pub fn idle_timeout(mut self, timeout: Duration) -> Self {
        self.request = self.request.idle_timeout(timeout);
        self
    }

    /// Asks the server even for pages of which a cached result may still be used.
    pub fn bypass_cache(mut self) -> Self {
        self.request = self.request.bypass_cache();
        self
    }

    /// Returns the request for one page: the one that begins at `cursor`, or the first. A cursor is
    /// the `next_cursor` of the page before; the empty string is a valid cursor.
    pub fn page(&self, cursor: Option<&str>) -> RequestBuilder<M> {
        page_request(&self.request, cursor.map(str::to_owned))
    }

    /// Returns the items of all pages. If a later page fails because its cursor became invalid or
    /// the connection was lost, the list is read once more from the beginning.
    ///
    /// # Errors
    /// Returns an [`Error`] if a page has no result, and [`Error::EndlessList`] if a cursor repeats
    /// or the list exceeds `max_list_pages` or `max_list_items` of
    /// [`ClientLimits`](turnbuckle_session::transport::ClientLimits), and [`Error::ListTooLarge`] if it exceeds
    /// `max_list_bytes`.
    pub async fn fetch_all(self) -> Result<Vec<M::Item>, Error> {
        let request = self.request;
        let outcome = match collect_pages(&request).await {
            Err((error, true)) if is_invalid_params(&error) || error.is_connection_lost() => {
                collect_pages(&request).await
            }
            outcome => outcome,
        };
        outcome.map_err(|(error, _)| error)
    }

    /// Returns the next item, or `None` after the last.
    pub async fn next(&mut self) -> Option<Result<M::Item, Error>> {
        std::future::poll_fn(|cx| Pin::new(&mut *self).poll_next(cx)).await
    }
}

/// Returns the request for the page that begins at `cursor`.
fn page_request<M: ListMethod>(
    request: &RequestBuilder<M>,
    cursor: Option<String>,
) -> RequestBuilder<M> {
    let mut request = request.clone();
    request.params_mut().cursor = cursor;
    request
}

/// Returns the items of all pages, or the error and whether it came after the first page.
async fn collect_pages<M: ListMethod>(
    request: &RequestBuilder<M>,
) -> Result<Vec<M::Item>, (Error, bool)> {
    let limits = &request.inner().limits;
    let mut walk = PageWalk::new(limits.max_list_pages);
    let mut all = Vec::new();
    let mut bytes: usize = 0;
    while let Some(cursor) = walk.next() {
        let begun = cursor.is_some();
        let (result, size) = match page_request(request, cursor).send_sized().await {
            Err(error) if !begun && is_unknown_list::<M>(&error) => return Ok(all),
            result => result.map_err(|error| (error, begun))?,
        };
        bytes = bytes.saturating_add(size);
        if bytes > limits.max_list_bytes {
            let (method, limit) = (M::METHOD.to_owned(), limits.max_list_bytes);
            return Err((Error::ListTooLarge { method, limit }, begun));
        }
        let (items, next) = M::into_page(result);
        if !walk.advance(next) || all.len() + items.len() > limits.max_list_items {
            return Err((endless_list::<M>(), begun));
        }
        all.extend(items);
    }
    Ok(all)
}

impl<M: ListMethod> Stream for List<M> {
    type Item = Result<M::Item, Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        loop {
            if let Some(item) = this.items.next() {
                return Poll::Ready(Some(Ok(item)));
            }
            let pending_page = match &mut this.pending_page {
                Some(pending_page) => pending_page,
                None => match this.walk.next() {
                    Some(cursor) => this
                        .pending_page
                        .insert(page_request(&this.request, cursor).into_future()),
                    None => return Poll::Ready(None),
                },
            };
            let outcome = ready!(pending_page.as_mut().poll(cx));
            this.pending_page = None;
            let (items, next) = match outcome {
                Ok(result) => M::into_page(result),
                Err(error) if this.walk.pages == 0 && is_unknown_list::<M>(&error) => {
                    (Vec::new(), None)
                }
                Err(error) => return Poll::Ready(Some(Err(error))),
            };
            if !this.walk.advance(next) {
                return Poll::Ready(Some(Err(endless_list::<M>())));
            }
            this.items = items.into_iter();
        }
    }
}

/// The walk through the pages of one list.
struct PageWalk {
    next: NextPage,
    pages: usize,
    /// The most pages of a list; a list with more is an error.
    max_pages: usize,
    /// Hashes of the cursors so far, since cursors may be long.
    seen: HashSet<u64>,
    hasher: RandomState,
}

/// The page to request next.
enum NextPage {
    First,
    Cursor(String),
    None,
}

impl PageWalk {
    fn new(max_pages: usize) -> Self {
        Self {
            next: NextPage::First,
            pages: 0,
            max_pages,
            seen: HashSet::new(),
            hasher: RandomState::new(),
        }
    }

    /// Returns the cursor of the next page: `Some(None)` for the first page, `None` after the last.
    fn next(&mut self) -> Option<Option<String>> {
        match std::mem::replace(&mut self.next, NextPage::None) {
            NextPage::First => Some(None),
            NextPage::Cursor(cursor) => Some(Some(cursor)),
            NextPage::None => None,
        }
    }

    /// Takes the `nextCursor` of a page. Returns whether the list can still end: the cursor is new
    /// and the limit of pages is not reached.
    fn advance(&mut self, next: Option<String>) -> bool {
        self.pages += 1;
        let Some(cursor) = next else { return true };
        let is_new = self.seen.insert(self.hasher.hash_one(&cursor));
        let ends = is_new && self.pages < self.max_pages;
        if ends {
            self.next = NextPage::Cursor(cursor);
        }
        ends
    }
}

/// Returns whether the server does not know the method of a list, although it declared the
/// capability: some servers with resources have no method for resource templates. Such a list is
/// empty.
fn is_unknown_list<M: Request>(error: &Error) -> bool {
    let is_unknown = error
        .error_response()
        .is_some_and(|refusal| refusal.code == turnbuckle_wire::era::code::METHOD_NOT_FOUND);
    if is_unknown {
        tracing::warn!(
            method = M::METHOD,
            "the server does not know this list: it is taken as empty"
        );
    }
    is_unknown
}

fn is_invalid_params(error: &Error) -> bool {
    error
        .error_response()
        .is_some_and(|refusal| refusal.code == turnbuckle_wire::era::code::INVALID_PARAMS)
}

fn endless_list<M: Request>() -> Error {
    Error::EndlessList {
        method: M::METHOD.to_owned(),
    }
}

debug_fields!([M: ListMethod] List<M> { method = |_| M::METHOD, pages = |it| it.walk.pages });
