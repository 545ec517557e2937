//! Completion: suggestions while a person types an argument.

use crate::object::object;
use crate::tagged::tagged;
use crate::{Map, Meta, Number};

tagged! {
    /// The prompt or resource that the argument belongs to.
    ///
    /// Specification: server/utilities/completion (2026-07-28).
    pub enum CompletionReference by "type" {
        /// A prompt.
        Prompt(PromptReference) = "ref/prompt",
        /// A resource template.
        Resource(ResourceTemplateReference) = "ref/resource",
    }
}

object! {
    /// A prompt by its name.
    pub struct PromptReference tagged "type" = "ref/prompt" {
        /// The prompt's name.
        req name: String = "name",
        /// The name for people.
        opt title: String = "title",
    }

    /// A resource by its URI or URI template.
    pub struct ResourceTemplateReference tagged "type" = "ref/resource" {
        /// The URI or template.
        req uri: String = "uri" is uri_template,
    }

    /// The argument that is being typed.
    pub struct CompletionArgument {
        /// The name of the argument.
        req name: String = "name",
        /// The text that has been typed so far.
        req value: String = "value",
    }

    /// The context of the argument that is being typed.
    pub struct CompletionContext {
        /// Arguments that already have their value.
        map arguments: Map<String> = "arguments",
    }

    /// Parameters of `completion/complete`.
    pub struct CompleteRequestParams {
        /// The prompt or resource that the argument belongs to.
        req reference: CompletionReference = "ref",
        /// The argument.
        req argument: CompletionArgument = "argument",
        /// The context of the argument.
        opt context: CompletionContext = "context",
        /// Metadata.
        map meta: Meta = "_meta",
    }

    /// Suggestions, best first.
    pub struct Completion {
        /// The suggestions, at most 100.
        req values: Vec<String> = "values",
        /// The number of suggestions in all.
        opt total: Number = "total" is integer,
        /// `true` if there are more suggestions than were sent.
        opt has_more: bool = "hasMore",
    }

    /// Result of `completion/complete`.
    pub struct CompleteResult {
        /// The suggestions.
        req completion: Completion = "completion",
        /// Metadata.
        map meta: Meta = "_meta",
    }
}
