use super::*;

#[test]
fn spelling_and_parsing_agree() {
    for &method in Method::ALL {
        assert_eq!(Method::parse(method.as_str()), Some(method));
        assert_eq!(
            method.is_notification(),
            method.as_str().starts_with("notifications/")
        );
    }
    assert_eq!(Method::parse("tools/Call"), None);
}

#[test]
fn no_party_receives_a_method_that_its_revision_lacks() {
    let modern = Revision::NEWEST;
    for gone in [
        Method::Initialize,
        Method::Ping,
        Method::SetLevel,
        Method::Subscribe,
    ] {
        assert!(!gone.is_received_by(Party::Server, modern), "{gone:?}");
    }
    assert!(!Method::Elicit.is_received_by(Party::Client, Revision::V2025_03_26));
    assert!(Method::Elicit.is_received_by(Party::Client, Revision::V2025_06_18));
    assert!(!Method::CallTool.is_received_by(Party::Client, Revision::V2025_06_18));
}

/// Two sources have to agree: the table, and `Project::CACHEABLE`, which the writer of a result
/// reads.
#[test]
fn cacheable_results_are_those_with_a_time_to_live() {
    use turnbuckle_types::{Request, method as m};

    use crate::era::Project;

    fn check<R: Request<Result: Project>>() {
        let method = Method::parse(R::METHOD).unwrap();
        assert_eq!(R::Result::CACHEABLE, method.is_cacheable(), "{method:?}");
    }
    check::<m::Initialize>();
    check::<m::Ping>();
    check::<m::Discover>();
    check::<m::ListTools>();
    check::<m::CallTool>();
    check::<m::ListResources>();
    check::<m::ListResourceTemplates>();
    check::<m::ReadResource>();
    check::<m::Subscribe>();
    check::<m::Unsubscribe>();
    check::<m::ListPrompts>();
    check::<m::GetPrompt>();
    check::<m::Complete>();
    check::<m::SetLevel>();
    check::<m::SubscriptionsListen>();
    check::<m::CreateMessage>();
    check::<m::ListRoots>();
    check::<m::Elicit>();
    check::<m::LegacyGetTask>();
    check::<m::TaskResult>();
    check::<m::ListTasks>();
    check::<m::LegacyCancelTask>();
}

#[test]
fn facts_fit_together() {
    for &method in Method::ALL {
        if method.is_notification() {
            assert_eq!(method.capability(), None, "{method:?}");
        }
        if let Some(notification) = method.invalidated_by() {
            assert!(notification.is_notification(), "{method:?}");
        }
        // The list methods and `server/discover` never ask, and what asks names its item.
        if method.can_require_input() {
            assert!(method.mirrored_param().is_some(), "{method:?}");
        }
    }
}

#[test]
fn each_part_in_the_life_of_a_connection_has_one_method() {
    for (role, method) in [
        (MethodRole::Handshake, Method::Initialize),
        (MethodRole::Discovery, Method::Discover),
        (MethodRole::Liveness, Method::Ping),
        (MethodRole::Subscription, Method::SubscriptionsListen),
    ] {
        let of_role = |it: &&Method| it.role() == role;
        let found: Vec<_> = Method::ALL.iter().filter(of_role).collect();
        assert_eq!(found, [&method]);
        assert_eq!(Method::role_of(method.as_str()), role);
    }
    assert_eq!(Method::role_of("x/y"), MethodRole::Ordinary);
}

#[test]
fn tasks_are_core_methods_of_one_revision_and_free_for_extensions_later() {
    for method in [
        Method::LegacyGetTask,
        Method::TaskResult,
        Method::ListTasks,
        Method::LegacyCancelTask,
        Method::TaskStatusNotification,
    ] {
        for party in [Party::Client, Party::Server] {
            let received = Revision::ALL.into_iter();
            let received = received.filter(|revision| method.is_received_by(party, *revision));
            assert_eq!(received.collect::<Vec<_>>(), [Revision::V2025_11_25]);
        }
        assert!(method.is_free_for_extensions(), "{method:?}");
        assert_eq!(method.waits_for_task(), method == Method::TaskResult);
    }
}
