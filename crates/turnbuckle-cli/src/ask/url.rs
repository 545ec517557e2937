//! URLs that the server sends the user to. Nothing is opened here.

use std::sync::Arc;

use turnbuckle::client::{Consent, Question, UrlRequest};

use super::Manner;
use super::terminal::Terminal;
use crate::output::{Ink, clean};

/// Shows the user where the server wants them to go.
pub(super) async fn answer(
    terminal: Arc<Terminal>,
    manner: Manner,
    request: UrlRequest,
    question: Question,
) -> Consent {
    match manner {
        Manner::Refused => Consent::Cancel,
        Manner::Yes => {
            show(&terminal, &request, &question);
            Consent::Accept
        }
        Manner::Asked => {
            let asked = terminal.converse(move |terminal| {
                show(terminal, &request, &question);
                terminal
                    .screen
                    .say("Nothing is opened for you: copy the address if you trust it.");
                match terminal.agrees("Will you go there?", false)? {
                    true => Some(Consent::Accept),
                    false => Some(Consent::Decline),
                }
            });
            asked.await.unwrap_or(Consent::Cancel)
        }
    }
}

fn show(terminal: &Terminal, request: &UrlRequest, question: &Question) {
    let screen = &terminal.screen;
    terminal.introduce(question);
    screen.say(&clean(&request.message));
    let host = screen.err_ink(Ink::Strong, &clean(&request.host));
    screen.say(&format!(
        "\n  address  {}\n  host     {host}",
        clean(&request.url)
    ));
    for warning in &request.warnings {
        screen.say(&screen.err_ink(Ink::Warn, &format!("  warning  {warning}")));
    }
    screen.say("");
}
