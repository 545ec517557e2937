//! The task that connects one server, watches it, and connects it again.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep, sleep_until};
use turnbuckle_client::{ChangeFilter, Client, EraKind, Error, Subscription};
use turnbuckle_session::handler::Change;
use turnbuckle_session::transport::Connector;
use turnbuckle_types::RequestParams;
use turnbuckle_types::base::text::Escaped;
use turnbuckle_types::method::Discover;

use crate::change::ChangeKind;
use crate::connections::backoff::Backoff;
use crate::connections::open::{FEW_ATTEMPTS, open};
use crate::member::lists::{ListProblems, ListsToRead, is_loss, read_lists};
use crate::member::shared::Shared;
use crate::member::state::Member;
use crate::member::status::ServerState;
use crate::view::item_kind::ItemKind;
use crate::view::items::{ServerItems, same};

/// Connects one server and keeps it connected until the servers are closed.
pub(crate) async fn supervise(shared: Arc<Shared>, member: Arc<Member>) {
    let supervisor = Supervisor {
        shared: &shared,
        member: &member,
    };
    tokio::select! {
        () = supervisor.run() => {}
        () = shared.stop.cancelled() => {}
    }
    shared.stop.cancelled().await;
    if let Some(connection) = member.take_connection() {
        connection.client.close().await;
    }
    member.set_closed();
    member.settled.send_replace(true);
}

/// One server and what it shares with the others.
struct Supervisor<'a> {
    shared: &'a Shared,
    member: &'a Member,
}

/// An open connection to the server.
struct Connected {
    client: Client,
    /// The changes of its lists; `None` if the server reports none.
    subscription: Option<Subscription>,
    problems: ListProblems,
}

