//! Context of a step: a connected client, the features of its server, and the messages received.

use std::sync::Arc;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::time::{Instant, sleep};
use turnbuckle::Client;
use turnbuckle::Features;
use turnbuckle::types::{CallToolResult, ContentBlock};

use crate::answers::ServerMessages;
use crate::peers::Surface;
use crate::problem::Problem;

/// Time within which an expected message has to arrive.
pub(crate) const SOON: Duration = Duration::from_secs(6);
/// Interval between two looks for an expected message.
const EVERY: Duration = Duration::from_millis(10);

/// One connection.
pub(crate) struct Scene {
    pub(crate) client: Client,
    pub(crate) features: &'static Features,
    pub(crate) messages: Arc<ServerMessages>,
    pub(crate) surface: Arc<Surface>,
}

impl Scene {
    /// Returns what the server's surface says about a step.
    pub(crate) fn entry<T: DeserializeOwned>(&self, step: &str) -> Result<T, Problem> {
        let entry = self.surface.get(step);
        let entry = entry.ok_or_else(|| format!("the surface has no {step:?}"))?;
        Ok(T::deserialize(entry)?)
    }

    /// Calls a tool that has to succeed.
    pub(crate) async fn succeed(
        &self,
        tool: &str,
        arguments: &Value,
    ) -> Result<CallToolResult, Problem> {
        require_success(self.client.call_tool(tool, arguments).await?)
    }

    /// Fetches a list anew and returns the names of its entries.
    pub(crate) async fn names(&self, list: &str) -> Result<Vec<String>, Problem> {
        let client = &self.client;
        Ok(match list {
            "tools" => keys(
                client.list_tools().bypass_cache().fetch_all().await?,
                |tool| tool.name,
            ),
            "resources" => keys(
                client.list_resources().bypass_cache().fetch_all().await?,
                |one| one.uri,
            ),
            "templates" => {
                let templates = client
                    .list_resource_templates()
                    .bypass_cache()
                    .fetch_all()
                    .await?;
                keys(templates, |template| template.uri_template)
            }
            "prompts" => keys(
                client.list_prompts().bypass_cache().fetch_all().await?,
                |one| one.name,
            ),
            other => return Err(format!("there is no list of {other}").into()),
        })
    }
}

fn keys<T>(entries: Vec<T>, key: impl Fn(T) -> String) -> Vec<String> {
    entries.into_iter().map(key).collect()
}

/// Returns the result unchanged, or an error if the tool reported a failure.
pub(crate) fn require_success(result: CallToolResult) -> Result<CallToolResult, Problem> {
    match result.is_error {
        Some(true) => Err(format!("the tool failed: {}", text(&result)).into()),
        _ => Ok(result),
    }
}

/// Returns the text of a result.
pub(crate) fn text(result: &CallToolResult) -> String {
    let texts: Vec<&str> = result
        .content
        .iter()
        .filter_map(ContentBlock::as_text)
        .collect();
    texts.join("\n")
}

/// Returns an error unless `text` contains `says`.
pub(crate) fn holds(text: &str, says: &str) -> Result<(), Problem> {
    match text.contains(says) {
        true => Ok(()),
        false => Err(format!("{says:?} is not in {text:?}").into()),
    }
}

/// Returns an error unless both values are equal.
pub(crate) fn same<T: PartialEq + std::fmt::Debug>(came: &T, wanted: &T) -> Result<(), Problem> {
    match came == wanted {
        true => Ok(()),
        false => Err(format!("{came:?} came, not {wanted:?}").into()),
    }
}

/// Waits until `probe` says that it is so.
pub(crate) async fn until<F>(what: &str, mut probe: impl FnMut() -> F) -> Result<(), Problem>
where
    F: Future<Output = Result<bool, Problem>>,
{
    let end = Instant::now() + SOON;
    while !probe().await? {
        if Instant::now() >= end {
            return Err(format!("{what}: not seen within {SOON:?}").into());
        }
        sleep(EVERY).await;
    }
    Ok(())
}
