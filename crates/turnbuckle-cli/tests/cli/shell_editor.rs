//! The line editor of `turnbuckle shell` at a pseudo-terminal.

use crate::terminal::TerminalSession;

/// Starts a shell at the demo.
fn start() -> TerminalSession {
    TerminalSession::start(&["shell"], &[("TERM", "xterm")])
}

/// Ends the shell with Ctrl-D.
fn end(mut at: TerminalSession) {
    at.expect("turnbuckle> ", "\u{4}");
    assert_eq!(at.end().1, Some(0));
}

#[test]
fn tab_completes_verbs_options_and_what_the_server_offers() {
    let mut at = start();
    // A verb, a tool and an argument: each is the only candidate.
    at.expect("turnbuckle> ", "ca\tech\tmes\thi there\n");
    at.expect("\"there\" is not an argument", "");
    at.expect("turnbuckle> ", "ca\tech\tmes\thi\n");
    at.expect("\r\nhi\r\n", "");
    at.expect("turnbuckle> ", "prom\ttest_simple_p\t\n");
    at.expect("user:", "");
    at.expect("turnbuckle> ", "rea\ttest://static-t\t\n");
    at.expect("the content of the static text resource", "");
    at.expect("turnbuckle> ", "listen --too\t--for 1ms --quie\t\n");
    // The options of the connection are no candidates, nor is anything within quotes.
    at.expect("turnbuckle> ", "info --er\t\n");
    at.expect("unexpected argument '--er' found", "");
    at.expect("turnbuckle> ", "call echo message='a b ech\t'\n");
    at.expect("a b ech\r\n", "");
    end(at);
}

#[test]
fn a_line_is_repeated_from_the_history_unless_it_has_a_secret() {
    let mut at = start();
    at.expect("turnbuckle> ", "call echo message=first\n");
    at.expect("\r\nfirst\r\n", "");
    for secret in [
        "call echo message=second token=t0p",
        "raw no/such --access-token t0p",
        "call echo message='Authorization: Bearer t0p'",
        " call echo message=second",
    ] {
        at.expect("turnbuckle> ", &format!("{secret}\n"));
    }
    at.expect("turnbuckle> ", "\u{1b}[A\n");
    at.expect("\r\nfirst\r\n", "");
    end(at);
}
