//! One check: a rule that can be seen from outside, and the function that looks.

use turnbuckle_wire::revision::{EraKind, Revision};

use crate::case::{Bind, Case};
use crate::context::CheckContext;
pub use crate::need::Need;
pub(crate) use crate::need::Stop;
use crate::report::Level;
use crate::script::conduct::{Outcome, Run};
use crate::target::BoxFuture;

/// The future of a check.
pub(crate) type Checking<'a> = BoxFuture<'a, Result<(), Stop>>;

/// A rule that can be seen from outside, and the function that looks.
#[derive(Debug, Clone, Copy)]
pub struct Check {
    /// Topic and name: `http.origin-403`.
    pub id: &'static str,
    /// The weight of the rule.
    pub level: Level,
    /// The rule, as a sentence without a full stop.
    pub title: &'static str,
    /// Ids of the entries of the requirements manifest that the check holds.
    pub requirements: &'static [&'static str],
    /// Remedy for a server that has the fault.
    pub fix: &'static str,
    pub(crate) needs: &'static [Need],
    pub(crate) is_hostile: bool,
    /// The rule is the same in each revision: the newest one that the server speaks is checked.
    pub(crate) is_once: bool,
    bindings: &'static [Bind],
    eras: &'static [EraKind],
    revisions: &'static [Revision],
    look: Look,
}

/// The function of a check.
#[derive(Debug, Clone, Copy)]
enum Look {
    /// Asks a server.
    Server(for<'a> fn(&'a mut CheckContext<'_>) -> Checking<'a>),
    /// Reads what a client did.
    Client(fn(&Run) -> Outcome),
}

impl Check {
    /// Creates a check of servers over every transport and revision that needs nothing and strains nothing.
    pub(crate) const fn new(
        id: &'static str,
        level: Level,
        title: &'static str,
        run: for<'a> fn(&'a mut CheckContext<'_>) -> Checking<'a>,
    ) -> Self {
        Self::with_look(id, level, title, Look::Server(run))
    }

    /// Creates a check of clients over every transport and revision.
    pub(crate) const fn client(
        id: &'static str,
        level: Level,
        title: &'static str,
        judge: fn(&Run) -> Outcome,
    ) -> Self {
        Self::with_look(id, level, title, Look::Client(judge))
    }

    const fn with_look(id: &'static str, level: Level, title: &'static str, look: Look) -> Self {
        Self {
            id,
            level,
            title,
            requirements: &[],
            fix: "",
            needs: &[],
            is_hostile: false,
            is_once: false,
            bindings: &[Bind::Pipe, Bind::Stream, Bind::Http, Bind::Sse],
            eras: &[EraKind::Legacy, EraKind::Modern],
            revisions: &Revision::ALL,
            look,
        }
    }

    /// Limits the check to these transports.
    pub(crate) const fn only_over(mut self, bindings: &'static [Bind]) -> Self {
        self.bindings = bindings;
        self
    }

    /// Limits the check to revisions with a handshake.
    pub(crate) const fn legacy(mut self) -> Self {
        self.eras = &[EraKind::Legacy];
        self
    }

    /// Limits the check to revisions whose requests carry an envelope.
    pub(crate) const fn modern(mut self) -> Self {
        self.eras = &[EraKind::Modern];
        self
    }

    /// Limits the check to these revisions.
    pub(crate) const fn revisions(mut self, revisions: &'static [Revision]) -> Self {
        self.revisions = revisions;
        self
    }

    /// Sets what the server must declare or have.
    pub(crate) const fn needs(mut self, needs: &'static [Need]) -> Self {
        self.needs = needs;
        self
    }

    /// Marks a check that strains a server: it runs on this machine, elsewhere only when the user asks.
    pub(crate) const fn hostile(mut self) -> Self {
        self.is_hostile = true;
        self
    }

    /// Limits the check to the newest revision that the server speaks over a transport: the rule is the
    /// same in the others.
    pub(crate) const fn once(mut self) -> Self {
        self.is_once = true;
        self
    }

    /// Sets the entries of the requirements manifest that the check holds.
    pub(crate) const fn requires(mut self, requirements: &'static [&'static str]) -> Self {
        self.requirements = requirements;
        self
    }

    /// Sets what mends a server that has the fault.
    pub(crate) const fn fix(mut self, fix: &'static str) -> Self {
        self.fix = fix;
        self
    }

    /// Returns the topic of the check: the part of its id before the dot.
    #[must_use]
    pub fn topic(&self) -> &'static str {
        self.id.split('.').next().unwrap_or(self.id)
    }

    /// Returns whether the rule exists in a revision over a transport.
    #[must_use]
    pub fn exists_in(&self, case: Case) -> bool {
        self.bindings.contains(&case.binding)
            && self.revisions.contains(&case.revision)
            && self.eras.contains(&case.revision.features().era)
    }

    /// Runs the check of a server.
    pub(crate) fn run<'a>(&self, context: &'a mut CheckContext<'_>) -> Checking<'a> {
        match self.look {
            Look::Server(run) => run(context),
            Look::Client(_) => Box::pin(async { Err(Stop::Skip("it judges clients".into())) }),
        }
    }

    /// Judges what a client did with one server.
    pub(crate) fn judge(&self, run: &Run) -> Outcome {
        match self.look {
            Look::Server(_) => Err("it judges servers"),
            Look::Client(judge) => judge(run),
        }
    }
}
