//! Sampling: questions to a model, and its answers.

use turnbuckle_types::{
    ClientCapabilities, CreateMessageRequestParams, CreateMessageResult, ModelHint,
    ModelPreferences, OneOrMany, ProtocolError, SamplingCapability, SamplingMessage,
    SamplingMessageContentBlock, Settings, TextContent, ToolChoice, ToolResultContent,
    ToolUseContent,
};

use super::rules::{project_objects, project_unions};
use super::tool::{is_structure_known, project_structured};
use super::{Project, message_meta, result_extra};
use crate::revision::Features;

project_objects! {
    SamplingMessage { role, content, meta since sampling_tools, extra }
    CreateMessageRequestParams {
        messages, max_tokens, model_preferences, system_prompt, include_context, temperature,
        stop_sequences, metadata, tools since sampling_tools, tool_choice since sampling_tools,
        task since core_tasks, meta by message_meta, extra,
    } + impl {
    fn check_expressible(&self, features: &Features) -> Result<(), ProtocolError> {
        if features.sampling_tools {
            return Ok(());
        }
        let lacks = if self.tools.as_ref().is_some_and(|tools| !tools.is_empty()) {
            "give a model tools"
        } else if self
            .messages
            .iter()
            .any(|message| message.content.as_slice().len() > 1)
        {
            "send a message of several blocks"
        } else {
            return Ok(());
        };
        let needed = SamplingCapability::new().tools(Settings::new());
        Err(ProtocolError::missing_required_client_capability(
            ClientCapabilities::new().sampling(needed),
            format!("the client's revision cannot {lacks}"),
        ))
    }
    }
    ModelPreferences { hints, cost_priority, speed_priority, intelligence_priority, extra }
    ModelHint { name, extra }
    ToolChoice { mode, extra }
    CreateMessageResult {
        role, content, model, stop_reason, meta by message_meta, extra by result_extra,
    }
    ToolUseContent { id, name, input, meta, extra }
    ToolResultContent [has_unknown_structure => project_structure] { tool_use_id, content, structured_content, is_error, meta, extra }
}

project_unions! {
    SamplingMessageContentBlock else use_text {
        Text, Image, Audio since audio, ToolUse since sampling_tools, ToolResult since sampling_tools,
    }
}

/// Puts a text that says what was left out in the place of a block.
fn use_text(block: &mut SamplingMessageContentBlock) {
    let mut text = TextContent::new(describe_block(block));
    if let SamplingMessageContentBlock::Audio(audio) = block {
        text.annotations = audio.annotations.take();
    }
    *block = SamplingMessageContentBlock::Text(text);
}

/// One block where the revision has no lists of blocks. A list of several is joined to one text
/// then, which happens only to an answer: a question is not expressible.
impl Project for OneOrMany<SamplingMessageContentBlock> {
    fn fits(&self, features: &Features) -> bool {
        (features.sampling_tools || matches!(self, Self::One(_)))
            && self.iter().all(|block| block.fits(features))
    }

    fn project(&mut self, features: &Features) {
        if !features.sampling_tools
            && let Self::Many(blocks) = self
        {
            *self = Self::One(join_blocks(std::mem::take(blocks)));
        }
        match self {
            Self::One(block) => block.project(features),
            Self::Many(blocks) => blocks.project(features),
        }
    }
}

/// Returns the only block, or one text of all.
fn join_blocks(mut blocks: Vec<SamplingMessageContentBlock>) -> SamplingMessageContentBlock {
    if let [_] = blocks[..]
        && let Some(only) = blocks.pop()
    {
        return only;
    }
    let lines: Vec<_> = blocks.iter().map(describe_block).collect();
    SamplingMessageContentBlock::text(lines.join("\n"))
}

fn has_unknown_structure(result: &ToolResultContent, features: &Features) -> bool {
    !is_structure_known(result.structured_content.as_ref(), features)
}

fn project_structure(result: &mut ToolResultContent, features: &Features) {
    let (content, meta) = (&mut result.content, &mut result.meta);
    project_structured(&mut result.structured_content, content, meta, features);
}

