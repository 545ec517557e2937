//! Answers to one request for each item: calls of tools, contents of resources, messages of prompts.
//!
//! Several checks judge the same answers, which are asked for once.

use std::time::Duration;

use serde_json::Value;
use tokio::sync::OnceCell;
use tokio::time::{Instant, timeout_at};

use crate::probe::{Probe, ProbeError};

/// Time limit of the answers to requests that wait at the same time, unless that of a wait is shorter. A
/// tool that takes longer is not judged.
const MAX_TIME: Duration = Duration::from_secs(2);

/// Requests that wait for their answers at the same time.
const AT_ONCE: usize = 8;

/// The answer to a request for one item.
#[derive(Debug, Clone)]
pub(crate) struct Answered {
    /// The definition of the item, as the server lists it.
    pub(crate) definition: Value,
    /// The params of the request.
    pub(crate) params: Value,
    /// The whole response; null if none came in time.
    pub(crate) answer: Value,
}

impl Answered {
    /// Returns the name or URI of the item.
    #[must_use]
    pub(crate) fn item(&self) -> &str {
        let [name, uri] = ["name", "uri"].map(|it| self.params[it].as_str());
        name.or(uri).unwrap_or_default()
    }

    /// Returns the result, unless it is an error or asks for something first.
    #[must_use]
    pub(crate) fn success(&self) -> Option<&Value> {
        let result = self.answer.get("result")?;
        let is_complete = matches!(result["resultType"].as_str(), None | Some("complete"));
        (is_complete && result["isError"] != true).then_some(result)
    }

    /// Returns the text of the response, as evidence.
    #[must_use]
    pub(crate) fn evidence(&self) -> String {
        self.answer.to_string()
    }
}

/// The answers that checks share.
#[derive(Debug, Clone, Default)]
pub(super) struct Answers {
    pub(super) calls: OnceCell<Vec<Answered>>,
    pub(super) bad_calls: OnceCell<Vec<(String, Answered)>>,
    pub(super) reads: OnceCell<Vec<Answered>>,
    pub(super) prompts: OnceCell<Vec<Answered>>,
}

/// Sends a request for each item, some at a time. A request that has no answer in time is cancelled; once
/// none of several had one, the rest is not sent.
pub(crate) async fn ask_all(
    probe: &mut Probe,
    method: &str,
    requests: Vec<(Value, Value)>,
) -> Vec<Answered> {
    let mut answered = Vec::new();
    for group in requests.chunks(AT_ONCE) {
        let end = Instant::now() + probe.timeout().min(MAX_TIME);
        let mut ids = Vec::new();
        for (_, params) in group {
            match probe.start(method, params.clone()).await {
                Ok(id) => ids.push(id),
                Err(_) => break,
            }
        }
        let mut is_lost = true;
        for (id, (definition, params)) in ids.into_iter().zip(group) {
            let answer = match timeout_at(end, probe.response(id)).await {
                Ok(Ok(answer)) => answer,
                Ok(Err(error)) if !error.is_costly() => {
                    is_lost &= matches!(error, ProbeError::Closed { .. });
                    Value::Null
                }
                _ => {
                    // Its answer is of no interest any more; that it cannot be cancelled, neither.
                    let _ = probe.cancel(id, None).await;
                    Value::Null
                }
            };
            is_lost &= answer.is_null();
            answered.push(Answered {
                definition: definition.clone(),
                params: params.clone(),
                answer,
            });
        }
        if is_lost {
            break;
        }
    }
    answered
}
