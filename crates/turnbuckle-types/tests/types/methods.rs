//! Methods tie a name to parameters and a result, and say who can be sent them.

use std::collections::BTreeSet;

use turnbuckle_types::method::*;
use turnbuckle_types::{Client, InputRequiredResult, Participant, ReceivedBy, Server};

fn request_method<R: Participant, M: ReceivedBy<R>>() -> &'static str {
    M::METHOD
}

fn notification_method<M: Notification>() -> &'static str {
    M::METHOD
}

#[test]
fn each_side_has_its_methods() {
    let server = [
        request_method::<Server, Initialize>(),
        request_method::<Server, Ping>(),
        request_method::<Server, Discover>(),
        request_method::<Server, ListTools>(),
        request_method::<Server, CallTool>(),
        request_method::<Server, ListResources>(),
        request_method::<Server, ListResourceTemplates>(),
        request_method::<Server, ReadResource>(),
        request_method::<Server, Subscribe>(),
        request_method::<Server, Unsubscribe>(),
        request_method::<Server, SubscriptionsListen>(),
        request_method::<Server, ListPrompts>(),
        request_method::<Server, GetPrompt>(),
        request_method::<Server, Complete>(),
        request_method::<Server, SetLevel>(),
        request_method::<Server, LegacyGetTask>(),
        request_method::<Server, TaskResult>(),
        request_method::<Server, ListTasks>(),
        request_method::<Server, LegacyCancelTask>(),
    ];
    let client = [
        request_method::<Client, Ping>(),
        request_method::<Client, CreateMessage>(),
        request_method::<Client, Elicit>(),
        request_method::<Client, ListRoots>(),
        request_method::<Client, LegacyGetTask>(),
        request_method::<Client, TaskResult>(),
        request_method::<Client, ListTasks>(),
        request_method::<Client, LegacyCancelTask>(),
    ];
    let notifications = [
        notification_method::<Initialized>(),
        notification_method::<Cancelled>(),
        notification_method::<Progress>(),
        notification_method::<RootsListChanged>(),
        notification_method::<LoggingMessage>(),
        notification_method::<ToolListChanged>(),
        notification_method::<PromptListChanged>(),
        notification_method::<ResourceListChanged>(),
        notification_method::<ResourceUpdated>(),
        notification_method::<SubscriptionsAcknowledged>(),
        notification_method::<ElicitationComplete>(),
        notification_method::<TaskStatusNotification>(),
    ];
    let names: BTreeSet<&str> = [&server[..], &client, &notifications]
        .concat()
        .into_iter()
        .collect();
    assert_eq!(
        names.len(),
        34,
        "22 requests and 12 notifications, no name twice"
    );
    let notifications = names
        .iter()
        .filter(|name| name.starts_with("notifications/"))
        .count();
    assert_eq!(notifications, 12);
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
