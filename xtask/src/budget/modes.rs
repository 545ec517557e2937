//! What the client of each mode sends. A mode that the server binary lacks is left out of a run.

/// One server of `benches/budget` and its load.
pub(super) struct Mode {
    /// As on the server's command line.
    pub(super) name: &'static str,
    /// The mode that it is compared with; a floor names itself.
    pub(super) floor: &'static str,
    pub(super) load: Load,
}

/// How a client talks to the server. The message is the same call of the tool `echo` throughout;
/// `{id}` in it stands for a number of six digits that no other request of the run has.
pub(super) enum Load {
    /// POSTs on one kept connection, one at a time.
    Http {
        /// Header lines beside those that every POST has, each with its line end.
        headers: &'static str,
        message: &'static str,
        /// Whether a session is opened first and named in every request.
        session: bool,
    },
    /// Lines, one at a time.
    Stdio {
        message: &'static str,
        /// Whether a handshake comes first.
        handshake: bool,
    },
}

/// Floors stand before what is compared with them.
pub(super) const MODES: &[Mode] = &[
    Mode {
        name: "floor-http",
        floor: "floor-http",
        load: Load::Http {
            headers: LEGACY_HEADERS,
            message: LEGACY,
            session: false,
        },
    },
    Mode {
        name: "ours-http-modern",
        floor: "floor-http",
        load: Load::Http {
            headers: MODERN_HEADERS,
            message: MODERN,
            session: false,
        },
    },
    Mode {
        name: "ours-http-legacy-stateless",
        floor: "floor-http",
        load: Load::Http {
            headers: LEGACY_HEADERS,
            message: LEGACY,
            session: false,
        },
    },
    Mode {
        name: "ours-http-session",
        floor: "floor-http",
        load: Load::Http {
            headers: LEGACY_HEADERS,
            message: LEGACY,
            session: true,
        },
    },
    Mode {
        name: "floor-stdio",
        floor: "floor-stdio",
        load: Load::Stdio {
            message: LEGACY,
            handshake: false,
        },
    },
    Mode {
        name: "ours-stdio-legacy",
        floor: "floor-stdio",
        load: Load::Stdio {
            message: LEGACY,
            handshake: true,
        },
    },
    Mode {
        name: "ours-stdio-modern",
        floor: "floor-stdio",
        load: Load::Stdio {
            message: MODERN,
            handshake: false,
        },
    },
];

/// What opens a legacy session.
pub(super) const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"budget","version":"1"}}}"#;

/// What ends the handshake; it has no answer.
pub(super) const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

const LEGACY: &str = r#"{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{"name":"echo","arguments":{"message":"hello"}}}"#;

const MODERN: &str = r#"{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"budget","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}},"name":"echo","arguments":{"message":"hello"}}}"#;

const LEGACY_HEADERS: &str = "MCP-Protocol-Version: 2025-11-25\r\n";

const MODERN_HEADERS: &str =
    "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: echo\r\n";
