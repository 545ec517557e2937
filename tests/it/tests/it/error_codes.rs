//! The numbers of errors: kinds are raised, each revision has its own numbers for them.

use serde_json::{Value, json};
use turnbuckle_it::harness::{Case, Client};
use turnbuckle_server::{HandlerContext, Resource, Result, Server};
use turnbuckle_types::{
    ClientCapabilities, ElicitRequestUrlParams, ErrorKind, ProtocolError, RequiredScopes,
};

use crate::servers::{echo_builder, full_server};

/// Returns every kind of error that a handler can raise.
fn kinds() -> Vec<ErrorKind> {
    let mut needed = ClientCapabilities::new();
    needed.sampling = Some(turnbuckle_types::SamplingCapability::new());
    let reserved = [
        -32768, -32700, -32604, -32500, -32099, -32042, -32002, -32000,
    ];
    let mut kinds = vec![
        ErrorKind::ParseError,
        ErrorKind::InvalidRequest,
        ErrorKind::InvalidEnvelope,
        ErrorKind::HeaderMismatch,
        ErrorKind::UnsupportedProtocolVersion {
            supported: vec!["2026-07-28".into()],
            requested: "2099-01-01".into(),
        },
        ErrorKind::MissingRequiredClientCapability(Box::new(needed)),
        ErrorKind::MethodNotFound,
        ErrorKind::ResourceNotFound,
        ErrorKind::InvalidParams,
        ErrorKind::UrlElicitationRequired(vec![ElicitRequestUrlParams::new(
            "Sign in",
            "https://example.com/",
        )]),
        ErrorKind::Forbidden(RequiredScopes::new(["files:read"])),
        ErrorKind::Internal,
        ErrorKind::Application(-31999),
        ErrorKind::Application(-32769),
        ErrorKind::Application(42),
    ];
    kinds.extend(reserved.map(ErrorKind::Application));
    kinds
}

/// Creates a server whose resource `test://<n>` fails with the n-th kind.
fn failing() -> Server {
    let kinds = kinds().into_iter().enumerate();
    kinds
        .fold(echo_builder(), |builder, (at, kind)| {
            let fail = move |_: HandlerContext| {
                let kind = kind.clone();
                async move { Result::<String, ProtocolError>::Err(ProtocolError::new(kind, "failed")) }
            };
            builder
                .resource(Resource::builder(format!("test://{at}"), format!("r{at}")).handler(fail))
        })
        .build()
        .unwrap()
}

async fn codes(case: Case) -> Vec<i64> {
    let mut client = Client::connect(case, &failing()).await;
    let mut codes = Vec::new();
    for at in 0..kinds().len() {
        let uri = json!({"uri": format!("test://{at}")});
        let answer = client.request("resources/read", uri).await;
        let Some(error) = answer.get("error") else {
            // Asked for in a result instead.
            assert_eq!(answer["result"]["resultType"], "input_required", "{answer}");
            continue;
        };
        let message = error["message"].as_str();
        assert!(
            message.is_some_and(|message| !message.is_empty()),
            "{answer}"
        );
        codes.push(error["code"].as_i64().expect("an integer"));
    }
    codes
}

