//! The rows of the budget that are counted: the process of `benches/budget`, and its work.

use super::load::{Before, Binding, Era, Load, Request};

/// One row.
pub(super) struct Counter {
    pub(super) name: &'static str,
    /// The process's command line.
    pub(super) process: &'static str,
    /// The row that it is compared with.
    pub(super) floor: Option<&'static str>,
    pub(super) work: Work,
    /// The requests of the shorter run; the longer has twice as many.
    pub(super) requests: u64,
    /// True if allocations are counted too.
    pub(super) counts_heap: bool,
}

/// The work of a process.
pub(super) enum Work {
    /// A server, whose requests are counted.
    Serve(Load),
    /// A client of a server that is not counted.
    Call(Binding),
    /// A bridge on stdio to a server that is not counted.
    Bridge(Load),
    /// A decoder of one message.
    Decode(Request),
    /// A start, an answered handshake, and the end: all of that is counted.
    Start,
    /// A server that is left with so many sessions, streams or answered requests: the bytes of one of
    /// them on the heap, or in the resident set.
    Hold(Held, u64),
}

/// The things whose memory is measured.
#[derive(Clone, Copy)]
pub(super) enum Held {
    SessionsResident,
    Sessions,
    Streams,
    Requests,
}

/// The requests of the shorter run: of a row that has much beside it or two threads, of an ordinary one,
/// and of one with large messages.
const MOST: u64 = 1_000;
const MANY: u64 = 200;
const FEW: u64 = 25;

/// The bytes of what `benches/budget` answers in bulk.
const PROSE: usize = 100_000;
const DOCUMENT: usize = 64 << 10;
const ESCAPES: usize = 32 << 10;

type Peer = (Binding, Era);

const MODERN: Peer = (Binding::Http, Era::Modern);
const STATELESS: Peer = (Binding::Http, Era::Stateless);
const SESSION: Peer = (Binding::Http, Era::Session);
const PIPE_MODERN: Peer = (Binding::Stdio, Era::Modern);
const PIPE_SESSION: Peer = (Binding::Stdio, Era::Session);
const PIPE_BARE: Peer = (Binding::Stdio, Era::Stateless);

fn works(name: &'static str, process: &'static str, work: Work) -> Counter {
    Counter {
        name,
        process,
        floor: None,
        work,
        requests: MANY,
        counts_heap: true,
    }
}

fn serves(
    name: &'static str,
    process: &'static str,
    (binding, era): Peer,
    request: &Request,
) -> Counter {
    let load = Load {
        binding,
        era,
        before: Before::default(),
        request: request.clone(),
    };
    works(name, process, Work::Serve(load))
}

fn bridges(name: &'static str, process: &'static str, era: Era, request: &Request) -> Counter {
    let load = Load {
        binding: Binding::Stdio,
        era,
        before: Before::default(),
        request: request.clone(),
    };
    works(name, process, Work::Bridge(load))
}

fn holds(name: &'static str, held: Held, count: u64) -> Counter {
    // This process forgets what can be replayed after two seconds.
    works(name, "http-left echo", Work::Hold(held, count))
}

impl Counter {
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
    fn many(mut self) -> Self {
        self.requests = MOST;
        self
    }

    /// Opens streams and requests before the ones that are counted. Allocations are not counted
    /// then, because the tool for them takes too long. The streams do not end in the same order in
    /// every run: many requests hide that.
    fn with_load_before(mut self, sessions: u64, listens: u64, hanging: u64) -> Self {
        self.counts_heap = false;
        if let Work::Serve(load) = &mut self.work {
            let for_each = match load.binding {
                Binding::Http => 10,
                Binding::Stdio => 40,
            };
            self.requests = MOST.max(for_each * (listens + hanging));
            load.before = Before {
                sessions,
                listens,
                hanging,
                ..Before::default()
            };
        }
        self
    }
}

