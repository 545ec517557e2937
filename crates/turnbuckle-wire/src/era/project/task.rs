//! Tasks of the core protocol, and the capability for them: only one revision has them.

use turnbuckle_types::{
    CancelTaskRequestParams, CreateLegacyTaskResult, GetTaskRequestParams, LegacyTask,
    ListTasksResult, TaskElicitationCapability, TaskMetadata, TaskRequestsCapability,
    TaskResultRequestParams, TaskSamplingCapability, TaskToolsCapability, TasksCapability,
};

use super::rules::project_objects;
use super::{message_meta, result_extra};

project_objects! {
    LegacyTask {
        task_id, status, created_at, last_updated_at, status_message, ttl, poll_interval,
        meta by message_meta, extra by result_extra,
    }
    TaskMetadata { ttl, extra }
    CreateLegacyTaskResult { task, meta by message_meta, extra by result_extra }
    ListTasksResult { tasks, next_cursor, meta by message_meta, extra by result_extra }
    GetTaskRequestParams { task_id, meta by message_meta, extra }
    CancelTaskRequestParams { task_id, meta by message_meta, extra }
    TaskResultRequestParams { task_id, meta by message_meta, extra }
    TasksCapability { list, cancel, requests, extra }
    TaskRequestsCapability { tools, sampling, elicitation, extra }
    TaskToolsCapability { call, extra }
    TaskSamplingCapability { create_message, extra }
    TaskElicitationCapability { create, extra }
}
