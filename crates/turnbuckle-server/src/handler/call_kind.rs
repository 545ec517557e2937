//! The kinds of requests that pass the layers around a server, a group or an item.

/// The kind of a request on its way through layers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CallKind {
    /// `tools/call`.
    Tool,
    /// `prompts/get`.
    Prompt,
    /// `resources/read`, of a resource or of a resource of a template.
    Resource,
    /// `completion/complete`, for a prompt or a resource template that has a completer.
    Completion,
    /// A list request. [`CallRequest::method`](crate::service::CallRequest::method) says which.
    List,
}

impl CallKind {
    /// Returns the name of the attribute that makes such an item of a function.
    pub(crate) fn attribute(self) -> Option<&'static str> {
        match self {
            Self::Tool => Some("tool"),
            Self::Prompt => Some("prompt"),
            Self::Resource => Some("resource"),
            Self::Completion | Self::List => None,
        }
    }
}
