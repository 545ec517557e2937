//! The rows of the budget that are counted per request: which process, and what it does.

use super::load::{Before, Binding, Era, Load, Request};

/// One process of `benches/budget` and its work.
pub(super) struct Mode {
    pub(super) name: &'static str,
    /// The process's command line.
    pub(super) process: &'static [&'static str],
    /// The mode that it is compared with.
    pub(super) floor: Option<&'static str>,
    pub(super) work: Work,
    /// The requests of the shorter run; the longer has twice as many.
    pub(super) requests: u64,
    /// True if allocations are counted too.
    pub(super) heap: bool,
}

/// The work of a process.
pub(super) enum Work {
    /// A server.
    Serve(Load),
    /// A client of a server that is not measured.
    Call(Binding),
    /// A decoder of one message.
    Decode(Request),
    /// A start, an answered handshake, and the end: all of that is counted.
    Start,
}

/// So many requests make the shorter run: of a mode that has much beside it or two threads, of an
/// ordinary one, and of one with large messages.
const MOST: u64 = 1_000;
const MANY: u64 = 200;
const FEW: u64 = 25;

/// The bytes of what `benches/budget` answers in bulk.
const PROSE: usize = 100_000;
const DOCUMENT: usize = 64 << 10;
const ESCAPES: usize = 32 << 10;

impl Mode {
    fn serves(
        name: &'static str,
        process: &'static [&'static str],
        (binding, era): (Binding, Era),
        request: Request,
    ) -> Self {
        let before = Before::default();
        let load = Load {
            binding,
            era,
            before,
            request,
        };
        Self {
            name,
            process,
            floor: None,
            work: Work::Serve(load),
            requests: MANY,
            heap: true,
        }
    }

    fn works(name: &'static str, process: &'static [&'static str], work: Work) -> Self {
        Self {
            name,
            process,
            floor: None,
            work,
            requests: MANY,
            heap: true,
        }
    }

    fn above(mut self, floor: &'static str) -> Self {
        self.floor = Some(floor);
        self
    }

    fn few(mut self) -> Self {
        self.requests = FEW;
        self
    }

    /// Counts many requests: two threads share the work, and the order in which they run does not
    /// repeat. Many requests hide that.
    fn with_many_requests(mut self) -> Self {
        self.requests = MOST;
        self
    }

    /// Opens streams and requests before the ones that are counted. Allocations are not counted
    /// then, because the tool for them takes too long. What was opened does not end in the same order
    /// in every run: many requests hide that.
    fn with_load_before(mut self, before: Before) -> Self {
        self.heap = false;
        self.requests = MOST;
        if let Work::Serve(load) = &mut self.work {
            let for_each = match load.binding {
                Binding::Http => 10,
                Binding::Stdio => 40,
            };
            self.requests = MOST.max(for_each * (before.listens + before.hanging));
            load.before = before;
        }
        self
    }
}

const MODERN: (Binding, Era) = (Binding::Http, Era::Modern);
const STATELESS: (Binding, Era) = (Binding::Http, Era::Stateless);
const SESSION: (Binding, Era) = (Binding::Http, Era::Session);
const PIPE_MODERN: (Binding, Era) = (Binding::Stdio, Era::Modern);
const PIPE_SESSION: (Binding, Era) = (Binding::Stdio, Era::Session);
const PIPE_BARE: (Binding, Era) = (Binding::Stdio, Era::Stateless);

/// Returns all modes. Floors stand before what is compared with them.
pub(super) fn modes() -> Vec<Mode> {
    let mut modes = echoes();
    modes.extend(handlers());
    modes.extend(bulk());
    modes.extend(flat());
    modes.extend(clients());
    modes.extend(starts());
    modes
}

