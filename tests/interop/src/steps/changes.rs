//! Subscriptions.

use serde::Deserialize;
use serde_json::Value;
use tokio::time::timeout;
use turnbuckle::client::{ChangeFilter, Subscription};
use turnbuckle::session::handler::Change;

use crate::problem::Problem;
use crate::scene::{SOON, Scene, same};

#[derive(Deserialize)]
struct Subscribe {
    uri: String,
    tool: String,
    arguments: Value,
}

pub(super) async fn subscribe(scene: &Scene) -> Result<(), Problem> {
    let entry: Subscribe = scene.entry("subscribe")?;
    let interest = ChangeFilter::new().resource(entry.uri.as_str());
    let mut subscription = scene.client.subscribe(interest).await?;
    scene.succeed(&entry.tool, &entry.arguments).await?;
    let change = next(&mut subscription).await?;
    same(&change, &Change::Resource(entry.uri.into()))
}

#[derive(Deserialize)]
struct ListChanged {
    list: String,
    tool: String,
    arguments: Value,
    appears: String,
}

/// Checks that a change of a list is announced. Other steps may have changed the list before.
pub(super) async fn list_changed(scene: &Scene) -> Result<(), Problem> {
    let entry: ListChanged = scene.entry("list_changed")?;
    let interest = match entry.list.as_str() {
        "tools" => ChangeFilter::new().tools(),
        "prompts" => ChangeFilter::new().prompts(),
        _ => ChangeFilter::new().resources(),
    };
    let mut subscription = scene.client.subscribe(interest).await?;
    scene.succeed(&entry.tool, &entry.arguments).await?;
    loop {
        next(&mut subscription).await?;
        if scene.names(&entry.list).await?.contains(&entry.appears) {
            return Ok(());
        }
    }
}

async fn next(subscription: &mut Subscription) -> Result<Change, Problem> {
    match timeout(SOON, subscription.next()).await {
        Ok(Some(change)) => Ok(change),
        Ok(None) => Err(match subscription.close_reason() {
            Some(error) => error.into(),
            None => "the subscription ended".into(),
        }),
        Err(_) => Err(format!("no change was told within {SOON:?}").into()),
    }
}