/// Returns a block as text: its own, or a line that says what it was.
fn describe_block(block: &SamplingMessageContentBlock) -> String {
    match block {
        SamplingMessageContentBlock::Text(text) => text.text.clone(),
        SamplingMessageContentBlock::Image(image) => {
            format!("[left out: an image, {}]", image.mime_type)
        }
        SamplingMessageContentBlock::Audio(audio) => {
            format!("[left out: audio, {}]", audio.mime_type)
        }
        SamplingMessageContentBlock::ToolUse(call) => {
            format!(
                "[call {} of the tool {}: {}]",
                call.id,
                call.name,
                call.input.as_str()
            )
        }
        SamplingMessageContentBlock::ToolResult(result) => {
            let texts: Vec<_> = result
                .content
                .iter()
                .filter_map(|block| block.as_text())
                .collect();
            let others = result.content.len() - texts.len();
            let mut text = format!(
                "[result of call {}: {}]",
                result.tool_use_id,
                texts.join("\n")
            );
            if others > 0 {
                text.push_str(&format!("\n[left out: {others} more of its results]"));
            }
            text
        }
        _ => "[left out: content of a kind that is not known here]".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use turnbuckle_types::ErrorKind;

    use super::*;
    use crate::era::project::tests::{decode, project_json};
    use crate::revision::Revision;

    fn block(block: Value, revision: Revision) -> Value {
        let answer = json!({"role": "assistant", "content": block, "model": "m"});
        project_json::<CreateMessageResult>(&answer, revision)["content"].take()
    }

    #[test]
    fn a_list_of_one_is_its_item_and_a_longer_list_is_an_error() {
        let text = json!({"type": "text", "text": "t"});
        let image = json!({"type": "image", "data": "AA==", "mimeType": "image/png"});
        let tool_use = json!({"type": "tool_use", "id": "1", "name": "n", "input": {"a": 1}});
        let older = |content: Value| block(content, Revision::V2025_06_18);
        assert_eq!(older(json!([image])), image);
        assert_eq!(
            older(json!([text, text])),
            json!({"type": "text", "text": "t\nt"})
        );
        assert_eq!(
            older(json!([text, image, tool_use])),
            json!({"type": "text", "text":
                "t\n[left out: an image, image/png]\n[call 1 of the tool n: {\"a\":1}]"})
        );
        assert_eq!(older(json!([])), json!({"type": "text", "text": ""}));
        let list = json!([text, tool_use]);
        assert_eq!(block(list.clone(), Revision::V2025_11_25), list);
    }

    #[test]
    fn later_blocks_are_told_in_text() {
        let audio = json!({"type": "audio", "data": "AA==", "mimeType": "audio/wav",
            "annotations": {"priority": 1}});
        assert_eq!(
            block(audio.clone(), Revision::V2024_11_05),
            json!({"type": "text", "text": "[left out: audio, audio/wav]",
                "annotations": {"priority": 1}})
        );
        assert_eq!(block(audio.clone(), Revision::V2025_03_26), audio);
        let result = json!({"type": "tool_result", "toolUseId": "1", "content": [
            {"type": "text", "text": "a"}, {"type": "text", "text": "b"},
            {"type": "image", "data": "AA==", "mimeType": "image/png"}]});
        assert_eq!(
            block(result.clone(), Revision::V2025_06_18)["text"],
            "[result of call 1: a\nb]\n[left out: 1 more of its results]"
        );
        assert_eq!(block(result.clone(), Revision::V2025_11_25), result);
    }

    #[test]
    fn a_tool_result_is_wrapped_as_a_tools_own_result_is() {
        let result = json!({"type": "tool_result", "toolUseId": "1", "content": [],
            "structuredContent": [1]});
        let older = block(result.clone(), Revision::V2025_11_25);
        assert_eq!(older["structuredContent"], json!({"result": [1]}));
        assert_eq!(block(result.clone(), Revision::NEWEST), result);
    }

    #[test]
    fn tools_and_lists_are_a_missing_capability() {
        let ask = |with: Value| {
            let mut params = json!({"maxTokens": 1, "messages": []});
            params
                .as_object_mut()
                .unwrap()
                .extend(with.as_object().unwrap().clone());
            decode::<CreateMessageRequestParams>(&params)
        };
        let text = json!({"type": "text", "text": "t"});
        let with_content =
            |content: Value| ask(json!({"messages": [{"role": "user", "content": content}]}));
        let tools = ask(json!({"tools": [{"name": "t", "inputSchema": {"type": "object"}}]}));
        let (old, new) = (
            Revision::V2025_06_18.features(),
            Revision::V2025_11_25.features(),
        );
        for params in [tools, with_content(json!([text, text]))] {
            let error = params.check_expressible(old).unwrap_err();
            assert!(matches!(
                error.kind(),
                ErrorKind::MissingRequiredClientCapability(_)
            ));
            assert!(params.check_expressible(new).is_ok());
        }
        for params in [
            with_content(json!([text])),
            with_content(text),
            ask(json!({"tools": []})),
        ] {
            assert!(params.check_expressible(old).is_ok());
        }
    }
}
