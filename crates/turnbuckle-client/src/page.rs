//! Lists that come in pages.
//!
//! Specification: server/utilities/pagination (2026-07-28).

use std::collections::HashSet;
use std::collections::hash_map::RandomState;
use std::fmt;
use std::hash::BuildHasher;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures_core::Stream;
use turnbuckle_types::method::{ListPrompts, ListResourceTemplates, ListResources, ListTools};
use turnbuckle_types::{PaginatedParams, Prompt, Request, Resource, ResourceTemplate, Tool};

use crate::call::Call;
use crate::method::ServerMethod;
use crate::{Client, Error};

/// A method that lists.
pub trait ListMethod: ServerMethod<Params = PaginatedParams> {
    /// What is listed.
    type Item: Send + Unpin + 'static;

    /// The items of a page, and where the next begins.
    #[doc(hidden)]
    fn page(result: Self::Result) -> (Vec<Self::Item>, Option<String>);
}

macro_rules! lists {
    ($($Method:ident: $Item:ty = $items:ident;)+) => {$(
        impl ListMethod for $Method {
            type Item = $Item;

            fn page(result: Self::Result) -> (Vec<$Item>, Option<String>) {
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
}

impl Client {
    /// The server's tools.
    pub fn list_tools(&self) -> List<ListTools> {
        List::of(self.request(PaginatedParams::new()))
    }

    /// The server's resources.
    pub fn list_resources(&self) -> List<ListResources> {
        List::of(self.request(PaginatedParams::new()))
    }

    /// The server's resource templates.
    pub fn list_resource_templates(&self) -> List<ListResourceTemplates> {
        List::of(self.request(PaginatedParams::new()))
    }

    /// The server's prompts.
    pub fn list_prompts(&self) -> List<ListPrompts> {
        List::of(self.request(PaginatedParams::new()))
    }
}

/// A list of the server: whole, page by page, or as a stream of its items that asks for the next
/// page when the one before has been read.
///
/// The stream ends with the list, or after the first error.
#[must_use = "nothing is asked for before the list is read"]
pub struct List<M: ListMethod> {
    /// The call for its first page.
    call: Call<M>,
    walk: Walk,
    asking: Option<<Call<M> as IntoFuture>::IntoFuture>,
    items: std::vec::IntoIter<M::Item>,
}

impl<M: ListMethod> List<M> {
    pub(crate) fn of(call: Call<M>) -> Self {
        Self {
            walk: Walk::new(call.shared().limits.list_pages),
            call,
            asking: None,
            items: Vec::new().into_iter(),
        }
    }

    /// How long the server may take for one page, in place of the client's setting.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.call = self.call.timeout(timeout);
        self
    }

    /// Asks the server even for pages that may still be used.
    pub fn fresh(mut self) -> Self {
        self.call = self.call.fresh();
        self
    }

    /// One page: the one that begins at `cursor`, or the first. A cursor is what the page before
    /// gave as `next_cursor`; the empty string is one too.
    pub fn page(&self, cursor: Option<&str>) -> Call<M> {
        at(&self.call, cursor.map(str::to_owned))
    }

    /// The items of all pages, from the first. Should a page turn out to be gone under way, or the
    /// connection be lost, the list is read once more.
    ///
    /// # Errors
    /// When a page has no result: see [`Error`]; and [`Error::EndlessList`] for a list that leads
    /// back into itself, or has more pages or items than
    /// [`ConversationLimits`](turnbuckle_session::ConversationLimits) allow.
    pub async fn all(self) -> Result<Vec<M::Item>, Error> {
        let call = self.call;
        let outcome = match collect(&call).await {
            Err((error, true)) if is_invalid_params(&error) || error.is_lost() => {
                collect(&call).await
            }
            outcome => outcome,
        };
        outcome.map_err(|(error, _)| error)
    }

    /// The next item; `None` after the last.
    pub async fn next(&mut self) -> Option<Result<M::Item, Error>> {
        std::future::poll_fn(|cx| Pin::new(&mut *self).poll_next(cx)).await
    }
}

/// A call for the page that begins at `cursor`.
fn at<M: ListMethod>(call: &Call<M>, cursor: Option<String>) -> Call<M> {
    let mut call = call.clone();
    call.params_mut().cursor = cursor;
    call
}

/// All items; or why not, and whether that was after the first page.
async fn collect<M: ListMethod>(call: &Call<M>) -> Result<Vec<M::Item>, (Error, bool)> {
    let limits = &call.shared().limits;
    let mut walk = Walk::new(limits.list_pages);
    let mut all = Vec::new();
    while let Some(cursor) = walk.next() {
        let begun = cursor.is_some();
        let result = at(call, cursor).await.map_err(|error| (error, begun))?;
        let (items, next) = M::page(result);
        if !walk.turned(next) || all.len() + items.len() > limits.list_items {
            return Err((endless::<M>(), begun));
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
            let asking = match &mut this.asking {
                Some(asking) => asking,
                None => match this.walk.next() {
                    Some(cursor) => this.asking.insert(at(&this.call, cursor).into_future()),
                    None => return Poll::Ready(None),
                },
            };
            let outcome = ready!(asking.as_mut().poll(cx));
            this.asking = None;
            let (items, next) = match outcome {
                Ok(result) => M::page(result),
                Err(error) => return Poll::Ready(Some(Err(error))),
            };
            if !this.walk.turned(next) {
                return Poll::Ready(Some(Err(endless::<M>())));
            }
            this.items = items.into_iter();
        }
    }
}

/// The way through the pages of one list.
struct Walk {
    next: Next,
    pages: usize,
    /// Pages that it may have; a server that goes on for ever is stopped there.
    most: usize,
    /// The cursors that were given, as hashes: they may be long.
    seen: HashSet<u64>,
    hasher: RandomState,
}

enum Next {
    First,
    At(String),
    Nothing,
}

impl Walk {
    fn new(most: usize) -> Self {
        Self {
            next: Next::First,
            pages: 0,
            most,
            seen: HashSet::new(),
            hasher: RandomState::new(),
        }
    }

    /// The cursor of the next page, which the first has none of; `None` after the last page.
    fn next(&mut self) -> Option<Option<String>> {
        match std::mem::replace(&mut self.next, Next::Nothing) {
            Next::First => Some(None),
            Next::At(cursor) => Some(Some(cursor)),
            Next::Nothing => None,
        }
    }

    /// Notes what a page says of the next. Whether that can lead to an end.
    fn turned(&mut self, next: Option<String>) -> bool {
        self.pages += 1;
        let Some(cursor) = next else { return true };
        let is_new = self.seen.insert(self.hasher.hash_one(&cursor));
        let ends = is_new && self.pages < self.most;
        if ends {
            self.next = Next::At(cursor);
        }
        ends
    }
}

fn is_invalid_params(error: &Error) -> bool {
    error
        .refusal()
        .is_some_and(|refusal| refusal.code == turnbuckle_wire::era::code::INVALID_PARAMS)
}

fn endless<M: Request>() -> Error {
    Error::EndlessList {
        method: M::METHOD.to_owned(),
    }
}

impl<M: ListMethod> fmt::Debug for List<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("List")
            .field("method", &M::METHOD)
            .field("pages", &self.walk.pages)
            .finish_non_exhaustive()
    }
}
