//! Messages whose fields nearly all revisions have.

use turnbuckle_types::{
    CancelledNotificationParams, CompleteRequestParams, CompleteResult, Completion,
    CompletionArgument, CompletionContext, CompletionReference, EmptyResult,
    LoggingMessageNotificationParams, NotificationParams, PaginatedRequestParams,
    ProgressNotificationParams, PromptReference, RequestParams, ResourceTemplateReference,
    ResourceUpdatedNotificationParams, SetLevelRequestParams, SubscriptionFilter,
    SubscriptionsAcknowledgedNotificationParams, SubscriptionsListenRequestParams,
    SubscriptionsListenResult,
};

use super::rules::{project_objects, project_unions};
use super::{message_meta, result_extra};

project_objects! {
    EmptyResult { meta by message_meta, extra by result_extra }
    CompleteResult { completion, meta by message_meta, extra by result_extra }
    Completion { values, total, has_more, extra }
    SubscriptionsListenResult { meta by message_meta, extra by result_extra }
    RequestParams { meta by message_meta, extra }
    PaginatedRequestParams { cursor, meta by message_meta, extra }
    SetLevelRequestParams { level, meta by message_meta, extra }
    SubscriptionsListenRequestParams { notifications, meta by message_meta, extra }
    SubscriptionFilter {
        tools_list_changed, prompts_list_changed, resources_list_changed, resource_subscriptions,
        extra,
    }
    CompleteRequestParams {
        reference, argument, context since completion_context, meta by message_meta, extra,
    }
    CompletionArgument { name, value, extra }
    CompletionContext { arguments, extra }
    PromptReference { name, title since titles, extra }
    ResourceTemplateReference { uri, extra }
    NotificationParams { meta by message_meta, extra }
    CancelledNotificationParams { request_id + optional core_tasks, reason, meta by message_meta, extra }
    ProgressNotificationParams {
        progress_token, progress, total, message since progress_message, meta by message_meta,
        extra,
    }
    LoggingMessageNotificationParams { level, data, logger, meta by message_meta, extra }
    ResourceUpdatedNotificationParams { uri, meta by message_meta, extra }
    SubscriptionsAcknowledgedNotificationParams { notifications, meta by message_meta, extra }
}

project_unions! {
    CompletionReference { Prompt, Resource }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::era::project::tests::project_json;
    use crate::revision::Revision;

    #[test]
    fn progress_keeps_its_numbers_and_completion_its_argument() {
        let progress = json!({"progressToken": 1, "progress": 2, "total": 3, "message": "m"});
        let numbers = json!({"progressToken": 1, "progress": 2, "total": 3});
        assert_eq!(
            project_json::<ProgressNotificationParams>(&progress, Revision::V2025_03_26),
            progress
        );
        assert_eq!(
            project_json::<ProgressNotificationParams>(&progress, Revision::V2024_11_05),
            numbers
        );

        let known = json!({"ref": {"type": "ref/prompt", "name": "p", "title": "P"},
            "argument": {"name": "a", "value": "v"}, "context": {"arguments": {"b": "w"}}});
        let asked = json!({"ref": {"type": "ref/prompt", "name": "p"},
            "argument": {"name": "a", "value": "v"}});
        assert_eq!(
            project_json::<CompleteRequestParams>(&known, Revision::V2025_06_18),
            known
        );
        assert_eq!(
            project_json::<CompleteRequestParams>(&known, Revision::V2025_03_26),
            asked
        );
    }
}
