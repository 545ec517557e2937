//! Messages whose members are nearly all as old as the protocol.

use turnbuckle_types::{
    CancelledParams, CompleteParams, CompleteResult, EmptyResult, ListenParams, ListenResult,
    LogParams, NotificationParams, PaginatedParams, ProgressParams, PromptReference, Reference,
    RequestParams, ResourceUpdatedParams, SetLevelParams, SubscriptionsAcknowledgedParams,
};

use super::{Project, members};
use crate::revision::Features;

members! {
    EmptyResult { meta within, extra within }
    CompleteResult { meta within, extra within }
    ListenResult { meta within, extra within }

    RequestParams { meta within }
    PaginatedParams { meta within }
    SetLevelParams { meta within }
    ListenParams { meta within }
    CompleteParams { reference within, context since completion_context, meta within }
    PromptReference { title since titles }

    NotificationParams { meta within }
    CancelledParams { meta within }
    ProgressParams { message since progress_message, meta within }
    LogParams { meta within }
    ResourceUpdatedParams { meta within }
    SubscriptionsAcknowledgedParams { meta within }
}

impl Project for Reference {
    fn fits(&self, features: &Features) -> bool {
        match self {
            Self::Prompt(prompt) => prompt.fits(features),
            _ => true,
        }
    }

    fn project(&mut self, features: &Features) {
        if let Self::Prompt(prompt) = self {
            prompt.project(features);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::era::project::tests::told;
    use crate::revision::Revision;

    #[test]
    fn progress_keeps_its_numbers_and_completion_what_is_asked() {
        let progress = json!({"progressToken": 1, "progress": 2, "total": 3, "message": "m"});
        let numbers = json!({"progressToken": 1, "progress": 2, "total": 3});
        assert_eq!(
            told::<ProgressParams>(&progress, Revision::V2025_03_26),
            progress
        );
        assert_eq!(
            told::<ProgressParams>(&progress, Revision::V2024_11_05),
            numbers
        );

        let known = json!({"ref": {"type": "ref/prompt", "name": "p", "title": "P"},
            "argument": {"name": "a", "value": "v"}, "context": {"arguments": {"b": "w"}}});
        let asked = json!({"ref": {"type": "ref/prompt", "name": "p"},
            "argument": {"name": "a", "value": "v"}});
        assert_eq!(told::<CompleteParams>(&known, Revision::V2025_06_18), known);
        assert_eq!(told::<CompleteParams>(&known, Revision::V2025_03_26), asked);
    }
}
