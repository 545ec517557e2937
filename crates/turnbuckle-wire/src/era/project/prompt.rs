//! Prompts.

use turnbuckle_types::{GetPromptParams, GetPromptResult, Prompt, PromptArgument, PromptMessage};

use super::members;

members! {
    Prompt { title since titles, arguments within, icons since icons, meta since titles }
    PromptArgument { title since titles }
    PromptMessage { content within }
    GetPromptResult { messages within, meta within, extra within }
    GetPromptParams {
        input_responses since result_envelope, request_state since result_envelope, meta within,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::era::project::tests::told;
    use crate::revision::Revision;

    #[test]
    fn prompts_and_their_messages_are_told_in_older_words() {
        let prompt = json!({"name": "p", "title": "P", "icons": [{"src": "https://example.com/i"}],
            "arguments": [{"name": "a", "title": "A", "required": true}], "_meta": {"a": 1}});
        let older = json!({"name": "p", "arguments": [{"name": "a", "required": true}]});
        assert_eq!(told::<Prompt>(&prompt, Revision::V2025_11_25), prompt);
        assert_eq!(told::<Prompt>(&prompt, Revision::V2025_03_26), older);

        let said = json!({"messages": [{"role": "user", "content":
            {"type": "resource_link", "uri": "file:///a", "name": "a"}}]});
        let older = json!({"messages": [{"role": "user", "content":
            {"type": "text", "text": "a: file:///a"}}]});
        assert_eq!(told::<GetPromptResult>(&said, Revision::V2025_06_18), said);
        assert_eq!(told::<GetPromptResult>(&said, Revision::V2025_03_26), older);
    }
}
