//! `listen`: changes, as the server tells of them.

use std::time::Duration;

use clap::Args;
use serde_json::json;
use turnbuckle::client::{Interest, Subscription};
use turnbuckle::session::Change;

use super::Asked;
use crate::args::duration;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Ink, line};
use crate::session::{Session, with_server};

/// What to listen for, and how long.
#[derive(Args)]
pub(crate) struct Options {
    /// Tell when this resource changes
    #[arg(long = "resource", value_name = "URI")]
    uris: Vec<String>,

    /// Tell when the list of tools changes
    #[arg(long)]
    tools: bool,

    /// Tell when the list of prompts changes
    #[arg(long)]
    prompts: bool,

    /// Tell when the list of resources changes
    #[arg(long)]
    resources: bool,

    /// End after so many changes
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,

    /// End after this time
    #[arg(long = "for", value_name = "TIME", value_parser = duration)]
    time: Option<Duration>,

    #[command(flatten)]
    pub(crate) asked: Asked,
}

pub(crate) async fn run(mut options: Options) -> Result<(), Failure> {
    let (target, words) = options.asked.target()?;
    words.end()?;
    with_server(&options.asked.common, target, async |session| {
        session.want_log().await?;
        let subscription = session.client.subscribe(options.interest(session)?).await?;
        greet(session, &subscription);
        let listening = tell(session, subscription, options.count);
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
    /// What was asked for; or else every list whose changes the server declares to tell of.
    fn interest(&self, session: &Session) -> Result<Interest, Failure> {
        let named = self.tools || self.prompts || self.resources || !self.uris.is_empty();
        let declared = &session.server.capabilities;
        let list = |there: Option<bool>| !named && there == Some(true);
        let tools = declared.tools.as_ref().and_then(|of| of.list_changed);
        let prompts = declared.prompts.as_ref().and_then(|of| of.list_changed);
        let resources = declared.resources.as_ref().and_then(|of| of.list_changed);
        let mut interest = Interest::new();
        if self.tools || list(tools) {
            interest = interest.tools();
        }
        if self.prompts || list(prompts) {
            interest = interest.prompts();
        }
        if self.resources || list(resources) {
            interest = interest.resources();
        }
        for uri in &self.uris {
            interest = interest.resource(&**uri);
        }
        match interest.is_empty() {
            false => Ok(interest),
            true => Err(
                Failure::new("the server does not declare that it tells of changes")
                    .exit(Exit::Refused)
                    .hint("`--resource URI` listens for changes of one resource"),
            ),
        }
    }
}

/// Says what the server agreed to tell of.
fn greet(session: &Session, subscription: &Subscription) {
    let agreed = subscription.honoured().changes();
    let names: Vec<_> = agreed.iter().map(words).collect();
    let screen = &session.screen;
    let text = format!(
        "listening for changes of {}; Ctrl-C ends it",
        names.join(", ")
    );
    screen.note(&screen.err_ink(Ink::Dim, &text));
}

async fn tell(
    session: &Session,
    mut subscription: Subscription,
    count: Option<u64>,
) -> Result<(), Failure> {
    let screen = &session.screen;
    let mut told = 0;
    while let Some(change) = subscription.next().await {
        match screen.is_text() {
            true => screen.print(&format!(
                "{} changed",
                screen.ink(Ink::Strong, &words(&change))
            ))?,
            false => screen.print_json(&notification(&change).to_string())?,
        }
        told += 1;
        if count == Some(told) {
            return Ok(());
        }
    }
    match subscription.closed_because() {
        Some(error) => Err(error.into()),
        None => Ok(()),
    }
}

fn words(change: &Change) -> String {
    match change {
        Change::Tools => "the list of tools".to_owned(),
        Change::Prompts => "the list of prompts".to_owned(),
        Change::Resources => "the list of resources".to_owned(),
        Change::Resource(uri) => line(uri, 500),
    }
}

/// A change as the protocol says it.
fn notification(change: &Change) -> serde_json::Value {
    match change {
        Change::Tools => json!({"method": "notifications/tools/list_changed"}),
        Change::Prompts => json!({"method": "notifications/prompts/list_changed"}),
        Change::Resources => json!({"method": "notifications/resources/list_changed"}),
        Change::Resource(uri) => {
            json!({"method": "notifications/resources/updated", "params": {"uri": &**uri}})
        }
    }
}
