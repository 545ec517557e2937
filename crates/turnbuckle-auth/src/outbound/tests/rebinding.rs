//! Tests of a server whose name has other addresses from lookup to lookup.

use super::*;

/// A host in a private network, and one on this machine.
const INTERNAL: [&str; 2] = [
    "https://private.example.com/",
    "https://loopback.example.com/",
];

/// Returns a lookup in which the server's own name has these addresses, one after another. Others
/// are those of [`PUBLIC`].
fn changing_lookup(answers: &'static [&'static str]) -> Lookup {
    let fixed = fixed_lookup(PUBLIC);
    let count = Mutex::new(0);
    Arc::new(move |name| {
        if name != "mcp.example.com" {
            return fixed(name);
        }
        let mut count = count.lock().unwrap();
        let answer: IpAddr = answers[(*count).min(answers.len() - 1)].parse().unwrap();
        *count += 1;
        Box::pin(async move { Ok(vec![answer]) })
    })
}

#[tokio::test]
async fn a_public_server_whose_name_turns_private_opens_no_private_network() {
    let answers: [&'static [&'static str]; 2] = [&["10.0.0.1"], &["127.0.0.1"]];
    for answers in answers {
        let outbound = outbound(
            "https://mcp.example.com/mcp",
            Some(changing_lookup(answers)),
        );
        outbound.note_connection(Some("93.184.216.34".parse().unwrap()));
        for url in INTERNAL.into_iter().chain(["https://mcp.example.com/"]) {
            let reason = refusal(&outbound, url).await;
            assert!(reason.starts_with("the address "), "{url}: {reason}");
        }
    }
}

#[tokio::test]
async fn a_name_that_was_private_first_and_then_public_counts_as_public() {
    let answers = &["10.0.0.1", "93.184.216.34", "10.0.0.1"];
    let url = Url::parse("https://mcp.example.com/mcp").unwrap();
    let policy = UrlPolicy::new(&url, &[], Some(changing_lookup(answers)));
    let resolve = async |name: &str| {
        let addresses = policy.resolve(&normalize(Host::Domain(name))).await;
        addresses.map(drop).map_err(|error| error.to_string())
    };
    // As long as its name has private addresses only, the server may name others in its network.
    assert_eq!(resolve("private.example.com").await, Ok(()));
    assert_eq!(resolve("mcp.example.com").await, Ok(()));
    let refused = resolve("private.example.com").await.unwrap_err();
    assert!(refused.contains("is in a private network"), "{refused}");
}

#[tokio::test]
async fn a_server_at_an_unknown_address_counts_as_public() {
    for server in ["https://mcp.example.com/mcp", "https://10.1.2.3/mcp"] {
        let is_named = server.contains("example");
        let url = Url::parse(server).unwrap();
        let lookup = changing_lookup(&["10.0.0.1"]);
        let policy = UrlPolicy::new(&url, &[], Some(lookup));
        policy.note_connection(None);
        let host = policy.check_url(&Url::parse("https://10.9.9.9/").unwrap());
        let checked = policy.check_literal(&host.unwrap()).await;
        assert_eq!(checked.is_err(), is_named, "{server}");
    }
}

#[tokio::test]
async fn a_server_that_was_reached_in_a_private_network_may_name_others_there() {
    let url = Url::parse("https://mcp.example.com/mcp").unwrap();
    let policy = UrlPolicy::new(&url, &[], Some(changing_lookup(&["10.0.0.1"])));
    policy.note_connection(Some("10.0.0.1".parse().unwrap()));
    let check = async |url: &str| {
        let host = policy.check_url(&Url::parse(url).unwrap()).unwrap();
        policy.check_literal(&host).await.is_ok()
    };
    assert!(check("https://10.0.0.2/").await);
    assert!(!check("https://127.0.0.1/").await);
}
