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
use crate::config::Entry;
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
    /// Connects to all of them at once, and says which cannot be reached.
    pub(crate) async fn connect(
        entries: BTreeMap<String, Entry>,
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
                Err(reason) => console.say(format!("error: {name}: {reason}")),
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
            // A server that tells of no changes is no worse for it.
            if let Ok(subscription) = client.subscribe(lists).await {
                servers.listen(name, subscription);
            }
        }
        servers
    }

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

    /// The server of `server.item`, and the item. Names of servers may have dots, too.
    pub(crate) fn split<'a>(
        &'a self,
        name: &'a str,
    ) -> Result<(&'a str, &'a Client, &'a str), String> {
        let of = |(server, client)| {
            let item = name.strip_prefix(server)?.strip_prefix('.')?;
            Some((server, client, item))
        };
        let found = self
            .iter()
            .filter_map(of)
            .max_by_key(|(server, ..)| server.len());
        match (found, name.split_once('.')) {
            (Some(found), _) => Ok(found),
            (None, Some((server, _))) => Err(self.get(server).err().unwrap_or_default()),
            (None, None) => Err(format!("{name:?} is no command; see help")),
        }
    }

    /// Subscribes to a resource.
    pub(crate) async fn watch(&self, name: &str, uri: &str) -> Result<(), String> {
        let client = self.get(name)?;
        let subscription = client.subscribe(ChangeFilter::new().resource(uri)).await;
        self.listen(name, subscription.map_err(|error| error.to_string())?);
        Ok(())
    }

    /// Changes that are told from now on.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    fn listen(&self, name: &str, mut subscription: Subscription) {
        let (name, console, changes) =
            (name.to_owned(), self.console.clone(), self.changes.clone());
        let task = async move {
            while let Some(change) = subscription.next().await {
                let what = match change {
                    Change::Tools => "its tools".to_owned(),
                    Change::Prompts => "its prompts".to_owned(),
                    Change::Resources => "its resources".to_owned(),
                    Change::Resource(uri) => uri.to_string(),
                };
                console.say(format!("-- {name}: {what} changed"));
                changes.send_modify(|told| *told += 1);
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

async fn connect(
    name: &str,
    entry: Entry,
    console: &Arc<Console>,
    model: &Arc<Model>,
) -> Result<Client, String> {
    let (by, heard) = (name.to_owned(), console.clone());
    let builder = Client::builder("chat", env!("CARGO_PKG_VERSION"))
        .log_level(LoggingLevel::Info)
        .on_log(move |log| heard.say(format!("-- {by}: {}", log.data)));
    let builder = answers::install(builder, name, console, model);
    let connected = builder.connect(entry.connector()?).await;
    connected.map_err(|error| error.to_string())
}