impl Supervisor<'_> {
    /// Connects again and again; returns when no further attempt can succeed.
    async fn run(&self) {
        let limits = &self.shared.limits;
        let connector = match &self.member.connector {
            Ok(connector) => connector.clone(),
            Err(reason) => return self.fail(reason.clone(), ServerState::Failed),
        };
        let mut era = None;
        let mut backoff = Backoff::default();
        loop {
            self.member.begin_attempt();
            self.publish(ChangeKind::Status);
            let error = match self.connect(&connector, era).await {
                Ok(connected) => {
                    let ready_at = Instant::now();
                    era = connected.client.server_info().map(|info| info.era());
                    self.member.settled.send_replace(true);
                    let end = self.watch(connected).await;
                    let Some(error) = end else {
                        self.rest().await;
                        continue;
                    };
                    self.member.set_lost(describe(&error));
                    self.publish(ChangeKind::Status);
                    if let Some(connection) = self.member.take_connection() {
                        connection.client.close().await;
                    }
                    match connector.can_reopen() {
                        true => {
                            self.wait(backoff.fail(Some(ready_at), limits)).await;
                            continue;
                        }
                        false => error,
                    }
                }
                Err(error) => error,
            };
            if !connector.can_reopen() {
                return self.fail(describe(&error), ServerState::Failed);
            }
            let delay = backoff.fail(None, limits);
            self.fail(describe(&error), ServerState::Waiting(delay));
            self.wait(delay).await;
        }
    }

    /// Closes a connection that nobody uses, and waits until somebody does.
    async fn rest(&self) {
        if let Some(connection) = self.member.take_connection() {
            connection.client.close().await;
        }
        self.publish(ChangeKind::Status);
        self.member.refresh.notified().await;
    }

    /// Waits until the next attempt, or until somebody asks for one.
    async fn wait(&self, delay: Duration) {
        tokio::select! {
            () = sleep(delay) => {}
            () = self.member.refresh.notified() => {}
        }
    }

    /// Takes note of a failed attempt.
    fn fail(&self, error: String, next: ServerState) {
        let server = &*self.member.name;
        match next {
            ServerState::Failed => tracing::warn!(server, error, "a server cannot be connected"),
            _ => tracing::debug!(server, error, "a server is not connected, and tried again"),
        }
        let before = self.member.items();
        self.member.set_failed(error, next);
        let after = self.member.items();
        self.shared.merge();
        self.member.settled.send_replace(true);
        self.publish(ChangeKind::Status);
        self.publish_differences(&before, &after);
    }

    /// Opens a connection, subscribes to changes and reads all lists.
    async fn connect(
        &self,
        connector: &Arc<dyn Connector>,
        era: Option<EraKind>,
    ) -> Result<Connected, Error> {
        // Later attempts belong to this task.
        let client = open(
            self.shared,
            self.member,
            connector.clone(),
            era,
            FEW_ATTEMPTS,
            None,
        )
        .await?;
        let mut connected = Connected {
            client,
            subscription: None,
            problems: ListProblems::default(),
        };
        match self.subscribe_and_read(&mut connected).await {
            Ok(()) => {
                self.member.set_ready(connected.client.clone());
                self.publish(ChangeKind::Status);
                Ok(connected)
            }
            Err(error) => {
                connected.client.close().await;
                Err(error)
            }
        }
    }

    /// Subscribes to changes of the lists, and then reads all of them, so that no change is missed.
    async fn subscribe_and_read(&self, connected: &mut Connected) -> Result<(), Error> {
        let filter = ChangeFilter::new().tools().resources().prompts();
        connected.subscription = match connected.client.subscribe(filter).await {
            Ok(subscription) => Some(subscription),
            Err(error @ (Error::Unauthorized { .. } | Error::Closed)) => return Err(error),
            Err(error) if error.is_connection_lost() => return Err(error),
            Err(error) => {
                let server = &*self.member.name;
                tracing::debug!(server, error = %Escaped(&error), "the server reports no changes of its lists");
                None
            }
        };
        self.read(connected, ListsToRead::ALL).await
    }

    /// Reads lists and publishes what changed.
    async fn read(&self, connected: &mut Connected, which: ListsToRead) -> Result<(), Error> {
        let Connected {
            client, problems, ..
        } = connected;
        let before = self.member.items();
        let sources = (self.member, self.shared);
        let after = Box::pin(read_lists(client, sources, &before, which, problems)).await?;
        let texts = problems.to_texts();
        for problem in &texts {
            tracing::warn!(
                server = &*self.member.name,
                problem,
                "a list is not complete"
            );
        }
        let has_other_problems = self.member.set_items(after, texts);
        let after = self.member.items();
        self.shared.merge();
        self.publish_differences(&before, &after);
        if has_other_problems {
            self.publish(ChangeKind::Problems);
        }
        Ok(())
    }

    /// Watches a connected server until it is lost, and returns the reason; `None` if nobody has used it for
    /// the time after which its connection is closed.
    async fn watch(&self, mut connected: Connected) -> Option<Error> {
        let limits = &self.shared.limits;
        let client = connected.client.clone();
        let mut lost = pin!(client.wait_for_disconnect());
        let mut check_at = Instant::now() + limits.check_interval;
        let mut pending = ListsToRead::NONE;
        let mut read_at = Instant::now();
        loop {
            let outcome = tokio::select! {
                () = &mut lost => {
                    self.member.set_lost("the connection was lost".to_owned());
                    self.publish(ChangeKind::Status);
                    lost.set(client.wait_for_disconnect());
                    match client.reconnect().await {
                        Ok(()) => {
                            // The new connection, and not the one before it.
                            lost.set(client.wait_for_disconnect());
                            self.recover(&mut connected).await
                        }
                        Err(error) => Err(error),
                    }
                }
                () = self.member.wait_until_idle() => return None,
                change = next_change(&mut connected.subscription) => {
                    match change {
                        Change::Tools => pending.tools = true,
                        Change::Prompts => pending.prompts = true,
                        _ => pending.resources = true,
                    }
                    Ok(())
                }
                () = self.member.refresh.notified() => {
                    pending = ListsToRead::ALL;
                    Ok(())
                }
                () = sleep_until(read_at), if pending != ListsToRead::NONE => {
                    let which = std::mem::replace(&mut pending, ListsToRead::NONE);
                    let outcome = self.read(&mut connected, which).await;
                    read_at = Instant::now() + limits.refresh_interval;
                    outcome
                }
                () = sleep_until(check_at) => {
                    let outcome = self.check(&connected).await;
                    check_at = Instant::now() + limits.check_interval;
                    outcome
                }
            };
            if let Err(error) = outcome {
                return Some(error);
            }
        }
    }

    /// Takes up the work after the client has opened the connection anew.
    async fn recover(&self, connected: &mut Connected) -> Result<(), Error> {
        self.subscribe_and_read(connected).await?;
        self.member.set_ready(connected.client.clone());
        self.publish(ChangeKind::Status);
        Ok(())
    }

    /// Asks a server without other requests for a sign of life.
    async fn check(&self, connected: &Connected) -> Result<(), Error> {
        let client = &connected.client;
        let is_legacy = client
            .server_info()
            .is_some_and(|info| info.era() == EraKind::Legacy);
        // In the modern era the subscription is a request.
        let open = usize::from(connected.subscription.is_some() && !is_legacy);
        if client.in_flight().requests > open {
            return Ok(());
        }
        let timeout = self.shared.limits.check_timeout;
        let outcome = match is_legacy {
            true => client.ping().idle_timeout(timeout).await.map(drop),
            false => {
                let discovery = client.request::<Discover>(RequestParams::new());
                let discovery = discovery.bypass_cache().idle_timeout(timeout);
                discovery.await.map(drop)
            }
        };
        match outcome {
            Err(error) if is_loss(&error) => Err(error),
            _ => Ok(()),
        }
    }

    fn publish(&self, change: ChangeKind) {
        self.shared.changes.publish(&self.member.name, change);
    }

    /// Publishes which kinds of items differ.
    fn publish_differences(&self, before: &ServerItems, after: &ServerItems) {
        if !same(&before.tools, &after.tools) {
            self.publish(ChangeKind::Items(ItemKind::Tool));
        }
        if !same(&before.resources, &after.resources) || !same(&before.templates, &after.templates)
        {
            self.publish(ChangeKind::Items(ItemKind::Resource));
        }
        if !same(&before.prompts, &after.prompts) {
            self.publish(ChangeKind::Items(ItemKind::Prompt));
        }
    }
}

/// Returns the next change. A subscription that ended reports no more; then the loss of the
/// connection shows elsewhere.
async fn next_change(subscription: &mut Option<Subscription>) -> Change {
    if let Some(open) = subscription {
        if let Some(change) = open.next().await {
            return change;
        }
        *subscription = None;
    }
    std::future::pending().await
}

/// Returns the text of an error; of a connection that was not opened again, the reason of its loss.
fn describe(error: &Error) -> String {
    match error {
        Error::ReconnectsExhausted { last_error, .. } => last_error.clone(),
        error => error.to_string(),
    }
}