// requirement: 41c1d665ba69 b8ef1f27b583 bf464227f12d
#[tokio::test(start_paused = true)]
async fn only_defined_codes_are_sent() {
    for case in Case::all() {
        let features = case.revision.features();
        let mut defined = vec![-32700, -32600, -32601, -32602, -32603];
        if features.result_envelope {
            defined.extend([-32020, -32021, -32022]);
        }
        if features.resource_not_found_code {
            defined.push(-32002);
        }
        if features.url_required_error {
            defined.push(-32042);
        }
        for code in codes(case).await {
            let reserved = (-32768..=-32000).contains(&code);
            assert!(!reserved || defined.contains(&code), "{case}: {code}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_applications_own_code_passes() {
    for case in Case::all() {
        let codes = codes(case).await;
        for own in [-31999, -32769, 42] {
            assert!(codes.contains(&own), "{case}: {own}");
        }
    }
}

// requirement: 1e9c5cb354f1 70a04779acaf
#[tokio::test(start_paused = true)]
async fn retired_codes_stay_in_their_era() {
    for case in Case::modern() {
        let codes = codes(case).await;
        assert!(!codes.contains(&-32002), "{case}");
        assert!(!codes.contains(&-32042), "{case}");
        let mut client = Client::connect(case, &failing()).await;
        let missing = client
            .request("resources/read", json!({"uri": "test://missing"}))
            .await;
        assert_eq!(missing["error"]["code"], -32602, "{case}");
    }
    for case in Case::legacy() {
        assert!(codes(case).await.contains(&-32002), "{case}");
    }
}

// requirement: 050b4d5d2c1a 8280a86ec05d a2dc63723f98
#[tokio::test(start_paused = true)]
async fn an_error_has_an_integer_code_and_a_message() {
    for case in Case::duplex(Case::all()) {
        // Every kind that a handler raises is checked where the codes are gathered.
        assert!(codes(case).await.len() >= kinds().len() - 1);
        let mut client = Client::connect(case, &failing()).await;
        let params = client.with_envelope(json!({}));
        for (text, code) in [
            ("not JSON".to_owned(), -32700),
            (json!({"jsonrpc": "2.0", "id": 1}).to_string(), -32600),
            (
                json!({"jsonrpc": "2.0", "id": 90, "method": "no/such", "params": params})
                    .to_string(),
                -32601,
            ),
            (
                json!({"jsonrpc": "2.0", "id": 91, "method": "tools/call", "params": params})
                    .to_string(),
                -32602,
            ),
            (
                json!({"jsonrpc": "2.0", "id": 92, "method": "tools/list", "params": []})
                    .to_string(),
                -32602,
            ),
        ] {
            client.raw(&text).await;
            let answer: Value = serde_json::from_str(&client.next_raw().await).unwrap();
            assert_eq!(answer["error"]["code"], code, "{case}: {text}");
            let message = answer["error"]["message"].as_str().unwrap();
            assert!(!message.is_empty(), "{case}: {text}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn errors_quote_input_in_short() {
    // Over HTTP, names also stand in the head, which is bounded (HttpLimits::max_header_bytes).
    let long = "x".repeat(50_000);
    let long = long.as_str();
    for case in Case::all() {
        let mut client = Client::connect(case, &full_server()).await;
        for (method, params) in [
            (long, json!({})),
            (
                "initialize",
                json!({"protocolVersion": long, "capabilities": long}),
            ),
            ("tools/call", json!({"name": long})),
            ("tools/call", json!({"name": "echo", "arguments": long})),
            (
                "tools/call",
                json!({"name": "echo", "arguments": {"text": [long]}}),
            ),
            (
                "tools/call",
                json!({"name": "sleep", "arguments": {"seconds": long}}),
            ),
            ("tools/list", json!({"cursor": long})),
            ("prompts/get", json!({"name": long})),
            ("resources/templates/list", json!({"cursor": long})),
            ("logging/setLevel", json!({"level": long})),
            ("subscriptions/listen", json!({"notifications": long})),
            (
                "completion/complete",
                json!({"ref": {"type": long}, "argument": {"name": long, "value": ""}}),
            ),
            (
                "completion/complete",
                json!({"ref": {"type": "ref/prompt", "name": long}, "argument": {"name": long, "value": ""}}),
            ),
            (
                "completion/complete",
                json!({"ref": {"type": "ref/resource", "uri": "test://many/{n}"}, "argument": {"name": long, "value": ""}}),
            ),
        ] {
            let answer = client.request(method, params.clone()).await;
            assert!(
                answer.to_string().len() < 1000,
                "{case}: {method:.30} {:.60}",
                params.to_string()
            );
        }
    }
}
