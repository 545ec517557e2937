//! What a model is asked, and what it answers.

use turnbuckle_types::{
    ClientCapabilities, CreateMessageParams, CreateMessageResult, Error, OneOrMany,
    SamplingCapability, SamplingContent, SamplingMessage, Settings, TextContent, ToolResultContent,
    ToolUseContent,
};

use super::{Project, members, tool};
use crate::revision::Features;

members! {
    SamplingMessage { content within, meta since sampling_tools }
    CreateMessageResult { content within, meta within, extra within }
    ToolUseContent {}
}

impl Project for CreateMessageParams {
    fn fits(&self, features: &Features) -> bool {
        (features.sampling_tools || self.tools.is_none() && self.tool_choice.is_none())
            && self.tools.fits(features)
            && self.messages.fits(features)
            && self.meta.fits(features)
    }

    fn project(&mut self, features: &Features) {
        if !features.sampling_tools {
            self.tools = None;
            self.tool_choice = None;
        }
        self.tools.project(features);
        self.messages.project(features);
        self.meta.project(features);
    }

    fn expressible(&self, features: &Features) -> Result<(), Error> {
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
        Err(Error::missing_capability(
            ClientCapabilities::new().sampling(needed),
            format!("the client's revision cannot {lacks}"),
        ))
    }
}

/// One block where there are no lists yet. A list of several is a text then, which only an answer
/// comes to: a question says that it is not expressible.
impl Project for OneOrMany<SamplingContent> {
    fn fits(&self, features: &Features) -> bool {
        (features.sampling_tools || matches!(self, Self::One(_)))
            && self.iter().all(|block| block.fits(features))
    }

    fn project(&mut self, features: &Features) {
        match self {
            Self::One(block) => block.project(features),
            Self::Many(blocks) if features.sampling_tools => blocks.project(features),
            Self::Many(blocks) => {
                let mut blocks = std::mem::take(blocks);
                *self = Self::One(match (blocks.pop(), blocks.is_empty()) {
                    (Some(mut only), true) => {
                        only.project(features);
                        only
                    }
                    (last, _) => {
                        blocks.extend(last);
                        let lines: Vec<_> = blocks.iter().map(told).collect();
                        SamplingContent::text(lines.join("\n"))
                    }
                });
            }
        }
    }
}

impl Project for SamplingContent {
    fn fits(&self, features: &Features) -> bool {
        match self {
            Self::Text(text) => text.fits(features),
            Self::Image(image) => image.fits(features),
            Self::Audio(audio) => features.audio && audio.fits(features),
            Self::ToolUse(_) => features.sampling_tools,
            Self::ToolResult(result) => features.sampling_tools && result.fits(features),
            _ => true,
        }
    }

    fn project(&mut self, features: &Features) {
        let older = match self {
            Self::Audio(_) => features.audio,
            Self::ToolUse(_) | Self::ToolResult(_) => features.sampling_tools,
            _ => true,
        };
        if !older {
            let mut text = TextContent::new(told(self));
            if let Self::Audio(audio) = self {
                text.annotations = audio.annotations.take();
            }
            *self = Self::Text(text);
        }
        match self {
            Self::Text(text) => text.project(features),
            Self::Image(image) => image.project(features),
            Self::Audio(audio) => audio.project(features),
            Self::ToolResult(result) => result.project(features),
            _ => {}
        }
    }
}

impl Project for ToolResultContent {
    fn fits(&self, features: &Features) -> bool {
        tool::structured_fits(self.structured_content.as_ref(), features)
            && self.content.fits(features)
    }

    fn project(&mut self, features: &Features) {
        self.content.project(features);
        let Self {
            structured_content,
            content,
            meta,
            ..
        } = self;
        tool::project_structured(structured_content, content, meta, features);
    }
}

/// A block as text: its own, or a line that says what it was.
fn told(block: &SamplingContent) -> String {
    match block {
        SamplingContent::Text(text) => text.text.clone(),
        SamplingContent::Image(image) => format!("[left out: an image, {}]", image.mime_type),
        SamplingContent::Audio(audio) => format!("[left out: audio, {}]", audio.mime_type),
        SamplingContent::ToolUse(call) => {
            format!(
                "[call {} of the tool {}: {}]",
                call.id,
                call.name,
                call.input.as_str()
            )
        }
        SamplingContent::ToolResult(result) => {
            let texts: Vec<_> = result
                .content
                .iter()
                .filter_map(|block| block.as_text())
                .collect();
            let others = result.content.len() - texts.len();
            let mut told = format!(
                "[result of call {}: {}]",
                result.tool_use_id,
                texts.join("\n")
            );
            if others > 0 {
                told.push_str(&format!("\n[left out: {others} more of its results]"));
            }
            told
        }
        _ => "[left out: content of a kind that is not known here]".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use turnbuckle_types::ErrorKind;

    use super::*;
    use crate::era::project::tests::{decoded, told};
    use crate::revision::Revision;

    fn block(block: Value, revision: Revision) -> Value {
        let answer = json!({"role": "assistant", "content": block, "model": "m"});
        told::<CreateMessageResult>(&answer, revision)["content"].take()
    }

    #[test]
    fn a_list_of_one_is_that_one_and_a_list_of_more_is_told() {
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
            decoded::<CreateMessageParams>(&params)
        };
        let text = json!({"type": "text", "text": "t"});
        let said =
            |content: Value| ask(json!({"messages": [{"role": "user", "content": content}]}));
        let tools = ask(json!({"tools": [{"name": "t", "inputSchema": {"type": "object"}}]}));
        let (old, new) = (
            Revision::V2025_06_18.features(),
            Revision::V2025_11_25.features(),
        );
        for params in [tools, said(json!([text, text]))] {
            let error = params.expressible(old).unwrap_err();
            assert!(matches!(error.kind(), ErrorKind::MissingCapability(_)));
            assert!(params.expressible(new).is_ok());
        }
        for params in [said(json!([text])), said(text), ask(json!({"tools": []}))] {
            assert!(params.expressible(old).is_ok());
        }
    }
}
