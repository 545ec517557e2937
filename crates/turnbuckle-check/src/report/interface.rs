//! The interface of a server: what a model, or a person, is shown of it.

use serde_json::Value;

/// The lists of a server, and the instructions that it gives.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Interface {
    /// The instructions for models.
    pub instructions: Option<String>,
    /// The definitions of tools.
    pub tools: Vec<Value>,
    /// The definitions of prompts.
    pub prompts: Vec<Value>,
    /// The definitions of resources.
    pub resources: Vec<Value>,
    /// The definitions of resource templates.
    pub templates: Vec<Value>,
}