fn echoes() -> Vec<Mode> {
    let echo = || Request::echo("echo");
    let serves = Mode::serves;
    vec![
        serves("floor-http-bare", &["floor-bare-http"], STATELESS, echo()),
        serves("floor-http", &["floor-http"], STATELESS, echo()),
        serves("ours-http-modern", &["http", "echo"], MODERN, echo()).above("floor-http"),
        serves(
            "ours-http-auth",
            &["http-auth", "echo"],
            MODERN,
            echo().with_token(),
        )
        .above("floor-http"),
        serves(
            "ours-http-legacy-stateless",
            &["http-stateless", "echo"],
            STATELESS,
            echo(),
        )
        .above("floor-http"),
        serves("ours-http-session", &["http", "echo"], SESSION, echo()).above("floor-http"),
        serves(
            "ours-http-session-sse",
            &["http", "echo"],
            SESSION,
            echo().accept_only_streams(),
        )
        .above("floor-http"),
        serves("floor-axum", &["floor-axum"], STATELESS, echo()),
        serves("ours-axum-modern", &["axum", "echo"], MODERN, echo()).above("floor-axum"),
        serves("floor-stdio", &["floor-stdio"], PIPE_BARE, echo()),
        serves(
            "ours-stdio-legacy",
            &["stdio", "echo"],
            PIPE_SESSION,
            echo(),
        )
        .above("floor-stdio"),
        serves("ours-stdio-modern", &["stdio", "echo"], PIPE_MODERN, echo()).above("floor-stdio"),
        serves(
            "ours-stdio-modern-around",
            &["stdio", "around"],
            PIPE_MODERN,
            echo(),
        )
        .above("floor-stdio"),
    ]
}

