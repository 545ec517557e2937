mod explore;

use super::*;

type Plain = Kernel<&'static str, &'static str>;

fn is_refused(step: &RequestDecision) -> bool {
    matches!(step, RequestDecision::Refuse(error) if *error.kind() == ErrorKind::InvalidRequest)
}

fn initialize(kernel: &mut Plain, id: i64) -> RequestDecision {
    kernel.judge_request(&id.into(), Some(Method::Initialize), EraKind::Legacy)
}

fn open() -> Plain {
    let mut kernel = Plain::new(2, 2);
    assert!(matches!(initialize(&mut kernel, 0), RequestDecision::Open));
    kernel.handshake_succeeded();
    kernel
}

#[test]
fn before_the_handshake_only_ping_and_modern_requests_are_served() {
    let mut kernel = Plain::new(2, 2);
    let id = RequestId::from(1);
    assert!(is_refused(&kernel.judge_request(
        &id,
        Some(Method::ListTools),
        EraKind::Legacy
    )));
    assert!(matches!(
        kernel.judge_request(&id, Some(Method::Ping), EraKind::Legacy),
        RequestDecision::Pong
    ));
    assert!(matches!(
        kernel.judge_request(&id, Some(Method::ListTools), EraKind::Modern),
        RequestDecision::Serve
    ));
    assert!(matches!(
        kernel.judge_request(&id, Some(Method::Initialize), EraKind::Legacy),
        RequestDecision::Open
    ));
}

#[test]
fn a_burst_leaves_no_room_behind() {
    let mut kernel = Plain::new(2000, 2);
    for id in 0..2000 {
        kernel.begin_request(id.into(), "call").unwrap();
    }
    for id in 0..2000 {
        assert!(kernel.finish_request(&id.into()).is_some());
    }
    assert!(kernel.answering.capacity() <= MIN_CAPACITY);
}

#[test]
fn a_second_handshake_is_refused() {
    let mut kernel = Plain::new(2, 2);
    assert!(matches!(initialize(&mut kernel, 0), RequestDecision::Open));
    assert!(is_refused(&initialize(&mut kernel, 1)));
    kernel.handshake_succeeded();
    assert!(is_refused(&initialize(&mut kernel, 2)));
}

#[test]
fn requests_are_served_before_the_client_says_initialized() {
    let mut kernel = open();
    assert!(matches!(
        kernel.judge_request(&1.into(), Some(Method::ListTools), EraKind::Legacy),
        RequestDecision::Serve
    ));
}

#[test]
fn an_id_in_flight_is_refused_and_free_again_afterwards() {
    let mut kernel = open();
    assert!(kernel.begin_request(1.into(), "one").is_ok());
    assert!(kernel.begin_request(1.into(), "again").is_err());
    assert!(is_refused(&kernel.judge_request(
        &1.into(),
        None,
        EraKind::Legacy
    )));
    assert!(matches!(
        kernel.judge_request(&"1".into(), None, EraKind::Legacy),
        RequestDecision::Serve
    ));
    assert_eq!(kernel.finish_request(&1.into()), Some("one"));
    assert!(matches!(
        kernel.judge_request(&1.into(), None, EraKind::Legacy),
        RequestDecision::Serve
    ));
}

#[test]
fn requests_over_the_cap_are_refused_by_name_and_ping_is_not() {
    let mut kernel = open();
    kernel.begin_request(1.into(), "one").unwrap();
    kernel.begin_request(2.into(), "two").unwrap();
    match kernel.judge_request(&3.into(), None, EraKind::Legacy) {
        RequestDecision::Refuse(error) => assert!(error.message().contains("in_flight")),
        other => panic!("{other:?}"),
    }
    assert!(matches!(
        kernel.judge_request(&3.into(), Some(Method::Ping), EraKind::Legacy),
        RequestDecision::Pong
    ));
}

