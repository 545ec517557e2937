//! Questions of every era: only what the client declared is asked.

use serde_json::json;

use crate::check::{Check, Need, Stop};
use crate::context::CheckContext;
use crate::probe::Probe;
use crate::report::Level;

/// The tools of the official suite that ask.
const ASKING: [&str; 3] = ["test_sampling", "test_elicitation", "test_list_roots"];

pub(super) const CHECKS: &[Check] = &[Check::new(
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
.fix("ask only for what the client declared: fail the call otherwise, and say what is missing")];

async fn only_declared(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let survey = cx.survey();
    let mut called = 0;
    for name in ASKING {
        let is_usable = survey
            .tool(name)
            .is_some_and(|tool| survey.is_callable(tool));
        if !is_usable {
            continue;
        }
        called += 1;
        let arguments = json!({"prompt": "check", "message": "check"});
        let params = json!({"name": name, "arguments": arguments});
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
