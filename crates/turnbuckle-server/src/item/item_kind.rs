//! The kinds of items that can be called.

/// The kind of the called item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ItemKind {
    /// A tool.
    Tool,
    /// A prompt.
    Prompt,
    /// A resource, or a resource of a template.
    Resource,
}

impl ItemKind {
    /// Returns the name of the attribute that makes such an item of a function.
    pub(crate) fn attribute(self) -> &'static str {
        match self {
            Self::Tool => "tool",
            Self::Prompt => "prompt",
            Self::Resource => "resource",
        }
    }
}