#[test]
fn a_cancelled_request_gets_no_answer_and_only_once() {
    let mut kernel = open();
    kernel.begin_request(1.into(), "one").unwrap();
    let id = RequestId::from(1);
    assert!(matches!(
        kernel.judge_notification(Some(Method::Cancelled), Some(&id)),
        NotificationDecision::Cancel("one")
    ));
    assert_eq!(kernel.in_flight(), 0);
    assert!(matches!(
        kernel.judge_notification(Some(Method::Cancelled), Some(&id)),
        NotificationDecision::Ignored
    ));
    assert_eq!(kernel.finish_request(&id), None);
    assert!(matches!(
        kernel.judge_notification(Some(Method::Cancelled), None),
        NotificationDecision::Ignored
    ));
}

#[test]
fn a_cancelled_request_keeps_its_place_until_its_handler_ends() {
    let mut kernel = open();
    kernel.begin_request(1.into(), "one").unwrap();
    kernel.begin_request(2.into(), "two").unwrap();
    let id = RequestId::from(1);
    kernel.judge_notification(Some(Method::Cancelled), Some(&id));
    assert_eq!(kernel.running_requests().collect::<Vec<_>>(), [&"two"]);
    assert!(is_refused(&kernel.judge_request(
        &id,
        None,
        EraKind::Legacy
    )));
    assert!(matches!(
        kernel.judge_request(&3.into(), None, EraKind::Legacy),
        RequestDecision::Refuse(_)
    ));
    kernel.finish_request(&id);
    assert!(matches!(
        kernel.judge_request(&id, None, EraKind::Legacy),
        RequestDecision::Serve
    ));
}

#[test]
fn initialized_counts_once_and_only_after_the_answer() {
    let mut kernel = Plain::new(1, 1);
    assert!(matches!(
        kernel.judge_notification(Some(Method::Initialized), None),
        NotificationDecision::Ignored
    ));
    assert!(matches!(initialize(&mut kernel, 0), RequestDecision::Open));
    kernel.handshake_succeeded();
    assert!(matches!(
        kernel.judge_notification(Some(Method::Initialized), None),
        NotificationDecision::Initialized
    ));
    assert!(matches!(
        kernel.judge_notification(Some(Method::Initialized), None),
        NotificationDecision::Ignored
    ));
}

#[test]
fn our_own_ids_never_repeat_and_an_answer_counts_once() {
    let mut kernel = open();
    let first = kernel.start_request("a").unwrap();
    assert_eq!(kernel.take_waiting(Some(&first)), Some("a"));
    assert_eq!(kernel.take_waiting(Some(&first)), None);
    assert_eq!(kernel.take_waiting(None), None);
    let second = kernel.start_request("b").unwrap();
    assert_ne!(first, second);
    kernel.start_request("c").unwrap();
    assert_eq!(
        kernel.start_request("d"),
        Err(OutgoingRequestError::TooMany)
    );
}

#[test]
fn the_end_leaves_nothing() {
    let mut kernel = open();
    kernel.begin_request(1.into(), "one").unwrap();
    kernel.start_request("a").unwrap();
    assert_eq!(kernel.end(), (vec!["one"], vec!["a"]));
    assert_eq!((kernel.in_flight(), kernel.end()), (0, (vec![], vec![])));
    assert!(kernel.begin_request(1.into(), "late").is_err());
    assert_eq!(
        kernel.start_request("late"),
        Err(OutgoingRequestError::Ended)
    );
}

#[test]
fn memory_of_ended_requests_is_given_back() {
    let mut kernel = open();
    kernel.begin_request(7.into(), "call").unwrap();
    kernel.shrink();
    assert_eq!(kernel.in_flight(), 1, "it runs");
    assert_eq!(kernel.finish_request(&7.into()), Some("call"));
    assert!(kernel.answering.capacity() > 0, "for the next request");
    kernel.shrink();
    assert_eq!(kernel.answering.capacity(), 0);
    // A client that has concluded the handshake may only wait from then on.
    let mut kernel = open();
    kernel.begin_request(7.into(), "initialize").unwrap();
    kernel.finish_request(&7.into());
    let initialized = kernel.judge_notification(Some(Method::Initialized), None);
    assert!(matches!(initialized, NotificationDecision::Initialized));
    assert_eq!(kernel.answering.capacity(), 0);
}
