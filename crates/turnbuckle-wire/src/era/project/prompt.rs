//! Prompts.

use turnbuckle_types::{
    GetPromptRequestParams, GetPromptResult, Prompt, PromptArgument, PromptMessage,
};

use super::rules::project_objects;
use super::{message_meta, result_extra};

project_objects! {
    Prompt {
        name, title since titles, description, arguments, icons since icons, meta since titles,
        extra,
    }
    PromptArgument { name, title since titles, description, required, extra }
    PromptMessage { role, content, extra }
    GetPromptResult { messages, description, meta by message_meta, extra by result_extra }
    GetPromptRequestParams {
        name, arguments, input_responses since result_envelope, request_state since result_envelope,
        meta by message_meta, extra,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::era::project::tests::project_json;
    use crate::revision::Revision;

    #[test]
    fn prompts_and_their_messages_are_told_in_older_words() {
        let prompt = json!({"name": "p", "title": "P", "icons": [{"src": "https://example.com/i"}],
            "arguments": [{"name": "a", "title": "A", "required": true}], "_meta": {"a": 1}});
        let older = json!({"name": "p", "arguments": [{"name": "a", "required": true}]});
        assert_eq!(
            project_json::<Prompt>(&prompt, Revision::V2025_11_25),
            prompt
        );
        assert_eq!(
            project_json::<Prompt>(&prompt, Revision::V2025_03_26),
            older
        );

        let result = json!({"messages": [{"role": "user", "content":
            {"type": "resource_link", "uri": "file:///a", "name": "a"}}]});
        let older = json!({"messages": [{"role": "user", "content":
            {"type": "text", "text": "a: file:///a"}}]});
        assert_eq!(
            project_json::<GetPromptResult>(&result, Revision::V2025_06_18),
            result
        );
        assert_eq!(
            project_json::<GetPromptResult>(&result, Revision::V2025_03_26),
            older
        );
    }
}
