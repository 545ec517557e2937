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

/// The facts of one revision. Code reads a fact by its name and never compares revisions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Features {
    /// The revision that these facts are of.
    pub revision: Revision,
    /// The era of the revision.
    pub era: EraKind,
    /// Several messages may travel as one JSON array.
    pub batching: bool,
    /// The server may send requests of its own.
    pub server_requests: bool,
    /// An HTTP request after the handshake names the revision in a header.
    pub version_header: bool,
    /// A stream opens with an empty event that carries an id, and says when to come back.
    pub priming_event: bool,
    /// The server may close a stream before it is done and let the client poll.
    pub polling_streams: bool,
    /// An error whose request's id could not be read carries `id: null` instead of no id.
    pub null_error_id: bool,
    /// Results say of which type they are, and whether they may be cached.
    pub result_envelope: bool,
    /// A tool result says that it is no error, too: peers of these revisions look at the flag.
    pub explicit_is_error: bool,
    /// A missing resource has an error code of its own.
    pub resource_not_found_code: bool,
    /// Log messages are asked for by each request instead of by the session.
    pub log_by_request: bool,
    /// Completion is a capability that a server declares.
    pub completions_capability: bool,
    /// Completion requests carry the arguments that are already known.
    pub completion_context: bool,
    /// Progress notifications carry a message.
    pub progress_message: bool,
    /// Tools carry annotations.
    pub tool_annotations: bool,
    /// Content may be audio.
    pub audio: bool,
    /// Items have a `title` beside their name, and `_meta` of their own.
    pub titles: bool,
    /// Tool results may be structured, and tools say so with an output schema.
    pub structured_output: bool,
    /// Structured output may be any JSON value; before, it had to be an object.
    pub structured_any: bool,
    /// The schema of a property may be `true` or `false` in the schemas of a tool; before, it had to
    /// be an object.
    pub boolean_properties: bool,
    /// Content may link to a resource.
    pub resource_links: bool,
    /// The server may ask the user to fill in a form.
    pub elicitation: bool,
    /// The server may ask the user to visit a URL; forms have defaults and titled choices.
    pub elicitation_url: bool,
    /// URL elicitations have an id whose completion can be announced.
    pub elicitation_id: bool,
    /// An error says that a URL has to be visited first.
    pub url_required_error: bool,
    /// Sampling may use tools, and messages may hold several blocks.
    pub sampling_tools: bool,
    /// Items have icons; implementations describe themselves.
    pub icons: bool,
    /// Capabilities and requests may name extensions.
    pub extensions: bool,
}

const OLDEST: Features = Features {
    revision: Revision::V2024_11_05,
    era: EraKind::Legacy,
    batching: false,
    server_requests: true,
    version_header: false,
    priming_event: false,
    polling_streams: false,
    null_error_id: true,
    result_envelope: false,
    explicit_is_error: true,
    resource_not_found_code: true,
    log_by_request: false,
    completions_capability: false,
    completion_context: false,
    progress_message: false,
    tool_annotations: false,
    audio: false,
    titles: false,
    structured_output: false,
    structured_any: false,
    boolean_properties: false,
    resource_links: false,
    elicitation: false,
    elicitation_url: false,
    elicitation_id: false,
    url_required_error: false,
    sampling_tools: false,
    icons: false,
    extensions: false,
};

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
