//! Methods tie a name to parameters and a result, and say who can be sent them.

use std::collections::BTreeSet;

use turnbuckle_types::method::*;
use turnbuckle_types::{Client, InputRequiredResult, Participant, ReceivedBy, Server};

fn to<R: Participant, M: ReceivedBy<R>>() -> &'static str {
    M::METHOD
}

fn told<M: Notification>() -> &'static str {
    M::METHOD
}

#[test]
fn each_side_has_its_methods() {
    let server = [
        to::<Server, Initialize>(),
        to::<Server, Ping>(),
        to::<Server, Discover>(),
        to::<Server, ListTools>(),
        to::<Server, CallTool>(),
        to::<Server, ListResources>(),
        to::<Server, ListResourceTemplates>(),
        to::<Server, ReadResource>(),
        to::<Server, Subscribe>(),
        to::<Server, Unsubscribe>(),
        to::<Server, SubscriptionsListen>(),
        to::<Server, ListPrompts>(),
        to::<Server, GetPrompt>(),
        to::<Server, Complete>(),
        to::<Server, SetLevel>(),
    ];
    let client = [
        to::<Client, Ping>(),
        to::<Client, CreateMessage>(),
        to::<Client, Elicit>(),
        to::<Client, ListRoots>(),
    ];
    let told = [
        told::<Initialized>(),
        told::<Cancelled>(),
        told::<Progress>(),
        told::<RootsListChanged>(),
        told::<LoggingMessage>(),
        told::<ToolListChanged>(),
        told::<PromptListChanged>(),
        told::<ResourceListChanged>(),
        told::<ResourceUpdated>(),
        told::<SubscriptionsAcknowledged>(),
        told::<ElicitationComplete>(),
    ];
    let names: BTreeSet<&str> = [&server[..], &client, &told].concat().into_iter().collect();
    assert_eq!(
        names.len(),
        29,
        "18 requests and 11 notifications, no name twice"
    );
    let notifications = names
        .iter()
        .filter(|name| name.starts_with("notifications/"))
        .count();
    assert_eq!(notifications, 11);
}

#[test]
fn a_peers_peer_is_oneself() {
    fn there_and_back<R: Participant>() -> bool {
        std::any::TypeId::of::<R>()
            == std::any::TypeId::of::<<<R as Participant>::Peer as Participant>::Peer>()
    }
    assert!(there_and_back::<Client>() && there_and_back::<Server>());
}

#[test]
fn an_outcome_is_an_answer_or_questions() {
    assert_eq!(Outcome::Complete(1).map(|n| n + 1), Outcome::Complete(2));
    let input = InputRequiredResult::new().request_state("s");
    let asked: Outcome<i32> = input.clone().into();
    assert_eq!(asked.map(|n| n + 1), Outcome::InputRequired(input));
}