/// Handlers that are not ready at once, and an answer that is a stream.
fn handlers() -> Vec<Mode> {
    let serves = Mode::serves;
    let wait = || Request::echo("wait");
    let mut report = Request::echo("report");
    report.params.push_str(r#","_meta":{"progressToken":1}"#);
    vec![
        serves("ours-http-waits", &["http", "busy"], MODERN, wait()).above("floor-http"),
        serves("ours-stdio-waits", &["stdio", "busy"], PIPE_SESSION, wait())
            .above("floor-stdio")
            .with_many_requests(),
        serves(
            "ours-stdio-modern-waits",
            &["stdio", "busy"],
            PIPE_MODERN,
            wait(),
        )
        .above("floor-stdio")
        .with_many_requests(),
        serves(
            "ours-http-session-reports",
            &["http", "busy"],
            SESSION,
            report,
        )
        .above("floor-http"),
    ]
}

/// Lists and large messages.
fn bulk() -> Vec<Mode> {
    let serves = Mode::serves;
    let list = |tools: usize| Request::list_tools(100 * tools);
    let prose = || Request::call("prose", "{}", "turnbuckle").answer_bytes(PROSE);
    let escapes = || Request::call("escapes", "{}", "\\\\").answer_bytes(ESCAPES);
    let document = || Request::read("text://document", DOCUMENT);
    let text = "A turnbuckle couples two rods with opposite threads.\\n".repeat(DOCUMENT / 54);
    let arguments = format!(r#"{{"text":"{text}"}}"#);
    let argument = || Request::call("length", &arguments, "content");
    vec![
        serves("ours-http-list-100", &["http", "100"], MODERN, list(100)),
        serves("ours-http-list-1000", &["http", "1000"], MODERN, list(1000)).few(),
        serves(
            "ours-stdio-list-100",
            &["stdio", "100"],
            PIPE_MODERN,
            list(100),
        ),
        serves(
            "floor-http-prose",
            &["floor-http", "prose"],
            STATELESS,
            prose(),
        )
        .few(),
        serves("ours-http-prose", &["http", "bulk"], MODERN, prose())
            .above("floor-http-prose")
            .few(),
        serves("ours-stdio-prose", &["stdio", "bulk"], PIPE_MODERN, prose())
            .above("floor-http-prose")
            .few(),
        serves(
            "floor-http-document",
            &["floor-http", "document"],
            STATELESS,
            document(),
        )
        .few(),
        serves("ours-http-document", &["http", "bulk"], MODERN, document())
            .above("floor-http-document")
            .few(),
        serves(
            "floor-http-escapes",
            &["floor-http", "escapes"],
            STATELESS,
            escapes(),
        )
        .few(),
        serves("ours-http-escapes", &["http", "bulk"], MODERN, escapes())
            .above("floor-http-escapes")
            .few(),
        Mode::works("floor-decode", &["decode"], Work::Decode(argument())).few(),
        serves("ours-http-argument", &["http", "bulk"], MODERN, argument())
            .above("floor-decode")
            .few(),
        serves(
            "ours-stdio-argument",
            &["stdio", "bulk"],
            PIPE_MODERN,
            argument(),
        )
        .above("floor-decode")
        .few(),
    ]
}

/// Returns the same beside little and beside much of what should not matter.
fn flat() -> Vec<Mode> {
    let echo = || Request::echo("echo");
    let touch = || Request::echo("touch");
    let mut modes = Vec::new();
    let tools: [(_, &'static [_]); 2] = [
        ("ours-http-tools-10", &["http", "10"]),
        ("ours-http-tools-10000", &["http", "10000"]),
    ];
    for (name, process) in tools {
        let mode = Mode::serves(name, process, MODERN, echo());
        modes.push(mode.with_load_before(Before::default()));
    }
    let mut add = |name, process, how, request, before| {
        let mode = Mode::serves(name, process, how, request);
        modes.push(mode.with_load_before(before));
    };
    for (name, sessions) in [
        ("ours-http-sessions-10", 10),
        ("ours-http-sessions-10000", 10_000),
    ] {
        let before = Before {
            sessions,
            ..Before::default()
        };
        add(name, &["http", "echo"], SESSION, echo(), before);
    }
    let listens = |listens| Before {
        listens,
        ..Before::default()
    };
    let hanging = |hanging| Before {
        hanging,
        ..Before::default()
    };
    let busy_http = &["http", "busy"];
    let busy_stdio = &["stdio", "busy"];
    add(
        "ours-http-listens-0",
        busy_http,
        MODERN,
        touch(),
        listens(0),
    );
    add(
        "ours-http-listens-1000",
        busy_http,
        MODERN,
        touch(),
        listens(1_000),
    );
    add(
        "ours-stdio-listens-0",
        busy_stdio,
        PIPE_MODERN,
        touch(),
        listens(0),
    );
    add(
        "ours-stdio-listens-1000",
        busy_stdio,
        PIPE_MODERN,
        touch(),
        listens(1_000),
    );
    add(
        "ours-http-in-flight-0",
        busy_http,
        MODERN,
        echo(),
        hanging(0),
    );
    add(
        "ours-http-in-flight-512",
        busy_http,
        MODERN,
        echo(),
        hanging(512),
    );
    add(
        "ours-stdio-in-flight-0",
        busy_stdio,
        PIPE_SESSION,
        echo(),
        hanging(0),
    );
    add(
        "ours-stdio-in-flight-512",
        busy_stdio,
        PIPE_SESSION,
        echo(),
        hanging(512),
    );
    modes
}

/// Returns the modes of our client, alone in its process.
fn clients() -> Vec<Mode> {
    let stdio = || Work::Call(Binding::Stdio);
    let http = || Work::Call(Binding::Http);
    let works = Mode::works;
    vec![
        works("client-stdio-legacy", &["stdio", "legacy"], stdio()),
        works("client-stdio-modern", &["stdio", "modern"], stdio()),
        works("client-http-session", &["http", "legacy"], http()),
        works("client-http-modern", &["http", "modern"], http()),
        works("client-http-auth", &["http-auth", "modern"], http()),
    ]
}

fn starts() -> Vec<Mode> {
    vec![
        Mode::works("floor-start", &["floor-start"], Work::Start),
        Mode::works("start-3", &["stdio", "3"], Work::Start).above("floor-start"),
        Mode::works("start-1000", &["stdio", "1000"], Work::Start).above("floor-start"),
    ]
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_are_unique_and_floors_stand_before_what_they_are_compared_with() {
        let mut known = BTreeSet::new();
        for mode in modes() {
            assert!(
                mode.floor.is_none_or(|floor| known.contains(floor)),
                "{}",
                mode.name
            );
            assert!(known.insert(mode.name), "{}", mode.name);
        }
    }
}
