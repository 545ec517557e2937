//! The facts of each revision: one row per revision, one named column per fact.

use super::Revision;

/// An era: the way in which a request carries the capabilities of its sender.
///
/// Specification: basic/versioning, "Terminology" (2026-07-28).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EraKind {
    /// A handshake opens a session that remembers them.
    Legacy,
    /// Every request carries them in its own envelope.
    Modern,
}

super::facts! {
    /// The facts of one revision. Code reads a fact by its name and never compares revisions.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct Features, OLDEST {
        /// The revision that these facts are of.
        pub revision: Revision = Revision::V2024_11_05,
        /// The era of the revision.
        pub era: EraKind = EraKind::Legacy,
        /// Several messages may travel as one JSON array.
        pub batching: bool = false,
        /// The server may send requests of its own.
        pub server_requests: bool = true,
        /// An HTTP request after the handshake names the revision in a header.
        pub version_header: bool = false,
        /// A stream opens with an empty event that carries an id, and says when to come back.
        pub priming_event: bool = false,
        /// The server may close a stream before it is done and let the client poll.
        pub polling_streams: bool = false,
        /// An error whose request's id could not be read carries `id: null` instead of no id.
        pub null_error_id: bool = true,
        /// Results say of which type they are, and whether they may be cached.
        pub result_envelope: bool = false,
        /// A tool result says that it is no error, too: peers of these revisions look at the flag.
        pub explicit_is_error: bool = true,
        /// A missing resource has an error code of its own.
        pub resource_not_found_code: bool = true,
        /// Log messages are asked for by each request instead of by the session.
        pub log_by_request: bool = false,
        /// Completion is a capability that a server declares.
        pub completions_capability: bool = false,
        /// Completion requests carry the arguments that are already known.
        pub completion_context: bool = false,
        /// Progress notifications carry a message.
        pub progress_message: bool = false,
        /// Tools carry annotations.
        pub tool_annotations: bool = false,
        /// Content may be audio.
        pub audio: bool = false,
        /// Items have a `title` beside their name, and `_meta` of their own.
        pub titles: bool = false,
        /// Tool results may be structured, and tools say so with an output schema.
        pub structured_output: bool = false,
        /// Structured output may be any JSON value; before, it had to be an object.
        pub structured_any: bool = false,
        /// The schema of a property may be `true` or `false` in the schemas of a tool; before, it had to
        /// be an object.
        pub boolean_properties: bool = false,
        /// Content may link to a resource.
        pub resource_links: bool = false,
        /// The server may ask the user to fill in a form.
        pub elicitation: bool = false,
        /// The server may ask the user to visit a URL; forms have titled choices.
        pub elicitation_url: bool = false,
        /// URL elicitations have an id whose completion can be announced.
        pub elicitation_id: bool = false,
        /// An error says that a URL has to be visited first.
        pub url_required_error: bool = false,
        /// Sampling may use tools, and messages may hold several blocks.
        pub sampling_tools: bool = false,
        /// Items have icons; implementations describe themselves.
        pub icons: bool = false,
        /// Both sides may run requests of the other as tasks, which later revisions leave to an extension.
        pub core_tasks: bool = false,
        /// Capabilities and requests may name extensions.
        pub extensions: bool = false,
    }
}

const V2025_03_26: Features = Features {
    revision: Revision::V2025_03_26,
    batching: true,
    completions_capability: true,
    progress_message: true,
    tool_annotations: true,
    audio: true,
    ..OLDEST
};

const V2025_06_18: Features = Features {
    revision: Revision::V2025_06_18,
    batching: false,
    version_header: true,
    completion_context: true,
    titles: true,
    structured_output: true,
    resource_links: true,
    elicitation: true,
    ..V2025_03_26
};

const V2025_11_25: Features = Features {
    revision: Revision::V2025_11_25,
    priming_event: true,
    polling_streams: true,
    null_error_id: false,
    elicitation_url: true,
    elicitation_id: true,
    url_required_error: true,
    sampling_tools: true,
    icons: true,
    core_tasks: true,
    ..V2025_06_18
};

const V2026_07_28: Features = Features {
    revision: Revision::V2026_07_28,
    era: EraKind::Modern,
    server_requests: false,
    priming_event: false,
    polling_streams: false,
    result_envelope: true,
    explicit_is_error: false,
    resource_not_found_code: false,
    log_by_request: true,
    structured_any: true,
    boolean_properties: true,
    elicitation_id: false,
    url_required_error: false,
    core_tasks: false,
    extensions: true,
    ..V2025_11_25
};

pub(super) const fn features_of(revision: Revision) -> &'static Features {
    match revision {
        Revision::V2024_11_05 => &OLDEST,
        Revision::V2025_03_26 => &V2025_03_26,
        Revision::V2025_06_18 => &V2025_06_18,
        Revision::V2025_11_25 => &V2025_11_25,
        Revision::V2026_07_28 => &V2026_07_28,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_of_its_own_revision() {
        for revision in Revision::ALL {
            assert_eq!(revision.features().revision, revision);
        }
    }

    #[test]
    fn only_one_revision_has_batches() {
        let batching: Vec<_> = Revision::ALL
            .into_iter()
            .filter(|revision| revision.features().batching)
            .collect();
        assert_eq!(batching, [Revision::V2025_03_26]);
    }
}
