#![cfg(unix)]

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::sync::atomic::{AtomicUsize, Ordering};

use turnbuckle::types::Principal;

use super::*;
use crate::file::GatewayFile;

/// A server that knows one token, and what it was sent.
#[derive(Clone)]
struct Server {
    token: &'static str,
    sent: Arc<Mutex<Vec<HeaderMap>>>,
    requests: Arc<AtomicUsize>,
}

impl Service<Request<ClientRequestBody>> for Server {
    type Response = Response<ClientRequestBody>;
    type Error = Infallible;
    type Future = Ready<Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<ClientRequestBody>) -> Self::Future {
        self.requests.fetch_add(1, Ordering::SeqCst);
        let mut response = Response::new(ClientRequestBody::default());
        if request
            .headers()
            .get("authorization")
            .is_none_or(|it| it != self.token)
        {
            *response.status_mut() = StatusCode::UNAUTHORIZED;
        }
        self.sent.lock().unwrap().push(request.headers().clone());
        ready(Ok(response))
    }
}

struct Case {
    folder: tempfile::TempDir,
    server: Server,
    service: HeadersService,
}

/// Returns a client whose headers this script prints, for `principal`.
fn case(script: &str, token: &'static str, principal: Option<&Principal>) -> Case {
    let folder = tempfile::tempdir().unwrap();
    let words = ["sh", "-c", script].map(str::to_owned);
    let file = "[upstream.crm]\nurl = 'https://crm.example'\nheaders_command = ['x']";
    let file = GatewayFile::parse_toml(file).unwrap();
    let caller = Caller::new(&file.upstream["crm"], principal);
    let command = HeadersCommand::new(&words, folder.path(), "crm", &caller).unwrap();
    let server = Server {
        token,
        sent: Arc::default(),
        requests: Arc::default(),
    };
    Case {
        service: command.layer(HttpClient::new(server.clone())),
        folder,
        server,
    }
}

impl Case {
    async fn send(&self) -> Result<StatusCode, String> {
        let request = Request::new(ClientRequestBody::default());
        let response = self.service.clone().call(request).await;
        response
            .map(|it| it.status())
            .map_err(|error| error.to_string())
    }

    /// Returns how often the script has run, if it writes a line to `runs` each time.
    fn runs(&self) -> usize {
        let runs = std::fs::read_to_string(self.folder.path().join("runs"));
        runs.map_or(0, |runs| runs.lines().count())
    }
}

const NUMBERED: &str =
    "echo run >> runs; n=$(wc -l < runs); echo \"{\\\"Authorization\\\": \\\"Bearer $((n))\\\"}\"";

#[tokio::test]
async fn headers_are_kept_until_the_server_refuses_them() {
    let case = case(NUMBERED, "Bearer 2", None);
    // The first token is refused, the second is not.
    assert_eq!(case.send().await, Ok(StatusCode::OK));
    for _ in 0..3 {
        assert_eq!(case.send().await, Ok(StatusCode::OK));
    }
    assert_eq!(case.runs(), 2);
    assert_eq!(case.server.requests.load(Ordering::SeqCst), 5);
    let sent = case.server.sent.lock().unwrap();
    assert!(sent.iter().all(|it| it["authorization"].is_sensitive()));
}

#[tokio::test]
async fn headers_of_the_transport_take_precedence() {
    let case = case("echo '{\"Accept\": \"x\", \"X-Team\": \"a\"}'", "", None);
    let request = Request::builder().header("accept", "text/event-stream");
    let request = request.body(ClientRequestBody::default()).unwrap();
    case.service.clone().call(request).await.unwrap();
    let sent = case.server.sent.lock().unwrap();
    assert_eq!(
        (&sent[0]["accept"], &sent[0]["x-team"]),
        (
            &HeaderValue::from_static("text/event-stream"),
            &HeaderValue::from_static("a")
        )
    );
}

#[tokio::test]
async fn a_request_is_sent_twice_at_most() {
    let case = case(NUMBERED, "Bearer none", None);
    assert_eq!(case.send().await, Ok(StatusCode::UNAUTHORIZED));
    assert_eq!(
        (case.runs(), case.server.requests.load(Ordering::SeqCst)),
        (2, 2)
    );
}

#[tokio::test]
async fn requests_that_wait_share_a_run() {
    let case = case(NUMBERED, "Bearer 2", None);
    let (one, two, three) = tokio::join!(case.send(), case.send(), case.send());
    assert_eq!([one, two, three], [const { Ok(StatusCode::OK) }; 3]);
    assert_eq!(case.runs(), 2);
}

#[tokio::test]
async fn the_command_knows_whom_the_headers_are_for() {
    let script = "echo \"{\\\"X-For\\\": \\\"$TURNBUCKLE_UPSTREAM $TURNBUCKLE_SUBJECT $TURNBUCKLE_ISSUER \
                  ${TURNBUCKLE_CLIENT-unset}\\\"}\"";
    let ann = Principal::new("https://id.example", "ann");
    for (principal, expected) in [
        (Some(&ann), "crm ann https://id.example unset"),
        (None, "crm   unset"),
    ] {
        let case = case(script, "", principal);
        case.send().await.unwrap();
        assert_eq!(case.server.sent.lock().unwrap()[0]["x-for"], expected);
    }
}

#[tokio::test]
async fn a_command_that_fails_says_why_and_sends_nothing() {
    for (script, reason) in [
        ("echo hunter2 >&2; exit 3", "it ended with exit status: 3"),
        (
            "echo hunter2",
            "it prints no JSON object of texts (line 1, column 1)",
        ),
        ("echo '{\"A\": 1}'", "it prints no JSON object of texts"),
        (
            "echo '{\"a b\": \"hunter2\"}'",
            "the header \"a b\" cannot be sent",
        ),
        (
            "printf %s '{\"a\": \"hunter2\\n\"}'",
            "the header \"a\" cannot be sent",
        ),
        (
            "echo '{\"Content-Length\": \"1\"}'",
            "the header \"Content-Length\" cannot be sent",
        ),
        ("yes", "it prints more than 65536 bytes"),
    ] {
        let case = case(script, "", None);
        let error = case.send().await.unwrap_err();
        assert!(error.contains(reason), "{script}: {error}");
        assert!(error.contains("`headers_command` of \"crm\"") && !error.contains("hunter2"));
        assert_eq!(case.server.requests.load(Ordering::SeqCst), 0, "{script}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_command_that_never_ends_is_given_up() {
    let case = case("exec sleep 600", "", None);
    let error = case.send().await.unwrap_err();
    assert!(error.contains("it has not ended within 10s"), "{error}");
}

#[tokio::test]
async fn what_a_command_has_started_ends_with_it() {
    // It would hold the output open for ten minutes.
    let script = "sleep 600 & echo '{\"Authorization\": \"Bearer a\"}'";
    assert_eq!(
        case(script, "Bearer a", None).send().await,
        Ok(StatusCode::OK)
    );
}

#[tokio::test]
async fn a_failure_is_not_kept() {
    let script = "echo run >> runs; test $(wc -l < runs) -ge 2 || exit 1; echo '{\"Authorization\": \"Bearer a\"}'";
    let case = case(script, "Bearer a", None);
    case.send().await.unwrap_err();
    assert_eq!(case.send().await, Ok(StatusCode::OK));
}
