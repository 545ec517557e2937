//! The user of a client who asks for everything and can be asked everything.

use std::time::Duration;

use serde_json::json;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};
use turnbuckle_client::{
    ChangeFilter, Client, ClientBuilder, EraPreference, Error, Form, FormAnswer, QuestionContext,
    Roots, UrlAnswer, UrlRequest,
};
use turnbuckle_session::transport::Connector;
use turnbuckle_types::{
    CreateMessageRequestParams, CreateMessageResult, LoggingLevel, PromptReference, Role, Root,
};
use turnbuckle_wire::revision::Revision;

/// Longest time that a model or a visit takes.
const THINKING: Duration = Duration::from_secs(5);

/// Time for which a subscription is kept.
const SUBSCRIBED: Duration = Duration::from_secs(300);

/// The word that ends the connection.
const CLOSE: &[u8] = b"close";

/// A client, and what it is doing.
pub(super) struct User {
    connecting: Option<JoinHandle<Result<Client, Error>>>,
    client: Option<Client>,
    doing: Vec<JoinHandle<()>>,
    closed: bool,
}

impl User {
    /// Begins to connect, in that revision or in any.
    pub(super) fn connect(connector: impl Connector, revision: Option<Revision>) -> Self {
        let era = revision.map_or(EraPreference::Auto, EraPreference::Only);
        let connecting = builder().era(era).connect(connector);
        Self {
            connecting: Some(tokio::spawn(connecting)),
            client: None,
            doing: Vec::new(),
            closed: false,
        }
    }

    /// Returns the client, if it is connected.
    pub(super) async fn client(&mut self) -> Option<&Client> {
        if let Some(connecting) = self.connecting.take_if(|it| it.is_finished()) {
            match connecting.await.expect("connecting does not panic") {
                Ok(client) => self.client = Some(client),
                Err(error) => readable(&error),
            }
        }
        self.client.as_ref()
    }

    /// Returns whether the client has closed the connection.
    pub(super) fn has_closed(&self) -> bool {
        self.closed
    }

    /// Returns whether no action is running any more.
    pub(super) fn is_done(&self) -> bool {
        self.connecting.as_ref().is_none_or(JoinHandle::is_finished)
            && self.doing.iter().all(JoinHandle::is_finished)
    }

    /// Lets go of what was begun last and has not ended.
    pub(super) fn let_go(&self) {
        if let Some(last) = self.doing.iter().rfind(|it| !it.is_finished()) {
            last.abort();
        }
    }

    /// Begins what the word says.
    pub(super) async fn begin(&mut self, word: &[u8]) {
        let Some(client) = self.client().await.cloned() else {
            return;
        };
        self.closed |= word == CLOSE;
        let word = word.to_vec();
        self.doing.push(tokio::spawn(async move {
            if let Err(error) = act(&client, &word).await {
                readable(&error);
            }
        }));
    }

    /// Sees that nothing has panicked.
    pub(super) async fn end(self) {
        for it in self.doing {
            if let Err(error) = it.await {
                assert!(error.is_cancelled(), "{error}");
            }
        }
    }
}

async fn act(client: &Client, word: &[u8]) -> Result<(), Error> {
    match word {
        b"call" => {
            let (call, mut progress) = client.call_tool("t", &json!({"a": 1})).with_progress();
            call.await?;
            while progress.next().await.is_some() {}
        }
        b"structured" => {
            let call = client.call_tool("t", &()).allow_retry();
            call.structured_content::<Vec<String>>().await?;
        }
        b"tools" => drop(client.list_tools().fetch_all().await?),
        b"prompts" => drop(client.list_prompts().fetch_all().await?),
        b"resources" => {
            let mut list = client.list_resources();
            while let Some(item) = list.next().await {
                item?;
            }
        }
        b"templates" => drop(client.list_resource_templates().page(Some("c")).await?),
        b"prompt" => drop(client.get_prompt("p", [("a", "b")]).await?),
        b"read" => drop(client.read_resource("a:b").await?),
        b"complete" => {
            let typed = client.complete(PromptReference::new("p"), "a", "b");
            typed.await?;
        }
        b"ping" => drop(client.ping().await?),
        b"level" => drop(client.set_log_level(LoggingLevel::Debug).await?),
        b"subscribe" => subscribe(client).await?,
        CLOSE => client.close().await,
        _ => drop(client.request_raw("test/any", None, Some(THINKING)).await?),
    }
    Ok(())
}

async fn subscribe(client: &Client) -> Result<(), Error> {
    let interest = ChangeFilter::new().tools().prompts().resources();
    let mut subscription = client.subscribe(interest.resource("a:b")).await?;
    let changes = async { while subscription.next().await.is_some() {} };
    if timeout(SUBSCRIBED, changes).await.is_ok() {
        let why = subscription.close_reason();
        readable(&why.expect("a reason"));
    }
    Ok(())
}

fn builder() -> ClientBuilder {
    let roots = Roots::new();
    let root = Root::new("file:///r").expect("a root");
    roots.set([root]).expect("a root");
    Client::builder("fuzz", "1")
        .roots(roots)
        .sampling_tools()
        .sampling_context()
        .trust_tool_hints()
        .log_level(LoggingLevel::Info)
        .max_concurrent_questions(2)
        .on_log(|_| {})
        .on_invalid_message(|count, _| assert!(count > 0))
        .on_sampling(async |_: CreateMessageRequestParams, _: QuestionContext| {
            sleep(THINKING).await;
            Ok(CreateMessageResult::new(Role::Assistant, "a", "m"))
        })
        .on_form(async |form: Form, _: QuestionContext| {
            form.accept_defaults().unwrap_or(FormAnswer::Decline)
        })
        .on_url(async |url: UrlRequest, _: QuestionContext| {
            // A server need not say so.
            let _ = timeout(THINKING, url.wait_for_completion()).await;
            UrlAnswer::Accept
        })
}

/// Asserts that an error has a readable text.
fn readable(error: &Error) {
    assert!(!error.to_string().is_empty(), "{error:?}");
}
