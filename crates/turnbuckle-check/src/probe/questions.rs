//! Rules about the questions of a server: sampling and elicitation, whichever message carries them.

use std::collections::BTreeSet;

use serde_json::Value;
use turnbuckle_wire::revision::Revision;

use super::conversation::Found;

/// Judges a question, by what its client declared.
pub(super) fn judge(
    revision: Revision,
    method: &str,
    params: &Value,
    declared: &Value,
    found: &mut Found,
) {
    if (revision as usize) < Revision::V2025_11_25 as usize {
        return;
    }
    if method == "sampling/createMessage" {
        judge_sampling(params, &declared["sampling"], found);
    }
    if params.get("task").is_some() && declared["tasks"].is_null() {
        let sentence = format!("{method} asks a client without `tasks` for a task");
        found.push(("ask.tasks-declared", sentence));
    }
}

fn judge_sampling(params: &Value, declared: &Value, found: &mut Found) {
    let has_tools = ["tools", "toolChoice"]
        .iter()
        .any(|name| params.get(*name).is_some());
    if has_tools && declared["tools"].is_null() {
        let sentence = "a client without `sampling.tools` is asked with tools".to_owned();
        found.push(("ask.sampling-tools", sentence));
    }
    let context = params["includeContext"].as_str();
    if let Some(context @ ("thisServer" | "allServers")) = context
        && declared["context"].is_null()
    {
        let sentence = format!("a client without `sampling.context` is asked for `{context}`");
        found.push(("ask.sampling-context", sentence));
    }
    if let Some(sentence) = pairs_fault(&params["messages"]) {
        found.push(("ask.sampling-pairs", sentence));
    }
}

/// Returns the blocks of a message: its content is one or several of them.
fn blocks(message: &Value) -> &[Value] {
    match &message["content"] {
        Value::Array(blocks) => blocks,
        content => std::slice::from_ref(content),
    }
}

/// Returns the values of a member of the blocks of one type.
fn ids<'m>(message: &'m Value, kind: &str, member: &str) -> BTreeSet<&'m str> {
    let of_kind = blocks(message).iter().filter(|block| block["type"] == kind);
    of_kind.filter_map(|block| block[member].as_str()).collect()
}

/// Returns what is wrong with the uses of tools in the messages, and with their results.
fn pairs_fault(messages: &Value) -> Option<String> {
    let messages = messages.as_array()?;
    for (at, message) in messages.iter().enumerate() {
        let is_result = |block: &Value| block["type"] == "tool_result";
        let results = blocks(message).iter().filter(|block| is_result(block));
        let results = results.count();
        if results > 0 && results < blocks(message).len() {
            return Some("a message with results of tools has something else, too".into());
        }
        let uses = ids(message, "tool_use", "id");
        if uses.is_empty() {
            continue;
        }
        let next = messages.get(at + 1);
        let answered = next.map(|next| ids(next, "tool_result", "toolUseId"));
        if answered.as_ref() != Some(&uses) {
            return Some(format!(
                "the uses of tools {uses:?} are followed by the results of {:?}",
                answered.unwrap_or_default()
            ));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn uses_of_tools_are_answered_in_the_next_message_and_alone() {
        let text = json!({"type": "text", "text": "well"});
        let used = json!({"type": "tool_use", "id": "a", "name": "x", "input": {}});
        let result = json!({"type": "tool_result", "toolUseId": "a", "content": []});
        let conversation = |next: Value| {
            json!([{"role": "user", "content": text}, {"role": "assistant", "content": [text, used]},
                {"role": "user", "content": next}, {"role": "assistant", "content": text}])
        };
        assert_eq!(pairs_fault(&conversation(json!([result]))), None);
        assert_eq!(pairs_fault(&conversation(result.clone())), None);
        assert_eq!(
            pairs_fault(&json!([{"role": "user", "content": text}])),
            None
        );
        for wrong in [
            conversation(json!([result, text])),
            conversation(text.clone()),
            json!([{"role": "assistant", "content": used}]),
        ] {
            assert!(pairs_fault(&wrong).is_some(), "{wrong}");
        }
    }
}
