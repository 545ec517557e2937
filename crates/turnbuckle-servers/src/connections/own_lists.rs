//! The lists of the connection that one client has for itself.
//!
//! They are read when the client first needs them, and again after the server has told of a change. They end with
//! the connection.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};
use turnbuckle_client::{Client, ServerInfo};
use turnbuckle_session::handler::Change;

use crate::connections::client_view::ClientView;
use crate::connections::connection::is_lost;
use crate::connections::list_memory::ReservedBytes;
use crate::error::Error;
use crate::member::lists::{ListProblems, ListsToRead, read_lists};
use crate::member::shared::Shared;
use crate::member::state::Member;
use crate::view::items::{ItemList, ServerItems, SizedItem};

/// The bytes that an item takes beside its definition: its places in lists, and its names.
const ITEM_BYTES: usize = 256;

/// The lists of one connection.
pub(crate) struct OwnLists {
    client: Client,
    state: Mutex<State>,
    /// Held while lists are read.
    reading: tokio::sync::Mutex<ReadState>,
    /// True once the connection is subscribed to changes of its lists, or cannot be.
    is_subscribed: watch::Sender<bool>,
    /// The last view of the client whose connection it is.
    view: Mutex<Option<Arc<ClientView>>>,
}

struct State {
    /// The items, once all lists were read.
    items: Option<Arc<ServerItems>>,
    /// The lists that were not read, or have changed since.
    changed: ListsToRead,
    /// The lists that have changed since the current reading began.
    changed_again: ListsToRead,
}

impl State {
    const UNREAD: Self = Self {
        items: None,
        changed: ListsToRead::ALL,
        changed_again: ListsToRead::NONE,
    };
}

#[derive(Default)]
struct ReadState {
    problems: ListProblems,
    ended: Option<Instant>,
    memory: Option<ReservedBytes>,
}

impl OwnLists {
    pub(super) fn new(client: Client) -> Arc<Self> {
        Arc::new(Self {
            client,
            state: Mutex::new(State::UNREAD),
            reading: tokio::sync::Mutex::default(),
            is_subscribed: watch::Sender::new(false),
            view: Mutex::default(),
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the items, if they were read.
    pub(crate) fn items(&self) -> Option<Arc<ServerItems>> {
        self.state().items.clone()
    }

    /// Returns whether the lists were read.
    pub(super) fn are_read(&self) -> bool {
        self.state().items.is_some()
    }

    /// Returns whether the lists were read and have not changed since: the connection is open and has told of no
    /// change.
    pub(crate) fn are_current(&self) -> bool {
        self.state().changed == ListsToRead::NONE && !self.are_lost()
    }

    /// Returns whether the connection is lost.
    pub(super) fn are_lost(&self) -> bool {
        is_lost(&self.client)
    }

    /// Returns the description that the server gave of itself on the connection.
    pub(crate) fn server_info(&self) -> Option<Arc<ServerInfo>> {
        self.client.server_info()
    }

    /// Returns the last view of the client.
    pub(crate) fn view(&self) -> MutexGuard<'_, Option<Arc<ClientView>>> {
        self.view.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records that the connection is subscribed to changes of its lists, or cannot be.
    pub(super) fn set_subscribed(&self) {
        self.is_subscribed.send_replace(true);
    }

    /// Records that a list has changed.
    pub(super) fn set_changed(&self, change: &Change) {
        let mut state = self.state();
        let State {
            changed,
            changed_again,
            ..
        } = &mut *state;
        for lists in [changed, changed_again] {
            match change {
                Change::Tools => lists.tools = true,
                Change::Prompts => lists.prompts = true,
                Change::Resources => lists.resources = true,
                Change::Resource(_) => {}
            }
        }
    }

    /// Reads the lists that were not read or have changed.
    ///
    /// # Errors
    /// Returns the reason why they cannot be read; the client has no items of the server then.
    pub(super) async fn update(&self, shared: &Shared, member: &Member) -> Result<(), Error> {
        let updated = tokio::select! {
            updated = self.read(shared, member) => updated,
            () = self.client.wait_for_disconnect() => Err(member.not_ready("the connection was lost")),
        };
        if updated.is_err() {
            *self.state() = State::UNREAD;
        }
        updated
    }

    async fn read(&self, shared: &Shared, member: &Member) -> Result<(), Error> {
        let mut reading = self.reading.lock().await;
        if self.are_current() {
            return Ok(());
        }
        // No change is missed between the lists and the subscription. The sender lives as long as `self`.
        let mut subscribed = self.is_subscribed.subscribe();
        let _ = subscribed.wait_for(|it| *it).await;
        if let Some(ended) = reading.ended {
            sleep_until(ended + shared.limits.refresh_interval).await;
        }
        let (before, which) = {
            let mut state = self.state();
            state.changed_again = ListsToRead::NONE;
            (state.items.clone().unwrap_or_default(), state.changed)
        };
        let problems = &mut reading.problems;
        let read = read_lists(&self.client, (member, shared), &before, which, problems).await;
        let mut items = read.map_err(|error| Error::Request {
            server: member.name.clone(),
            error,
        })?;
        for problem in reading.problems.to_texts() {
            let server = &*member.name;
            tracing::debug!(
                server,
                problem,
                "a list of a client's connection is not complete"
            );
        }
        let bytes = share_definitions(&mut items, &member.items());
        drop(reading.memory.take());
        reading.memory = shared.own_lists.reserve(&member.name, bytes);
        if reading.memory.is_none() {
            return Err(member.not_ready(
                "the lists of its clients' connections have as many bytes as they may \
                 (ServersLimits::max_own_list_bytes, half of them for one server)",
            ));
        }
        member.hidden_names.add(&member.prefix, &items);
        reading.ended = Some(Instant::now());
        let mut state = self.state();
        state.items = Some(Arc::new(items));
        state.changed = state.changed_again;
        Ok(())
    }
}

/// Takes the definitions of another list where they are the same, and returns the bytes that the items take.
fn share_definitions(items: &mut ServerItems, other: &ServerItems) -> usize {
    let ServerItems {
        tools,
        resources,
        templates,
        prompts,
        ..
    } = items;
    share_list(tools, &other.tools)
        + share_list(resources, &other.resources)
        + share_list(templates, &other.templates)
        + share_list(prompts, &other.prompts)
}

fn share_list<T: PartialEq>(list: &mut ItemList<T>, other: &ItemList<T>) -> usize {
    let by_name = other.iter().map(|it| (&*it.item.own_name, it));
    let by_name: std::collections::HashMap<&str, &SizedItem<T>> = by_name.collect();
    let mut bytes = 0;
    let shared = list.iter().map(|listed| {
        let mut item = listed.item.clone();
        match by_name.get(&*item.own_name) {
            Some(known) if known.item.item == item.item => item.item = known.item.item.clone(),
            _ => bytes += listed.bytes,
        }
        SizedItem {
            item,
            bytes: listed.bytes,
        }
    });
    *list = shared.collect();
    list.len() * ITEM_BYTES + bytes
}
