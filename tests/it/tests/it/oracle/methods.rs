//! The membership table is the official schemas' unions of messages.

use std::collections::BTreeSet;

use turnbuckle_check::oracle::Oracle;
use turnbuckle_wire::revision::{Method, Party, Revision};

#[test]
fn each_side_receives_the_methods_that_the_schema_lets_the_other_send() {
    let oracle = Oracle::load();
    for revision in Revision::ALL {
        let schema = oracle.schema(revision);
        for (receiver, sender) in [(Party::Server, "Client"), (Party::Client, "Server")] {
            for (kind, notifications) in [("Request", false), ("Notification", true)] {
                let official: BTreeSet<String> = schema
                    .methods(&format!("{sender}{kind}"))
                    .into_keys()
                    .collect();
                let ours: BTreeSet<String> = Method::ALL
                    .iter()
                    .filter(|method| method.is_notification() == notifications)
                    .filter(|method| method.is_received_by(receiver, revision))
                    .map(|method| method.as_str().to_owned())
                    .collect();
                assert_eq!(ours, official, "{revision}: {sender}{kind}");
            }
        }
    }
}

#[test]
fn methods_of_input_requests_are_not_requests_of_the_modern_era() {
    let oracle = Oracle::load();
    let modern = Revision::NEWEST;
    let schema = oracle.schema(modern);
    let inside: BTreeSet<String> = schema.methods("InputRequest").into_keys().collect();
    let expected = [Method::CreateMessage, Method::Elicit, Method::ListRoots];
    assert_eq!(
        inside,
        expected
            .iter()
            .map(|method| method.as_str().to_owned())
            .collect()
    );

    let mut reaching = BTreeSet::new();
    for method in Method::ALL {
        let reaches = |party| method.is_received_by(party, modern);
        if reaches(Party::Client) || reaches(Party::Server) {
            reaching.insert(method.as_str().to_owned());
        }
    }
    let literals = schema.method_literals();
    let unreached: BTreeSet<String> = literals.difference(&reaching).cloned().collect();
    assert_eq!(unreached, inside);
}
