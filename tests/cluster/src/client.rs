//! The work of our own client, in one revision.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{Instant, sleep, timeout};
use turnbuckle::client::{
    ChangeFilter, EraPreference, Error, Form, FormAnswer, MessageObserver, QuestionContext,
};
use turnbuckle::http::HttpConnector;
use turnbuckle::session::handler::Change;
use turnbuckle::session::transport::{OutboundKind, OutboundMessage};
use turnbuckle::types::{
    CallToolResult, ContentBlock, CreateMessageRequestParams, CreateMessageResult, Role,
    SamplingMessageContentBlock,
};
use turnbuckle::{Client, Revision};

use crate::outcome::{Outcome, Tally};
use crate::problem::Problem;

/// The time in which every action must end: the lease of an instance, and what reconnects take.
const LIMIT: Duration = Duration::from_secs(25);

/// The time between two attempts to connect.
const CONNECT_INTERVAL: Duration = Duration::from_millis(500);

/// The time in which a change must be told.
const SOON: Duration = Duration::from_secs(8);

/// The time in which a change that is told twice would be.
const TWICE: Duration = Duration::from_millis(200);

/// Counts the sessions that a client opens.
struct Sessions(Arc<AtomicUsize>);

impl MessageObserver for Sessions {
    fn on_send(&self, message: &OutboundMessage) {
        if matches!(message.kind, OutboundKind::Initialize(_)) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Works until `end`, and counts the outcomes.
pub(crate) async fn work(
    url: String,
    era: EraPreference,
    revision: Revision,
    tally: Arc<Tally>,
    end: Instant,
) -> Result<(), Problem> {
    let name = format!("ours {revision}");
    let sessions = Arc::new(AtomicUsize::new(0));
    let client = loop {
        match connect(&url, era, &sessions).await {
            Ok(client) => break client,
            // While the store is paused no session is opened.
            Err(error) if Instant::now() >= end => return Err(error),
            Err(_) => sleep(CONNECT_INTERVAL).await,
        }
    };
    let first = sessions.load(Ordering::Relaxed);
    let mut round = 0;
    while Instant::now() < end {
        round += 1;
        let text = format!("{revision}-{round}");
        let uri = format!("counted://{text}");
        let calls = [
            ("echo", json!({ "text": text }), text.clone()),
            ("ask", json!({ "text": text }), text.clone()),
            ("steps", json!({ "count": 4, "text": text }), text.clone()),
            ("cut", json!({ "text": text }), text.clone()),
            ("sample", json!({ "text": text }), text.clone()),
            ("order", json!({ "key": text }), text.clone()),
            ("work", json!({ "text": text }), text.clone()),
        ];
        // Revisions before 2025-06-18 have no forms.
        let has_forms = !matches!(revision, Revision::V2024_11_05 | Revision::V2025_03_26);
        let calls = calls
            .into_iter()
            .filter(|(tool, ..)| has_forms || !["ask", "order"].contains(tool));
        for (tool, arguments, wanted) in calls {
            let began = Instant::now();
            let outcome = call(&client, tool, &arguments, &wanted).await;
            tally.count(&name, tool, began, outcome);
        }
        // Older revisions have no id before the first event, and a connection of HTTP+SSE has none at all.
        let has_ids = revision == Revision::NEWEST_LEGACY;
        let began = Instant::now();
        let outcome = match timeout(LIMIT, watch(&client, &uri, has_ids)).await {
            Ok(outcome) => outcome,
            Err(_) => Outcome::Silence("no end of a subscription".into()),
        };
        tally.count(&name, "subscribe", began, outcome);
    }
    let opened = sessions.load(Ordering::Relaxed) - first;
    if opened > 0 && revision != Revision::ALL[0] {
        tally.lose(format!("{name}: {opened} sessions were lost"));
    }
    client.close().await;
    Ok(())
}

/// Connects a client that answers questions.
async fn connect(
    url: &str,
    era: EraPreference,
    sessions: &Arc<AtomicUsize>,
) -> Result<Client, Problem> {
    let client = Client::builder("cluster", "1.0.0")
        .era(era)
        .message_observer(Sessions(sessions.clone()))
        .on_form(|form: Form, _: QuestionContext| {
            std::future::ready(FormAnswer::accept([("answer", form.message)]))
        })
        .on_sampling(|params: CreateMessageRequestParams, _: QuestionContext| {
            let asked = params.messages.iter().flat_map(|it| it.content.iter());
            let texts = asked.filter_map(SamplingMessageContentBlock::as_text);
            let reply = SamplingMessageContentBlock::text(texts.collect::<String>());
            let reply = CreateMessageResult::new(Role::Assistant, reply, "echo");
            std::future::ready(Ok(reply))
        })
        .connect(HttpConnector::new(url)?)
        .await?;
    Ok(client)
}

async fn call(client: &Client, tool: &str, arguments: &Value, wanted: &str) -> Outcome {
    match timeout(LIMIT, client.call_tool(tool, arguments)).await {
        Err(_) => Outcome::Silence("no answer".into()),
        Ok(Err(error)) => outcome_of(&error),
        Ok(Ok(result)) => match text_of(&result) {
            text if text == wanted => Outcome::Done,
            text if result.is_error == Some(true) => Outcome::Named(text),
            text => Outcome::Wrong(text),
        },
    }
}

/// Subscribes to a resource, touches it, and looks that its subscriber is told once.
async fn watch(client: &Client, uri: &str, has_ids: bool) -> Outcome {
    let subscribed = client.subscribe(ChangeFilter::new().resource(uri)).await;
    let mut subscription = match subscribed {
        Ok(subscription) => subscription,
        Err(error) => return outcome_of(&error),
    };
    let touched = call(client, "touch", &json!({ "uri": uri }), "touched").await;
    if touched != Outcome::Done {
        return touched;
    }
    match timeout(SOON, subscription.next()).await {
        Err(_) if has_ids => return Outcome::Wrong(format!("no change of {uri}")),
        Err(_) => return Outcome::Missed(format!("no change of {uri}")),
        Ok(None) => {
            return match subscription.close_reason() {
                Some(error) => outcome_of(&error),
                None => Outcome::Wrong("a subscription ended".into()),
            };
        }
        Ok(Some(Change::Resource(told))) if *told == *uri => {}
        Ok(Some(other)) => return Outcome::Wrong(format!("{other:?} was told")),
    }
    match timeout(TWICE, subscription.next()).await {
        Err(_) => Outcome::Done,
        Ok(None) => Outcome::Done,
        Ok(Some(change)) => Outcome::Repeated(format!("{change:?} was told twice")),
    }
}

fn outcome_of(error: &Error) -> Outcome {
    let text = error.to_string();
    match error {
        Error::ErrorResponse(_) => Outcome::Named(text),
        Error::TimedOut(_) => Outcome::Silence(text),
        _ => Outcome::Cut(text),
    }
}

fn text_of(result: &CallToolResult) -> String {
    let texts = result.content.iter().filter_map(ContentBlock::as_text);
    texts.collect()
}
