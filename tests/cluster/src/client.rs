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

/// The time after that in which a change that is only late is told.
const LATE: Duration = Duration::from_secs(20);

/// The time in which a change that is told twice would be.
const TWICE: Duration = Duration::from_millis(200);

/// The messages of a client that are counted.
#[derive(Clone, Default)]
struct Sent {
    /// Handshakes, each of which opens a session.
    handshakes: Arc<AtomicUsize>,
    /// Requests for a stream of changes.
    listens: Arc<AtomicUsize>,
}

impl MessageObserver for Sent {
    fn on_send(&self, message: &OutboundMessage) {
        let counted = match message.kind {
            OutboundKind::Initialize(_) => &self.handshakes,
            _ if message
                .headers
                .iter()
                .any(|(_, it)| it == "subscriptions/listen") =>
            {
                &self.listens
            }
            _ => return,
        };
        counted.fetch_add(1, Ordering::Relaxed);
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
    let sent = Sent::default();
    let client = loop {
        match connect(&url, era, &sent).await {
            Ok(client) => break client,
            // While the store is paused no session is opened.
            Err(error) if Instant::now() >= end => return Err(error),
            Err(_) => sleep(CONNECT_INTERVAL).await,
        }
    };
    let first = sent.handshakes.load(Ordering::Relaxed);
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
        let watched = watch(&client, &uri, has_ids, &sent.listens);
        let outcome = match timeout(LIMIT + LATE, watched).await {
            Ok(outcome) => outcome,
            Err(_) => Outcome::Silence("no end of a subscription".into()),
        };
        tally.count(&name, "subscribe", began, outcome);
    }
    let opened = sent.handshakes.load(Ordering::Relaxed) - first;
    if opened > 0 && revision != Revision::ALL[0] {
        tally.lose(format!("{name}: {opened} sessions were lost"));
    }
    client.close().await;
    Ok(())
}

/// Connects a client that answers questions.
async fn connect(url: &str, era: EraPreference, sent: &Sent) -> Result<Client, Problem> {
    let client = Client::builder("cluster", "1.0.0")
        .era(era)
        .message_observer(sent.clone())
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

/// Subscribes to a resource, touches it, and looks that its subscriber is told once. `listens` is the number of
/// streams of changes that the client has asked for.
async fn watch(client: &Client, uri: &str, has_ids: bool, listens: &AtomicUsize) -> Outcome {
    let subscribed = client.subscribe(ChangeFilter::new().resource(uri)).await;
    let mut subscription = match subscribed {
        Ok(subscription) => subscription,
        Err(error) => return outcome_of(&error),
    };
    let listened = listens.load(Ordering::Relaxed);
    let touched = call(client, "touch", &json!({ "uri": uri }), "touched").await;
    if touched != Outcome::Done {
        return touched;
    }
    match timeout(SOON, subscription.next()).await {
        Err(_) => {
            let what = match timeout(LATE, subscription.next()).await {
                Err(_) => format!("no change of {uri} at all"),
                Ok(change) => format!("late: {change:?}"),
            };
            return match has_ids {
                true => Outcome::Wrong(what),
                false => Outcome::Missed(what),
            };
        }
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
        Err(_) | Ok(None) => Outcome::Done,
        // A stream of this era has no ids: to a client that asks for another one, everything may have changed.
        Ok(Some(_)) if listens.load(Ordering::Relaxed) > listened => Outcome::Done,
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
