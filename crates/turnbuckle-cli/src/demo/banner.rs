//! The banner that the demo prints at its start.

use std::fmt;

use turnbuckle::Revision;

/// The banner of a demo that listens at `url`, and at `sse` for clients of HTTP+SSE.
pub(super) struct Banner<'a> {
    pub(super) url: &'a str,
    pub(super) sse: Option<&'a str>,
    /// The test authorization server, if the demo demands a login.
    pub(super) issuer: Option<&'a str>,
}

impl fmt::Display for Banner<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { url, sse, issuer } = self;
        if let Some(issuer) = issuer {
            return write_login(f, url, issuer);
        }
        let revisions = Revision::ALL.map(Revision::as_str).join(", ");
        let newest = Revision::NEWEST.as_str();
        let older = sse.map_or_else(String::new, |url| {
            format!("and for clients that speak HTTP+SSE:\n\n{url}\n\n")
        });
        write!(
            f,
            "\
Turnbuckle demo {version}: everything that an MCP server can offer

  speaks   every MCP revision: {revisions}
  listens  at this address, for this machine only:

{url}

{older}Try a client:

  npx @modelcontextprotocol/inspector --cli {url} --method tools/list

or no client at all:

  curl {url} \\
    -H 'Content-Type: application/json' \\
    -H 'Accept: application/json, text/event-stream' \\
    -H 'MCP-Protocol-Version: {newest}' \\
    -H 'Mcp-Method: tools/call' \\
    -H 'Mcp-Name: echo' \\
    -d '{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{{
          \"name\":\"echo\",\"arguments\":{{\"message\":\"Hello!\"}},\"_meta\":{{
          \"io.modelcontextprotocol/protocolVersion\":\"{newest}\",
          \"io.modelcontextprotocol/clientCapabilities\":{{}}}}}}}}'

Ctrl-C ends it.
",
            version = env!("CARGO_PKG_VERSION"),
        )
    }
}

/// Writes the banner of a demo that demands a login.
fn write_login(f: &mut fmt::Formatter<'_>, url: &str, issuer: &str) -> fmt::Result {
    write!(
        f,
        "\
Turnbuckle demo {version}: everything that an MCP server can offer, behind a login

  listens  at this address, for this machine only:

{url}

and a test authorization server, which asks for no password and is for tests only:

{issuer}

Log in, and call a tool:

  turnbuckle auth login {url}
  turnbuckle call {url} whoami

call a tool that needs another scope, demo:write, for which a client asks when it must:

  turnbuckle call {url} write_note text=Hello

and see each step of a login, or end it:

  turnbuckle auth debug {url}
  turnbuckle auth logout {url}

Ctrl-C ends it.
",
        version = env!("CARGO_PKG_VERSION"),
    )
}
