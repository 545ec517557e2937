//! Filling the lists of a session.

use std::collections::HashSet;

use turnbuckle_client::{Client, Error, ServerMethod};
use turnbuckle_session::transport::is_server_method;
use turnbuckle_skills::{EXTENSION_ID, ListSkills};
use turnbuckle_types::method::{
    ListPrompts, ListResourceTemplates, ListResources, ListTasks, ListTools,
};
use turnbuckle_types::{PaginatedRequestParams, Request};

use super::Session;
use crate::api::ItemKind;
use crate::target::{BoxFuture, SENDING, SendSlot};

/// The most pages of a list, and the most in a row that have no items.
const MAX_PAGES: usize = 10_000;
const MAX_EMPTY_PAGES: usize = 100;

impl Session {
    /// Returns the lists that the server says it has.
    pub(super) fn kinds(&self, client: &Client) -> Vec<ItemKind> {
        let Some(info) = client.server_info() else {
            return Vec::new();
        };
        let capabilities = &info.capabilities;
        let has_tasks = capabilities
            .tasks
            .as_ref()
            .is_some_and(|tasks| tasks.list.is_some())
            && is_server_method(ListTasks::METHOD, info.revision);
        let kinds = [
            (capabilities.tools.is_some(), ItemKind::Tools),
            (capabilities.resources.is_some(), ItemKind::Resources),
            (capabilities.resources.is_some(), ItemKind::Templates),
            (capabilities.prompts.is_some(), ItemKind::Prompts),
            (
                capabilities.extensions.contains_key(EXTENSION_ID),
                ItemKind::Skills,
            ),
            (has_tasks, ItemKind::Tasks),
        ];
        let kinds = kinds.into_iter().filter(|(is_there, _)| *is_there);
        kinds.map(|(_, kind)| kind).collect()
    }

    /// Fills lists, one after the other.
    pub(super) async fn fill_lists(&self, client: &Client, kinds: &[ItemKind]) {
        for kind in kinds {
            let _filling = self.filling[*kind as usize].lock().await;
            let items = &self.shared.items;
            items.begin(&self.id, *kind);
            let request = match kind {
                ItemKind::Tools => page_request::<ListTools>(client),
                ItemKind::Resources => page_request::<ListResources>(client),
                ItemKind::Templates => page_request::<ListResourceTemplates>(client),
                ItemKind::Prompts => page_request::<ListPrompts>(client),
                ItemKind::Tasks => page_request::<ListTasks>(client),
                ItemKind::Skills => skills_request(client),
            };
            let error = self.fill(*kind, request).await.err();
            items.finish(&self.id, *kind, error);
        }
    }

    /// Reads the pages of a list, as the server wrote them.
    async fn fill(&self, kind: ItemKind, request: PageRequest) -> Result<(), String> {
        let timeout = self.lock().timeouts.idle_timeout;
        let mut seen = HashSet::new();
        let mut cursor = None;
        let (mut count, mut empty_pages) = (0, 0);
        for _ in 0..MAX_PAGES {
            let mut params = PaginatedRequestParams::new();
            params.cursor = cursor;
            let (slot, _) = SendSlot::new(request.method, timeout);
            let outcome = SENDING.scope(slot.clone(), (request.send)(params)).await;
            let timeline = &self.shared.timeline;
            let answer = slot.number().and_then(|n| timeline.entry(n)?.answer);
            let page = answer.and_then(|n| Some((n, timeline.bytes(n)?)));
            cursor = match (page, outcome) {
                // Items that the client cannot decode are shown with their fault.
                (Some((n, bytes)), Ok(()) | Err(Error::InvalidResult { .. })) => {
                    self.shared.items.add_page(&self.id, kind, n, bytes)?
                }
                (_, Err(error)) => return Err(Self::sentence(&error)),
                (None, Ok(())) => return Err("the result is no longer in the timeline".to_owned()),
            };
            let former = std::mem::replace(&mut count, self.shared.items.count(&self.id, kind));
            empty_pages = if count == former { empty_pages + 1 } else { 0 };
            match &cursor {
                Some(_) if empty_pages > MAX_EMPTY_PAGES => {
                    return Err(format!(
                        "the list does not come to an end: {empty_pages} empty pages in a row"
                    ));
                }
                Some(cursor) if !seen.insert(cursor.clone()) => {
                    return Err("the list does not come to an end: a cursor came twice".to_owned());
                }
                Some(_) => {}
                None => return Ok(()),
            }
        }
        Err(format!("the list has more than {MAX_PAGES} pages"))
    }
}

/// The request for a page of a list.
struct PageRequest {
    method: &'static str,
    send: Box<dyn Fn(PaginatedRequestParams) -> PageFuture + Send + Sync>,
}

type PageFuture = BoxFuture<'static, Result<(), Error>>;

fn page_request<M: ServerMethod<Params = PaginatedRequestParams>>(client: &Client) -> PageRequest {
    let client = client.clone();
    PageRequest {
        method: <M as Request>::METHOD,
        send: Box::new(move |params| {
            let request = client.request::<M>(params);
            Box::pin(async move { request.send().await.map(drop) })
        }),
    }
}

fn skills_request(client: &Client) -> PageRequest {
    let client = client.clone();
    PageRequest {
        method: ListSkills::METHOD,
        send: Box::new(move |params| {
            let request = client.request_extension::<ListSkills>(params);
            Box::pin(async move { request.await.map(drop) })
        }),
    }
}
