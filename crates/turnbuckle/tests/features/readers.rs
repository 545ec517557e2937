//! What the readers of each revision get.

use turnbuckle::Revision;

/// A client's view of one revision.
#[derive(Debug)]
pub(crate) struct Reader {
    pub(crate) revision: Revision,
    /// Which transport over HTTP it has.
    pub(crate) http: Web,
    /// What says from which level on it wants log messages.
    pub(crate) log_level: Level,
    /// Whether it gets the outputs of tools as data. What the wire wraps into an object its client
    /// takes out again.
    pub(crate) structured: bool,
    /// Whether tools have annotations.
    pub(crate) annotations: bool,
    /// Whether things have a title beside their name, and metadata of their own.
    pub(crate) titles: bool,
    /// Whether things have icons.
    pub(crate) icons: bool,
    /// Whether resources say for how long they may be kept.
    pub(crate) cache_hints: bool,
    /// Whether headers repeat arguments, over HTTP.
    pub(crate) mirrors: bool,
    /// What type of content a sound is.
    pub(crate) sound: &'static str,
    /// What type of content a link to a resource is.
    pub(crate) link: &'static str,
    /// Whether progress comes with words.
    pub(crate) progress_words: bool,
    /// Whether a completer learns what is filled in already.
    pub(crate) completion_context: bool,
    /// The code of the error for a resource that is not there.
    pub(crate) not_found: i64,
    /// Whether its user can be asked to fill in a form.
    pub(crate) forms: bool,
    /// Whether its user can be asked to visit a URL.
    pub(crate) urls: bool,
    /// What becomes of a call that has to ask and cannot.
    pub(crate) unable: Unable,
    /// Whether there are extensions.
    pub(crate) extensions: bool,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Web {
    /// A stream of events, and messages that are posted beside it.
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
    /// The tool says so to the model.
    Told,
    /// An error of the protocol, of that code.
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

/// One for each revision.
pub(crate) static READERS: [Reader; 5] = [FIRST, SECOND, THIRD, FOURTH, MODERN];

#[test]
fn every_revision_has_its_reader() {
    let readers = READERS.iter().map(|reader| reader.revision);
    assert!(readers.eq(turnbuckle::testing::revisions()));
}
