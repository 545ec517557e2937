//! The differences between revisions that clients and handlers see.

use turnbuckle::Revision;

/// A client's view of one revision.
#[derive(Debug)]
pub(crate) struct Reader {
    pub(crate) revision: Revision,
    /// The HTTP transport of the revision.
    pub(crate) http: Web,
    /// The means of setting the minimum level of log messages.
    pub(crate) log_level: Level,
    /// `true` if tools return structured output. The client unwraps a value that was wrapped in an
    /// object for transmission.
    pub(crate) structured: bool,
    /// `true` if tools have annotations.
    pub(crate) annotations: bool,
    /// `true` if items have a title and metadata.
    pub(crate) titles: bool,
    /// `true` if items have icons.
    pub(crate) icons: bool,
    /// `true` if results have cache hints.
    pub(crate) cache_hints: bool,
    /// `true` if HTTP headers repeat arguments.
    pub(crate) mirrors: bool,
    /// The type of the content block that a sound becomes.
    pub(crate) sound: &'static str,
    /// The type of the content block that a resource link becomes.
    pub(crate) link: &'static str,
    /// `true` if progress notifications have messages.
    pub(crate) progress_words: bool,
    /// `true` if completion requests contain the arguments that are already known.
    pub(crate) completion_context: bool,
    /// The error code for an unknown resource.
    pub(crate) not_found: i64,
    /// `true` if servers can send forms.
    pub(crate) forms: bool,
    /// `true` if servers can send URLs to the user.
    pub(crate) urls: bool,
    /// The outcome of a call that has to ask a client that cannot be asked.
    pub(crate) unable: Unable,
    /// `true` if the revision has extensions.
    pub(crate) extensions: bool,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Web {
    /// HTTP+SSE: an event stream and a separate endpoint for messages.
    Sse,
    Streamable,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Level {
    OfSession,
    OfRequest,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Unable {
    /// A tool error for the model.
    Told,
    /// An error response with this code.
    Refused(i64),
}

const FIRST: Reader = Reader {
    revision: Revision::V2024_11_05,
    http: Web::Sse,
    log_level: Level::OfSession,
    structured: false,
    annotations: false,
    titles: false,
    icons: false,
    cache_hints: false,
    mirrors: false,
    sound: "resource",
    link: "text",
    progress_words: false,
    completion_context: false,
    not_found: -32002,
    forms: false,
    urls: false,
    unable: Unable::Told,
    extensions: false,
};

const SECOND: Reader = Reader {
    revision: Revision::V2025_03_26,
    http: Web::Streamable,
    annotations: true,
    sound: "audio",
    progress_words: true,
    ..FIRST
};

const THIRD: Reader = Reader {
    revision: Revision::V2025_06_18,
    structured: true,
    titles: true,
    link: "resource_link",
    completion_context: true,
    forms: true,
    ..SECOND
};

const FOURTH: Reader = Reader {
    revision: Revision::V2025_11_25,
    icons: true,
    urls: true,
    ..THIRD
};

const MODERN: Reader = Reader {
    revision: Revision::V2026_07_28,
    log_level: Level::OfRequest,
    cache_hints: true,
    mirrors: true,
    not_found: -32602,
    unable: Unable::Refused(-32021),
    extensions: true,
    ..FOURTH
};

/// The readers, one for each revision.
pub(crate) static READERS: [Reader; 5] = [FIRST, SECOND, THIRD, FOURTH, MODERN];

#[test]
fn every_revision_has_its_reader() {
    let readers = READERS.iter().map(|reader| reader.revision);
    assert!(readers.eq(turnbuckle::testing::revisions()));
}
