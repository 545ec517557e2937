//! The connected servers.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::sync::watch;
use tokio::task::JoinSet;
use turnbuckle::Client;
use turnbuckle::client::{ChangeFilter, Subscription};
use turnbuckle::session::Change;
use turnbuckle::types::LoggingLevel;

use crate::answers::{self, Model};
use crate::config::ServerEntry;
use crate::console::Console;

/// All servers by name, and their subscriptions.
pub(crate) struct Servers {
    clients: BTreeMap<String, Client>,
    console: Arc<Console>,
    /// The number of changes that were printed.
    changes: watch::Sender<u64>,
    /// The tasks that listen; they end when this is dropped.
    listening: std::sync::Mutex<JoinSet<()>>,
}

impl Servers {
    /// Connects to all servers at once, and prints an error for each that cannot be reached.
    pub(crate) async fn connect(
        entries: BTreeMap<String, ServerEntry>,
        console: &Arc<Console>,
        model: &Arc<Model>,
    ) -> Self {
        let mut connecting = JoinSet::new();
        for (name, entry) in entries {
            let (console, model) = (console.clone(), model.clone());
            connecting.spawn(async move {
                let client = connect(&name, entry, &console, &model).await;
                (name, client)
            });
        }
        let mut clients = BTreeMap::new();
        for (name, client) in connecting.join_all().await {
            match client {
                Ok(client) => drop(clients.insert(name, client)),
                Err(reason) => console.print(format!("error: {name}: {reason}")),
            }
        }
        let servers = Self {
            clients,
            console: console.clone(),
            changes: watch::Sender::new(0),
            listening: std::sync::Mutex::default(),
        };
        for (name, client) in &servers.clients {
            let lists = ChangeFilter::new().tools().prompts().resources();
            // A server without subscriptions can still be used.
            if let Ok(subscription) = client.subscribe(lists).await {
                servers.listen(name, subscription);
            }
        }
        servers
    }

    /// Returns the servers by name.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &Client)> {
        self.clients
            .iter()
            .map(|(name, client)| (name.as_str(), client))
    }

    /// Returns a server by name.
    pub(crate) fn get(&self, name: &str) -> Result<&Client, String> {
        self.clients.get(name).ok_or_else(|| {
            let names: Vec<&str> = self.iter().map(|(name, _)| name).collect();
            format!(
                "there is no server {name:?}; there are: {}",
                names.join(", ")
            )
        })
    }

    /// Splits `SERVER.ITEM` and returns the name of the server, its client and the item. Names of
    /// servers may contain dots; the longest match is taken.
    pub(crate) fn split_name<'a>(
        &'a self,
        name: &'a str,
    ) -> Result<(&'a str, &'a Client, &'a str), String> {
        let matching = |(server, client)| {
            let item = name.strip_prefix(server)?.strip_prefix('.')?;
            Some((server, client, item))
        };
        let found = self
            .iter()
            .filter_map(matching)
            .max_by_key(|(server, ..)| server.len());
        match (found, name.split_once('.')) {
            (Some(found), _) => Ok(found),
            (None, Some((server, _))) => Err(self.get(server).err().unwrap_or_default()),
            (None, None) => Err(format!("{name:?} is not a command; type help")),
        }
    }

    /// Subscribes to a resource and prints its changes.
    pub(crate) async fn watch(&self, name: &str, uri: &str) -> Result<(), String> {
        let client = self.get(name)?;
        let subscription = client.subscribe(ChangeFilter::new().resource(uri)).await;
        self.listen(name, subscription.map_err(|error| error.to_string())?);
        Ok(())
    }

    /// Returns a receiver that is notified of each change that is printed from now on.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Prints the changes of a subscription in a task.
    fn listen(&self, name: &str, mut subscription: Subscription) {
        let (name, console, changes) =
            (name.to_owned(), self.console.clone(), self.changes.clone());
        let task = async move {
            while let Some(change) = subscription.next().await {
                let subject = match change {
                    Change::Tools => "its tools".to_owned(),
                    Change::Prompts => "its prompts".to_owned(),
                    Change::Resources => "its resources".to_owned(),
                    Change::Resource(uri) => uri.to_string(),
                };
                console.print(format!("-- {name}: {subject} changed"));
                changes.send_modify(|count| *count += 1);
            }
        };
        let mut listening = self
            .listening
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        listening.spawn(task);
    }

    /// Closes all connections.
    pub(crate) async fn close(&self) {
        for client in self.clients.values() {
            client.close().await;
        }
    }
}

/// Connects to one server.
async fn connect(
    name: &str,
    entry: ServerEntry,
    console: &Arc<Console>,
    model: &Arc<Model>,
) -> Result<Client, String> {
    let (server, log_console) = (name.to_owned(), console.clone());
    let builder = Client::builder("chat", env!("CARGO_PKG_VERSION"))
        .log_level(LoggingLevel::Info)
        .on_log(move |log| log_console.print(format!("-- {server}: {}", log.data)));
    let builder = answers::install_handlers(builder, name, console, model);
    let connected = builder.connect(entry.connector()?).await;
    connected.map_err(|error| error.to_string())
}
