//! Prompts and completion.

use serde_json::json;
use turnbuckle::types::{CompletionContext, PromptReference};

use super::error_code;
use crate::cells::each;

#[test]
fn a_function_is_a_prompt() {
    each(|at| async move {
        let prompt = at
            .get_prompt("review", [("language", "rust")])
            .await
            .unwrap();
        let messages = serde_json::to_value(prompt.messages).unwrap();
        assert_eq!(messages[0]["content"]["text"], "Review this rust: None");
        let listed = at.list_prompts().fetch_all().await.unwrap();
        let review = listed.iter().find(|prompt| prompt.name == "review");
        let review = serde_json::to_value(review).unwrap();
        assert_eq!(review["description"], "Reviews code.");
        let title = at.reader.titles.then_some(json!("Review"));
        assert_eq!(review.get("title"), title.as_ref());
        let arguments = review["arguments"].as_array().unwrap();
        let language = { arguments.iter() }.find(|argument| argument["name"] == "language");
        let language = language.unwrap();
        assert_eq!(language["description"], "The programming language.");
        assert_eq!(language["required"], true);
        let missing = at.get_prompt("review", [("code", "x")]).await;
        assert_eq!(error_code(missing), -32602);
    });
}

#[test]
fn a_prompts_argument_is_completed() {
    each(|at| async move {
        let review = PromptReference::new("review");
        let completed = at.complete(review, "language", "ru").await.unwrap();
        assert_eq!(completed.completion.values, ["ruby", "rust"]);
    });
}

#[test]
fn a_completer_receives_the_other_arguments() {
    each(|at| async move {
        let framework = PromptReference::new("framework");
        let mut call = at.complete(framework, "name", "");
        let mut context = CompletionContext::new();
        context.arguments.insert("language", "rust".to_owned());
        call.params_mut().context = Some(context);
        let known = match at.reader.completion_context {
            true => "for rust",
            false => "for any",
        };
        assert_eq!(call.await.unwrap().completion.values, [known]);
    });
}
