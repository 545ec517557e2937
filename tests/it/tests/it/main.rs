//! The integration tests: one module per area.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests fail by panicking"
)]

mod ask;
mod asking;
mod audit_refusals;
mod authorization;
mod bounds;
mod caching;
mod cancellation;
mod capabilities;
mod client_asking;
mod client_caching;
mod client_extensions;
mod client_faults;
mod client_features;
mod client_headers;
mod client_http;
mod client_lifecycle;
mod client_messages;
mod client_rounds;
mod client_stdio;
mod client_support;
mod client_tasks;
mod client_user_waits;
mod cluster;
mod completion;
mod composition;
mod content;
mod corpus;
mod elicitation;
mod envelope;
mod error_codes;
mod error_texts;
mod extensions;
mod http;
mod http_general;
mod http_headers;
mod http_legacy;
mod http_resume;
mod http_serve;
mod http_sessions;
mod http_sse;
mod http_stateless;
mod icons;
mod interleavings;
mod lifecycle;
mod logging;
mod meta;
mod mounting;
mod mrtr;
mod notification_spans;
mod oracle;
mod own_extensions;
mod pagination;
mod panics;
mod peer;
mod ping;
mod progress;
mod prompts;
mod providers;
mod refusals;
mod request_spans;
mod resources;
mod roots;
mod rounds;
mod rpc;
mod sampling;
mod schemas;
mod servers;
mod shared_changes;
mod sound;
mod stateless;
mod stdio;
mod subscriptions;
mod support;
mod task_rules;
mod tasks;
mod tools;
mod traced;
mod transports;
mod versioning;
mod wire_faults;
