//! The `listen` command: prints change notifications.

use std::time::Duration;

use clap::Args;
use serde_json::json;
use turnbuckle::client::{ChangeFilter, Subscription};
use turnbuckle::session::handler::Change;
use turnbuckle::types::{Notification as _, ServerCapabilities, method};

use super::TargetArgs;
use crate::args::parse_time;
use crate::connection::{ServerConnection, with_server};
use crate::error::{CliError, ExitStatus};
use crate::output::{Style, sanitize_line};

/// Options of `listen`.
#[derive(Args)]
pub(crate) struct Options {
    /// Announce changes of this resource
    #[arg(long = "resource", value_name = "URI")]
    uris: Vec<String>,

    /// Announce changes of the list of tools
    #[arg(long)]
    tools: bool,

    /// Announce changes of the list of prompts
    #[arg(long)]
    prompts: bool,

    /// Announce changes of the list of resources
    #[arg(long)]
    resources: bool,

    /// End after this number of changes
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,

    /// End after this time
    #[arg(long = "for", value_name = "TIME", value_parser = parse_time)]
    time: Option<Duration>,

    #[command(flatten)]
    pub(crate) target_args: TargetArgs,
}

pub(crate) async fn run(mut options: Options) -> Result<(), CliError> {
    let (server, words) = options.target_args.server()?;
    words.expect_end()?;
    with_server(&options.target_args.common, server, async |connection| {
        connection.apply_log_level().await?;
        let subscription = connection
            .client
            .subscribe(options.subscription_filter(connection)?)
            .await?;
        print_subscribed(connection, &subscription);
        let listening = print_changes(connection, subscription, options.count);
        match options.time {
            None => listening.await,
            Some(time) => match tokio::time::timeout(time, listening).await {
                Ok(ended) => ended,
                Err(_) => Ok(()),
            },
        }
    })
    .await
}

impl Options {
    /// Returns what was asked for on the command line, or else every list whose changes the server
    /// declares.
    fn subscription_filter(&self, connection: &ServerConnection) -> Result<ChangeFilter, CliError> {
        let named = self.tools || self.prompts || self.resources || !self.uris.is_empty();
        let mut interest = match named {
            true => ChangeFilter::new(),
            false => declared_changes(&connection.server.capabilities),
        };
        if self.tools {
            interest = interest.tools();
        }
        if self.prompts {
            interest = interest.prompts();
        }
        if self.resources {
            interest = interest.resources();
        }
        for uri in &self.uris {
            interest = interest.resource(&**uri);
        }
        if interest.is_empty() {
            Err(
                CliError::new("the server does not declare change notifications")
                    .status(ExitStatus::Refused)
                    .hint("`--resource URI` listens for changes of one resource"),
            )
        } else {
            Ok(interest)
        }
    }
}

/// Returns the lists whose changes a server declares to announce.
pub(super) fn declared_changes(capabilities: &ServerCapabilities) -> ChangeFilter {
    let tools = capabilities.tools.as_ref().and_then(|of| of.list_changed);
    let prompts = capabilities.prompts.as_ref().and_then(|of| of.list_changed);
    let resources = capabilities.resources.as_ref();
    let resources = resources.and_then(|of| of.list_changed);
    let mut filter = ChangeFilter::new();
    if tools == Some(true) {
        filter = filter.tools();
    }
    if prompts == Some(true) {
        filter = filter.prompts();
    }
    if resources == Some(true) {
        filter = filter.resources();
    }
    filter
}

/// Prints what the server agreed to announce.
fn print_subscribed(connection: &ServerConnection, subscription: &Subscription) {
    let agreed = subscription.acknowledged_filter().changes();
    let names: Vec<_> = agreed.iter().map(change_name).collect();
    let console = &connection.console;
    let text = format!(
        "listening for changes of {}; press Ctrl-C to stop",
        names.join(", ")
    );
    console.print_note(&console.style_stderr(Style::Dim, &text));
}

/// Prints changes until the subscription ends or `count` is reached.
async fn print_changes(
    connection: &ServerConnection,
    mut subscription: Subscription,
    count: Option<u64>,
) -> Result<(), CliError> {
    let console = &connection.console;
    let mut printed = 0;
    while let Some(change) = subscription.next().await {
        if console.is_text() {
            console.print(&format!(
                "{} changed",
                console.style(Style::Strong, &change_name(&change))
            ))?
        } else {
            console.print_json(&to_notification(&change).to_string())?
        }
        printed += 1;
        if count == Some(printed) {
            return Ok(());
        }
    }
    match subscription.close_reason() {
        Some(error) => Err(error.into()),
        None => Ok(()),
    }
}

/// Returns the name of what changed.
pub(super) fn change_name(change: &Change) -> String {
    match change {
        Change::Tools => "the list of tools".to_owned(),
        Change::Prompts => "the list of prompts".to_owned(),
        Change::Resources => "the list of resources".to_owned(),
        Change::Resource(uri) => sanitize_line(uri, 500),
    }
}

/// Returns the change as a notification of the specification.
fn to_notification(change: &Change) -> serde_json::Value {
    match change {
        Change::Tools => json!({"method": method::ToolListChanged::METHOD}),
        Change::Prompts => json!({"method": method::PromptListChanged::METHOD}),
        Change::Resources => json!({"method": method::ResourceListChanged::METHOD}),
        Change::Resource(uri) => {
            json!({"method": method::ResourceUpdated::METHOD, "params": {"uri": &**uri}})
        }
    }
}