/// Returns all rows. Floors stand before the rows that are compared with them.
#[rustfmt::skip] // A line each: it is a table.
pub(super) fn all() -> Vec<Counter> {
    let echo = &Request::echo("echo");
    let token = &echo.clone().with_token();
    let streams = &echo.clone().accept_only_streams();
    let wait = &Request::echo("wait");
    let touch = &Request::echo("touch");
    let report = &Request::echo("report").reporting();
    let list = |tools: usize| Request::list_tools(100 * tools);
    let prose = &Request::call("prose", "{}", "turnbuckle").answer_bytes(PROSE);
    let escapes = &Request::call("escapes", "{}", "\\\\").answer_bytes(ESCAPES);
    let document = &Request::read("text://document", DOCUMENT);
    let text = "A turnbuckle couples two rods with opposite threads.\\n".repeat(DOCUMENT / 54);
    let argument = &Request::call("length", &format!(r#"{{"text":"{text}"}}"#), "content");
    vec![
        serves("floor-http-bare", "floor-bare-http", STATELESS, echo),
        serves("floor-http", "floor-http", STATELESS, echo),
        serves("ours-http-modern", "http echo", MODERN, echo).above("floor-http"),
        serves("ours-http-auth", "http-auth echo", MODERN, token).above("floor-http"),
        serves("ours-http-legacy-stateless", "http-stateless echo", STATELESS, echo).above("floor-http"),
        serves("ours-http-session", "http echo", SESSION, echo).above("floor-http"),
        serves("ours-http-session-sealed", "http-sealed", SESSION, echo).above("floor-http"),
        serves("ours-http-session-stored", "http-stored", SESSION, echo).above("floor-http"),
        serves("ours-http-session-sse", "http echo", SESSION, streams).above("floor-http"),
        serves("floor-axum", "floor-axum", STATELESS, echo),
        serves("ours-axum-modern", "axum echo", MODERN, echo).above("floor-axum"),
        serves("floor-stdio", "floor-stdio", PIPE_BARE, echo),
        serves("ours-stdio-legacy", "stdio echo", PIPE_SESSION, echo).above("floor-stdio"),
        serves("ours-stdio-modern", "stdio echo", PIPE_MODERN, echo).above("floor-stdio"),
        serves("ours-stdio-modern-around", "stdio around", PIPE_MODERN, echo).above("floor-stdio"),
        // Handlers that are not ready at once, and an answer that is a stream.
        serves("ours-http-waits", "http busy", MODERN, wait).above("floor-http"),
        serves("ours-stdio-waits", "stdio busy", PIPE_SESSION, wait).above("floor-stdio").many(),
        serves("ours-stdio-modern-waits", "stdio busy", PIPE_MODERN, wait).above("floor-stdio").many(),
        serves("ours-http-session-reports", "http busy", SESSION, report).above("floor-http"),
        // Lists and large messages.
        serves("ours-http-list-100", "http 100", MODERN, &list(100)),
        serves("ours-http-list-1000", "http 1000", MODERN, &list(1000)).few(),
        serves("ours-stdio-list-100", "stdio 100", PIPE_MODERN, &list(100)),
        serves("floor-http-prose", "floor-http prose", STATELESS, prose).few(),
        serves("ours-http-prose", "http bulk", MODERN, prose).above("floor-http-prose").few(),
        serves("ours-stdio-prose", "stdio bulk", PIPE_MODERN, prose).above("floor-http-prose").few(),
        serves("floor-http-document", "floor-http document", STATELESS, document).few(),
        serves("ours-http-document", "http bulk", MODERN, document).above("floor-http-document").few(),
        serves("floor-http-escapes", "floor-http escapes", STATELESS, escapes).few(),
        serves("ours-http-escapes", "http bulk", MODERN, escapes).above("floor-http-escapes").few(),
        works("floor-decode", "decode", Work::Decode(argument.clone())).few(),
        serves("ours-http-argument", "http bulk", MODERN, argument).above("floor-decode").few(),
        serves("ours-stdio-argument", "stdio bulk", PIPE_MODERN, argument).above("floor-decode").few(),
        // The same beside little and beside much of what should not matter.
        serves("ours-http-tools-10", "http 10", MODERN, echo).with_load_before(0, 0, 0),
        serves("ours-http-tools-10000", "http 10000", MODERN, echo).with_load_before(0, 0, 0),
        serves("ours-http-sessions-10", "http echo", SESSION, echo).with_load_before(10, 0, 0),
        serves("ours-http-sessions-10000", "http echo", SESSION, echo).with_load_before(10_000, 0, 0),
        serves("ours-http-listens-0", "http busy", MODERN, touch).with_load_before(0, 0, 0),
        serves("ours-http-listens-1000", "http busy", MODERN, touch).with_load_before(0, 1_000, 0),
        serves("ours-stdio-listens-0", "stdio busy", PIPE_MODERN, touch).with_load_before(0, 0, 0),
        serves("ours-stdio-listens-1000", "stdio busy", PIPE_MODERN, touch).with_load_before(0, 1_000, 0),
        serves("ours-http-in-flight-0", "http busy", MODERN, echo).with_load_before(0, 0, 0),
        serves("ours-http-in-flight-512", "http busy", MODERN, echo).with_load_before(0, 0, 512),
        serves("ours-stdio-in-flight-0", "stdio busy", PIPE_SESSION, echo).with_load_before(0, 0, 0),
        serves("ours-stdio-in-flight-512", "stdio busy", PIPE_SESSION, echo).with_load_before(0, 0, 512),
        // Our client, alone in its process.
        works("client-stdio-legacy", "stdio legacy", Work::Call(Binding::Stdio)),
        works("client-stdio-modern", "stdio modern", Work::Call(Binding::Stdio)),
        works("client-http-session", "http legacy", Work::Call(Binding::Http)),
        works("client-http-modern", "http modern", Work::Call(Binding::Http)),
        works("client-http-auth", "http-auth modern", Work::Call(Binding::Http)),
        // What stands between a client and a server, alone in its process.
        bridges("bridge-stdio-legacy", "bridge legacy", Era::Session, echo),
        bridges("bridge-stdio-modern", "bridge modern", Era::Modern, echo),
        bridges("bridge-stdio-to-legacy", "bridge legacy", Era::Modern, echo),
        bridges("gateway-stdio-modern", "gateway off", Era::Modern, echo),
        bridges("gateway-stdio-modern-audit", "gateway /dev/null", Era::Modern, echo).many(),
        works("floor-start", "floor-start", Work::Start),
        works("start-3", "stdio 3", Work::Start).above("floor-start"),
        works("start-1000", "stdio 1000", Work::Start).above("floor-start"),
        holds("resident-idle-session", Held::SessionsResident, 10_000),
        holds("left-by-idle-session", Held::Sessions, 2_000),
        holds("left-by-open-stream", Held::Streams, 200),
        holds("left-by-request", Held::Requests, 500),
    ]
}
