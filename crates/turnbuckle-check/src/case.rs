//! A test case: a revision and a binding.

use std::fmt;

use turnbuckle_wire::revision::{EraKind, Revision};

/// Transport that carries the messages of a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Bind {
    /// A pair of queues in memory.
    Pipe,
    /// Lines on a byte stream, as on standard input and output.
    Stream,
    /// An HTTP endpoint in this process.
    Http,
    /// The HTTP endpoints of the first revision, in this process.
    Sse,
}

impl Bind {
    const ALL: [Self; 4] = [Self::Pipe, Self::Stream, Self::Http, Self::Sse];

    /// Returns the name of the transport in options and reports.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pipe => "memory",
            Self::Stream => "stdio",
            Self::Http => "http",
            Self::Sse => "sse",
        }
    }

    /// Returns whether this binding exists in a revision.
    fn carries(self, revision: Revision) -> bool {
        // The first revision has an HTTP binding of its own.
        self != Self::Http || revision != Revision::ALL[0]
    }
}

/// One row of the table that a test is run over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Case {
    /// Revision that the client speaks.
    pub revision: Revision,
    /// Binding that carries its messages.
    pub binding: Bind,
}

impl Case {
    /// Returns every revision over every binding that it has.
    #[must_use]
    pub fn all() -> Vec<Self> {
        Self::with_revisions(Revision::ALL)
    }

    /// Returns the cases of revisions that open with a handshake.
    #[must_use]
    pub fn legacy() -> Vec<Self> {
        Self::of_era(EraKind::Legacy)
    }

    /// Returns the cases of revisions whose requests carry an envelope.
    #[must_use]
    pub fn modern() -> Vec<Self> {
        Self::of_era(EraKind::Modern)
    }

    /// Returns these revisions over every binding that they have.
    #[must_use]
    pub fn with_revisions(revisions: impl IntoIterator<Item = Revision>) -> Vec<Self> {
        let bound = |revision| {
            let bindings = Bind::ALL.into_iter();
            let bindings = bindings.filter(move |binding| binding.carries(revision));
            bindings.map(move |binding| Self { revision, binding })
        };
        revisions.into_iter().flat_map(bound).collect()
    }

    /// Filters the cases that are [duplex](Self::is_duplex).
    #[must_use]
    pub fn duplex(cases: impl IntoIterator<Item = Self>) -> Vec<Self> {
        cases.into_iter().filter(|case| case.is_duplex()).collect()
    }

    /// Returns whether the binding has one connection for everything, rather than one exchange per
    /// request, and lets the client end its input.
    #[must_use]
    pub fn is_duplex(self) -> bool {
        matches!(self.binding, Bind::Pipe | Bind::Stream)
    }

    /// Returns the case of a revision over the plainest binding.
    #[must_use]
    pub fn pipe(revision: Revision) -> Self {
        Self {
            revision,
            binding: Bind::Pipe,
        }
    }

    fn of_era(era: EraKind) -> Vec<Self> {
        let of_era = |revision: &Revision| revision.features().era == era;
        Self::with_revisions(Revision::ALL.into_iter().filter(of_era))
    }

    /// Returns whether the client opens a session with a handshake.
    #[must_use]
    pub fn is_legacy(self) -> bool {
        self.revision.features().era == EraKind::Legacy
    }

    /// Returns whether the client's requests carry an envelope.
    #[must_use]
    pub fn is_modern(self) -> bool {
        !self.is_legacy()
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} over {}", self.revision, self.binding.as_str())
    }
}
