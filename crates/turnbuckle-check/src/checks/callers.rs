//! Two callers of one server: neither goes on with what the other began, nor gets what was for the other.
//!
//! Specification: basic/patterns/mrtr (2026-07-28).

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

use super::ask::{STATE, accepted, all_capabilities, required};
use super::identity::{HTTP, other_user};
use crate::check::{Check, Need, Stop};
use crate::context::CheckContext;
use crate::probe::Probe;
use crate::report::Level;
use crate::survey::ask_all;
use crate::target::OtherToken;

/// Tools that are called to find one that knows its caller.
const MAX_CALLS: usize = 40;

/// Characters of a claim that is looked for in answers: a shorter text is part of others.
const MIN_CLAIM_CHARS: usize = 6;

/// Claims of one token that are looked for.
const MAX_CLAIMS: usize = 50;

pub(super) const CHECKS: &[Check] = &[
    Check::new(
        "ask.state-other-principal",
        Level::Should,
        "the request state of one caller is not taken from another",
        |cx| Box::pin(state(cx)),
    )
    .only_over(HTTP)
    .modern()
    .needs(&[Need::Fixture(STATE)])
    .requires(&["901626f074fe"])
    .fix("bind the state to the caller whose request it belongs to"),
    Check::new(
        "auth.answer-of-other",
        Level::Note,
        "a tool that knows its caller gives nobody the answer that was for another",
        |cx| Box::pin(answer(cx)),
    )
    .only_over(HTTP)
    .needs(&[Need::CallableTool])
    .once()
    .fix("keep the answers of each caller apart: user, client and claims of its token are part of the key"),
];

async fn state(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    other_user(cx).await?;
    let asked = required(cx, STATE).await?;
    let Some(state) = asked["requestState"].as_str() else {
        return Err(Stop::Skip(format!("`{STATE}` gives no state")));
    };
    let options = cx.options().capabilities(all_capabilities());
    let mut other = cx.fresh_as(OtherToken::User, options)?.await?;
    let retry = json!({"name": STATE, "arguments": {}, "requestState": state,
        "inputResponses": accepted(&asked)});
    let answer = other.request("tools/call", retry).await?;
    // Refused, or asked for again: what counts is that it is not complete.
    if answer["result"]["resultType"] == "complete" && answer["result"]["isError"] != true {
        cx.fault(format!(
            "the state of a call of `{STATE}` is taken from another caller"
        ));
    }
    Ok(())
}

/// Returns the texts in the claims of a signed token, as they are in JSON; none if it is no such token.
fn claims(token: &str) -> Vec<String> {
    let payload = token.split('.').nth(1).unwrap_or_default();
    let payload = URL_SAFE_NO_PAD.decode(payload).unwrap_or_default();
    let payload: Value = serde_json::from_slice(&payload).unwrap_or_default();
    let texts = payload.as_object().into_iter().flat_map(|it| it.values());
    let texts = texts.filter(|it| {
        it.as_str()
            .is_some_and(|text| text.chars().count() >= MIN_CLAIM_CHARS)
    });
    let quoted = texts.take(MAX_CLAIMS).map(Value::to_string);
    let inner = |text: String| Some(text.strip_prefix('"')?.strip_suffix('"')?.to_owned());
    quoted.filter_map(inner).collect()
}

/// Returns the name of an argument that means little to a tool: one that it does not know, else a text that need
/// not be given. `None` if it takes neither.
fn spare_argument(tool: &Value) -> Option<&str> {
    let schema = &tool["inputSchema"];
    if schema["additionalProperties"] != false {
        return Some("check");
    }
    let required = schema["required"].as_array();
    let is_required = |name: &str| required.is_some_and(|all| all.iter().any(|it| it == name));
    let is_text = |kind: &Value| {
        let is_one = |kind: &Value| kind == "string";
        is_one(kind) || kind.as_array().is_some_and(|all| all.iter().any(is_one))
    };
    let limits = [
        "enum",
        "const",
        "pattern",
        "format",
        "maxLength",
        "minLength",
    ];
    let mut properties = schema["properties"].as_object()?.iter();
    let spare = properties.find(|(name, it)| {
        is_text(&it["type"]) && !is_required(name) && limits.iter().all(|key| it[key].is_null())
    });
    spare.map(|(name, _)| name.as_str())
}

