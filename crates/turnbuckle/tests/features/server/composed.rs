//! Groups, mounted servers, layers, access rules, limits, and changes of a running server.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{self, Poll};
use std::time::Duration;

use tower_layer::layer_fn;
use tower_service::Service;
use turnbuckle::ServerBuilder;
use turnbuckle::middleware::{Next, from_fn};
use turnbuckle::prelude::*;
use turnbuckle::service::{CallRequest, CallResponse, CallService};
use turnbuckle::types::{CallToolResult, ContentBlock, ListToolsResult, Principal};

pub(super) fn group() -> Group {
    Group::new()
        .group(Counter::default())
        .group(Group::new().state(7u8).tools(tools![lucky]))
        .group(Group::new().state(8u8).tools(tools![lucky_too]))
        .group(access_group())
        .group(limits_group())
        .tool(item!(fragile).layer(layer_fn(Rescue)))
        .group(Group::new().layer(from_fn(louder)).tools(tools![whisper]))
        .tools(tools![unlisted, shelve, unshelve, shelved])
}

/// A value whose methods are tools.
#[derive(Default)]
struct Counter(AtomicU32);

#[server(blocks(explaining))]
impl Counter {
    /// Increments the counter and returns it.
    #[tool]
    async fn count(&self, #[schema(default = 1)] step: u32) -> String {
        self.count_on(step)
    }

    #[tool]
    fn count_double(&self) -> String {
        self.count_on(self.0.load(Ordering::Relaxed))
    }

    fn count_on(&self, step: u32) -> String {
        (self.0.fetch_add(step, Ordering::Relaxed) + step).to_string()
    }
}

mod explaining {
    use super::*;

    #[server(block = explaining)]
    impl Counter {
        #[prompt]
        fn explain_count(&self, #[schema(complete = self.units)] unit: String) -> String {
            format!("Explain a count of {unit}.")
        }

        async fn units(&self, typing: CompletionRequest) -> Vec<String> {
            let counted = self.count_on(0).parse::<u32>().is_ok();
            let units = if counted {
                ["days", "dozens"]
            } else {
                ["", ""]
            };
            let fits = |unit: &&str| unit.starts_with(&typing.value);
            units.into_iter().filter(fits).map(str::to_owned).collect()
        }
    }
}

#[tool]
fn lucky(number: State<u8>) -> String {
    format!("lucky {}", *number)
}

#[tool]
fn lucky_too(number: State<u8>) -> String {
    lucky(number)
}

/// Returns a server with its own state, to be mounted.
pub(super) fn inner() -> ServerBuilder {
    Server::new("inner", "2.0.0")
        .state(2u8)
        .tools(tools![which])
}

#[tool]
fn which(number: State<u8>) -> String {
    format!("server {}", *number)
}

#[tool]
fn fragile(whole: bool) -> Result<&'static str> {
    match whole {
        true => Ok("whole"),
        false => Err(Failure::new("broken")),
    }
}

/// Rewrites the arguments of a call, and adds to its result.
async fn louder(mut call: CallRequest, next: Next) -> Result<CallResponse> {
    let Words { words } = call.arguments()?;
    call.set_arguments(&Words {
        words: words.to_uppercase(),
    })?;
    let mut response = next.run(call).await;
    let mut result: CallToolResult = response.result().ok_or("no result")?;
    result.content.push(ContentBlock::text("!"));
    response.set_result(result);
    Ok(response)
}

#[data]
struct Words {
    words: String,
}

#[tool]
fn whisper(words: String) -> String {
    words
}

/// Leaves one tool out of the list.
pub(super) async fn hide_unlisted(call: CallRequest, next: Next) -> CallResponse {
    let mut response = next.run(call).await;
    if let Some(mut list) = response.result::<ListToolsResult>() {
        list.tools.retain(|tool| tool.name != "unlisted");
        response.set_result(list);
    }
    response
}

#[tool]
fn unlisted() -> &'static str {
    "here"
}

/// A layer that replaces errors by a result.
#[derive(Clone)]
struct Rescue(CallService);

impl Service<CallRequest> for Rescue {
    type Response = CallResponse;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<CallResponse, Infallible>> + Send>>;

    fn poll_ready(&mut self, cx: &mut task::Context<'_>) -> Poll<Result<(), Infallible>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, call: CallRequest) -> Self::Future {
        let name = call.name().to_owned();
        let answer = self.0.call(call);
        Box::pin(async move {
            let answer = answer.await?;
            match answer.is_error() {
                true => Ok(CallResponse::from_tool_output(format!("{name} rescued"))
                    .unwrap_or_else(CallResponse::from_failure)),
                false => Ok(answer),
            }
        })
    }
}

fn access_group() -> Group {
    let known = |principal: Option<&Principal>| principal.is_some();
    Group::new()
        .group(Group::new().visible_to(known).tools(tools![hidden]))
        .tools(tools![administer])
}

#[tool]
fn hidden(client: ClientInfo) -> String {
    let name = client.principal().map(|principal| &principal.subject);
    format!("found by {name:?}")
}

#[tool(scope = "admin")]
fn administer() -> &'static str {
    "administered"
}

fn limits_group() -> Group {
    let late = Duration::from_millis(50);
    Group::new()
        .group(Group::new().timeout(late).tools(tools![endless]))
        .group(Group::new().max_concurrent(1).tools(tools![alone]))
        .state(Crowd::default())
}

#[tool]
async fn endless() -> String {
    std::future::pending().await
}

#[derive(Default)]
struct Crowd(AtomicU32);

/// Returns the number of concurrent runs of this tool.
#[tool]
async fn alone(State { arc: crowd }: State<Crowd>) -> String {
    let inside = crowd.0.fetch_add(1, Ordering::Relaxed) + 1;
    tokio::time::sleep(Duration::from_millis(5)).await;
    crowd.0.fetch_sub(1, Ordering::Relaxed);
    inside.to_string()
}

/// Disables one tool and adds another in one update.
#[tool]
fn shelve(server: Server) -> Result {
    let update = server
        .update()
        .disable_tool("shelved")
        .add_tool(item!(extra));
    update.apply()?;
    Ok(())
}

/// Reverts the update.
#[tool]
fn unshelve(server: Server) -> Result {
    let update = server.update().enable_tool("shelved").remove_tool("extra");
    update.apply()?;
    Ok(())
}

#[tool]
fn shelved() -> &'static str {
    "still here"
}

#[tool]
fn extra() -> &'static str {
    "new here"
}
