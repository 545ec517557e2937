//! Questions of every era: only what the client declared is asked.

use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::check::{Check, Need, Stop};
use crate::context::CheckContext;
use crate::probe::Probe;
use crate::report::Level;
use crate::survey::Survey;

/// The tools of the official suite that ask, each with the name of its argument.
const ASKING: [(&str, Option<&str>); 3] = [
    ("test_sampling", Some("prompt")),
    ("test_elicitation", Some("message")),
    ("test_list_roots", None),
];

/// Questions of one session whose ids are compared.
const QUESTIONS: usize = 10;

/// Time in which a server that gives up on a question soon does so.
const GIVES_UP: Duration = Duration::from_secs(1);

pub(super) const CHECKS: &[Check] = &[
    Check::new(
        "ask.only-declared",
        Level::Must,
        "a client that declares nothing is asked nothing",
        |cx| Box::pin(only_declared(cx)),
    )
    .needs(&[Need::Tool])
    .requires(&[
        "4bde8b77cab8",
        "bf40b4d36a4f",
        "c257186b73e7",
        "3914b88166a5",
        "4d7c1880ff7f",
        "7059086de5ac",
        "8f1696eda91b",
    ])
    .fix("ask only for what the client declared: fail the call otherwise, and say what is missing"),
    Check::new(
        "ask.withdrawn",
        Level::Should,
        "a question that the server gives up on is cancelled",
        |cx| Box::pin(withdrawn(cx)),
    )
    .legacy()
    .once()
    .needs(&[Need::Tool])
    .requires(&["56640aa98c1b"])
    .fix(
        "send `notifications/cancelled` with the id of a request whose answer did not come in time",
    ),
];

/// Returns the calls of the tools that ask and may be called.
fn asking_calls(survey: &Survey) -> impl Iterator<Item = (&'static str, Value)> {
    ASKING.into_iter().filter_map(|(name, argument)| {
        survey.tool(name).filter(|tool| survey.is_callable(tool))?;
        let arguments: Map<_, _> = argument
            .map(|argument| (argument.to_owned(), "check".into()))
            .into_iter()
            .collect();
        Some((name, json!({"name": name, "arguments": arguments})))
    })
}

/// Returns a call of a tool that asks a client with all capabilities something, if there is one.
pub(crate) fn asking_call(survey: &Survey) -> Option<Value> {
    let (_, call) = asking_calls(survey).next()?;
    Some(call)
}

/// Returns the capabilities of a client that can be asked everything.
pub(crate) fn all_capabilities() -> Value {
    json!({"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {}})
}

fn none() -> Stop {
    Stop::Skip("no tool that may be called is known to ask".into())
}

/// Calls a tool that asks again and again in one session, if there is one: the judge of conversations
/// compares the ids.
pub(crate) async fn ask_often(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let Some(call) = asking_call(cx.survey()) else {
        return Ok(());
    };
    let options = cx.options().capabilities(all_capabilities());
    let mut probe = cx.fresh(options).await?;
    for _ in 0..QUESTIONS {
        let id = probe.start("tools/call", call.clone()).await?;
        loop {
            let message = probe.next_or_response(id).await?;
            if message.get("method").is_none() {
                break;
            }
            if let Some(asked) = message.get("id") {
                probe.answer_error(asked, -1, "a check").await?;
            }
        }
    }
    Ok(())
}

async fn withdrawn(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let call = asking_call(cx.survey()).ok_or_else(none)?;
    let options = cx.options().capabilities(all_capabilities());
    let mut probe = cx.fresh(options).await?;
    let id = probe.start("tools/call", call).await?;
    probe.wait(GIVES_UP).await?;
    let messages = probe.take_messages();
    let Some(question) = messages
        .iter()
        .find(|it| it["method"].is_string() && it.get("id").is_some())
    else {
        return Err(none());
    };
    if !probe.has_answer(id) {
        probe.cancel(id, Some("a check")).await?;
        return Err(Stop::Skip(format!(
            "the server waits longer than {GIVES_UP:?} for an answer"
        )));
    }
    let is_cancelled = messages.iter().any(|it| {
        it["method"] == "notifications/cancelled" && it["params"]["requestId"] == question["id"]
    });
    if !is_cancelled {
        cx.fault(format!(
            "the call is answered while {} waits, which is not cancelled",
            question["method"]
        ));
    }
    Ok(())
}

async fn only_declared(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let survey = cx.survey();
    let mut called = 0;
    for (name, params) in asking_calls(survey) {
        called += 1;
        let probe = cx.probe().await?;
        probe.take_messages();
        let id = probe.start("tools/call", params).await?;
        let asked = question_or_answer(probe, id).await?;
        if let Some(method) = asked {
            cx.fault_at(
                name,
                format!("{method} is sent to a client that did not declare it"),
            );
        }
    }
    match called {
        0 => Err(Stop::Skip(
            "no tool that may be called is known to ask".into(),
        )),
        _ => Ok(()),
    }
}

/// Waits for the answer to a call. Returns the method of a question that comes before it.
async fn question_or_answer(probe: &mut Probe, id: i64) -> Result<Option<String>, Stop> {
    let answer = probe.response(id).await;
    let messages = probe.take_messages();
    let mut questions = messages.iter().filter(|it| it.get("id").is_some());
    if let Some(method) = questions.find_map(|it| it["method"].as_str()) {
        return Ok(Some(method.to_owned()));
    }
    let answer = answer?;
    let requests = answer["result"]["inputRequests"].as_object();
    let mut requests = requests.into_iter().flat_map(|all| all.values());
    Ok(requests.find_map(|it| it["method"].as_str().map(str::to_owned)))
}