/// Calls a tool with another argument; null if the call fails.
async fn call_with(
    probe: &mut Probe,
    call: &Value,
    (name, value): (&str, &str),
) -> Result<Value, Stop> {
    let mut call = call.clone();
    call["arguments"][name] = value.into();
    let result = probe.request("tools/call", call).await?["result"].take();
    let is_success = result.is_object() && result["isError"] != true;
    Ok(if is_success { result } else { Value::Null })
}

/// Looks for a tool whose answer names the caller, and whose answer to this caller names the other one all the
/// same: what a server has kept of one caller was given to another. With another argument, for which nothing is
/// kept, each is named to itself alone: so the name is no part of what the tool tells everybody.
async fn answer(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let claims = claims(other_user(cx).await?);
    if claims.is_empty() {
        let reason = "the token of the other user is no signed one whose claims can be read";
        return Err(Stop::Skip(reason.into()));
    }
    let mut own = cx.fresh(cx.options()).await?;
    let mut other = cx.fresh_as(OtherToken::User, cx.options())?.await?;
    let survey = cx.survey();
    let tools = survey.quick_tools().take(MAX_CALLS);
    let calls = tools.map(|tool| {
        let call = json!({"name": tool["name"], "arguments": survey.arguments(tool)});
        (tool.clone(), call)
    });
    let answers = ask_all(&mut other, "tools/call", calls.collect()).await;
    let mut knows_caller = false;
    for of_other in answers {
        let Some(named) = of_other.success().map(|it| naming(it, &claims)) else {
            continue;
        };
        let Some(spare) = spare_argument(&of_other.definition).filter(|_| !named.is_empty()) else {
            continue;
        };
        let call = &of_other.params;
        let answer = own.request("tools/call", call.clone()).await?;
        let named = naming(&answer["result"], &named);
        let fresh = call_with(&mut own, call, (spare, "check-own")).await?;
        let fresh_of_other = call_with(&mut other, call, (spare, "check-other")).await?;
        if fresh.is_null() || fresh_of_other.is_null() {
            continue;
        }
        knows_caller |= naming(&fresh, &claims).len() < naming(&fresh_of_other, &claims).len();
        let leaked = named.iter().find(|claim| {
            let claim = std::slice::from_ref(*claim);
            naming(&fresh, claim).is_empty() && !naming(&fresh_of_other, claim).is_empty()
        });
        if leaked.is_some() {
            let sentence =
                "the answer to another caller, which names that caller, is given to this one";
            cx.fault_with(
                Some(of_other.item().to_owned()),
                sentence,
                answer.to_string(),
            );
        }
    }
    match knows_caller {
        true => Ok(()),
        false => Err(Stop::Skip(
            "no tool that was called tells who calls it".into(),
        )),
    }
}

/// Returns the claims that a result has in its text.
fn naming(result: &Value, claims: &[String]) -> Vec<String> {
    let text = result.to_string();
    let named = claims.iter().filter(|claim| text.contains(*claim));
    named.cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_argument_is_spare_if_it_is_unknown_or_a_text_that_need_not_be_given() {
        let open = json!({"inputSchema": {"type": "object"}});
        assert_eq!(spare_argument(&open), Some("check"));
        let closed = json!({"inputSchema": {
            "additionalProperties": false,
            "required": ["city"],
            "properties": {
                "city": {"type": "string"},
                "days": {"type": "integer"},
                "unit": {"type": "string", "enum": ["C", "F"]},
                "remark": {"type": ["string", "null"]},
            },
        }});
        assert_eq!(spare_argument(&closed), Some("remark"));
        let none = json!({"inputSchema": {"additionalProperties": false}});
        assert_eq!(spare_argument(&none), None);
    }

    #[test]
    fn the_texts_of_a_signed_token_are_read() {
        let payload = json!({"sub": "user-17", "exp": 17, "azp": "a \"client\"", "x": "short"});
        let token = format!(
            "e30.{}.signature",
            URL_SAFE_NO_PAD.encode(payload.to_string())
        );
        let mut found = claims(&token);
        found.sort();
        assert_eq!(found, [r#"a \"client\""#, "user-17"]);
        for token in ["opaque", "a.b.c", "", "..", "e30.e30.e30"] {
            assert!(claims(token).is_empty(), "{token}");
        }
    }
}
