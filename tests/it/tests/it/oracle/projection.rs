//! Everything that is sent, to every revision that has it, against that revision's schema.

use std::fmt::Debug;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use turnbuckle_check::oracle::{Oracle, Sender};
use turnbuckle_types::method::{Notification, Request};
use turnbuckle_types::{ErrorKind, InputRequiredResult, method as m};
use turnbuckle_wire::definitions::JsonSchema;
use turnbuckle_wire::era::{Project, ProjectedResult, Reply, write_reply};
use turnbuckle_wire::revision::{EraKind, Method, Party, Revision};
use turnbuckle_wire::rpc;

use super::alone::each_member_alone;
use super::samples::{self, UNKNOWN};

/// A message as it was encoded for one revision.
struct Sent {
    revision: Revision,
    sender: Sender,
    message: Value,
    answers: Option<&'static str>,
}

/// Calls a generic function with the request type of a method.
macro_rules! with_request {
    ($method:expr, $run:ident($($arg:expr),*)) => {
        with_request!(@match $method, $run($($arg),*),
            Initialize Ping Discover ListTools CallTool ListResources ListResourceTemplates
            ReadResource Subscribe Unsubscribe ListPrompts GetPrompt Complete SetLevel
            SubscriptionsListen
            CreateMessage Elicit ListRoots
            LegacyGetTask TaskResult ListTasks LegacyCancelTask)
    };
    (@match $method:expr, $run:ident $args:tt, $($Request:ident)+) => {
        match $method {
            $(m::$Request::METHOD => with_request!(@call $run, $Request, $args),)+
            other => panic!("no request {other}"),
        }
    };
    (@call $run:ident, $Request:ident, ($($arg:expr),*)) => { $run::<m::$Request>($($arg),*) };
}

macro_rules! with_notification {
    ($method:expr, $run:ident($($arg:expr),*)) => {
        with_notification!(@match $method, $run($($arg),*),
            Initialized Cancelled Progress LoggingMessage ToolListChanged PromptListChanged
            ResourceListChanged ResourceUpdated RootsListChanged SubscriptionsAcknowledged
            ElicitationComplete TaskStatusNotification)
    };
    (@match $method:expr, $run:ident $args:tt, $($Notification:ident)+) => {
        match $method {
            $(m::$Notification::METHOD => with_notification!(@call $run, $Notification, $args),)+
            other => panic!("no notification {other}"),
        }
    };
    (@call $run:ident, $Notification:ident, ($($arg:expr),*)) => {
        $run::<m::$Notification>($($arg),*)
    };
}

fn decode<T: DeserializeOwned>(value: &Value) -> T {
    serde_json::from_str(&value.to_string()).unwrap_or_else(|error| panic!("{error}: {value}"))
}

/// Returns the revisions in which a message exists, with its sender.
fn reaching(method: &str) -> impl Iterator<Item = (Revision, Sender)> {
    let method = Method::parse(method).unwrap();
    Revision::ALL.into_iter().flat_map(move |revision| {
        [
            (Party::Server, Sender::Client),
            (Party::Client, Sender::Server),
        ]
        .into_iter()
        .filter(move |(receiver, _)| method.is_received_by(*receiver, revision))
        .map(move |(_, sender)| (revision, sender))
    })
}

fn opposite(sender: Sender) -> Sender {
    match sender {
        Sender::Client => Sender::Server,
        Sender::Server => Sender::Client,
    }
}

fn encode_reply(revision: Revision, reply: &Reply) -> Value {
    let mut out = Vec::new();
    let info = br#"{"name":"s","version":"1"}"#;
    write_reply(&mut out, &1.into(), reply, revision.features(), Some(info));
    serde_json::from_slice(&out).unwrap()
}

fn send_result<R: Request>(result: &Value, sent: &mut Vec<Sent>)
where
    R::Result: Project + Clone,
{
    for (revision, asker) in reaching(R::METHOD) {
        let mut older = decode::<R::Result>(result);
        let reply = Reply::complete(older.clone());
        older.project(revision.features());
        assert!(older.fits(revision.features()), "{revision}: {result}");
        let message = encode_reply(revision, &reply);
        let sender = opposite(asker);
        sent.push(Sent {
            revision,
            sender,
            message,
            answers: Some(R::METHOD),
        });
    }
}

/// Returns the parameters projected for a revision, as its sender does.
fn project_params<P: Project + Serialize + DeserializeOwned>(
    params: &Value,
    revision: Revision,
) -> P {
    let mut params = decode::<P>(params);
    let features = revision.features();
    if !params.fits(features) {
        params.project(features);
        assert!(
            params.fits(features),
            "{revision}: {:?}",
            serde_json::to_string(&params)
        );
    }
    params
}

fn send_request<R: Request>(params: &Value, sent: &mut Vec<Sent>)
where
    R::Params: Project,
{
    for (revision, sender) in reaching(R::METHOD) {
        let params = project_params::<R::Params>(params, revision);
        let frame = rpc::encode_request(&7.into(), R::METHOD, Some(&params), &[]).unwrap();
        let message = serde_json::from_slice(&frame).unwrap();
        sent.push(Sent {
            revision,
            sender,
            message,
            answers: None,
        });
    }
}

fn send_notification<N: Notification>(params: &Value, sent: &mut Vec<Sent>)
where
    N::Params: Project,
{
    for (revision, sender) in reaching(N::METHOD) {
        let params = project_params::<N::Params>(params, revision);
        let frame = rpc::encode_notification(N::METHOD, Some(&params)).unwrap();
        let message = serde_json::from_slice(&frame).unwrap();
        sent.push(Sent {
            revision,
            sender,
            message,
            answers: None,
        });
    }
}

/// Sends a question to a client, to every revision that can be asked it, and says which those are.
fn send_question<R: Request>(params: &Value, sent: &mut Vec<Sent>) -> Vec<Revision>
where
    R::Params: Project,
{
    let mut asked = Vec::new();
    for (revision, sender) in reaching(R::METHOD) {
        match decode::<R::Params>(params).check_expressible(revision.features()) {
            Err(error) => {
                assert!(matches!(
                    error.kind(),
                    ErrorKind::MissingRequiredClientCapability(_)
                ));
                continue;
            }
            Ok(()) => asked.push(revision),
        }
        let params = project_params::<R::Params>(params, revision);
        let frame = rpc::encode_request(&7.into(), R::METHOD, Some(&params), &[]).unwrap();
        let message = serde_json::from_slice(&frame).unwrap();
        sent.push(Sent {
            revision,
            sender,
            message,
            answers: None,
        });
    }
    asked
}

fn all_samples() -> Vec<Sent> {
    let mut sent = Vec::new();
    for (method, result) in samples::results() {
        with_request!(method, send_result(&result, &mut sent));
    }
    for (method, params) in samples::requests() {
        with_request!(method, send_request(&params, &mut sent));
    }
    for (method, params) in samples::notifications() {
        with_notification!(method, send_notification(&params, &mut sent));
    }
    for params in [samples::form(), samples::form_of_several(), samples::url()] {
        send_question::<m::Elicit>(&params, &mut sent);
    }
    for params in [samples::question(), samples::question_with_tools()] {
        send_question::<m::CreateMessage>(&params, &mut sent);
    }
    send_question::<m::ListRoots>(&json!({"_meta": {"progressToken": 1}}), &mut sent);
    for revision in Revision::modern() {
        let required = decode::<InputRequiredResult>(&samples::input_required());
        let reply = Reply::InputRequired(Box::new(ProjectedResult(required)));
        let message = encode_reply(revision, &reply);
        sent.push(Sent {
            revision,
            sender: Sender::Server,
            message,
            answers: Some("tools/call"),
        });
    }
    sent
}

/// Returns the messages that break the schema of their revision, with the violations.
fn faults_of(oracle: &Oracle, sent: &[Sent]) -> Vec<String> {
    let mut faults = Vec::new();
    for Sent {
        revision,
        sender,
        message,
        answers,
    } in sent
    {
        if let Err(found) = oracle.check_message(*revision, *sender, message, *answers) {
            faults.push(format!("{revision} {message}\n  {}", found.join("\n  ")));
        }
    }
    faults
}

#[test]
fn every_message_is_one_of_its_revision() {
    let oracle = Oracle::load();
    let sent = all_samples();
    for method in Method::ALL {
        let name = method.as_str();
        let tried = sent.iter().any(|sent| sent.message["method"] == name);
        let inside = samples::input_required().to_string().contains(name);
        assert!(tried || inside, "no sample of {name}");
    }
    let faults = faults_of(&oracle, &sent);
    assert!(
        faults.is_empty(),
        "{} faults:\n{}",
        faults.len(),
        faults.join("\n")
    );
}

#[test]
fn every_message_is_one_of_our_own_schema() {
    let schemas = Revision::ALL.map(|revision| {
        let schema = JsonSchema::for_revision(revision).to_string();
        serde_json::from_str(&schema).unwrap()
    });
    let oracle = Oracle::with_schemas(schemas);
    let faults = faults_of(&oracle, &all_samples());
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn names_that_no_schema_knows_reach_every_reader() {
    for Sent {
        revision, message, ..
    } in all_samples()
    {
        let body = message.get("result").or(message.get("params")).unwrap();
        let asks = message["method"] == "elicitation/create"
            || message["method"] == "sampling/createMessage"
            || message["method"] == "roots/list"
            || body["resultType"] == "input_required";
        if !asks {
            assert_eq!(
                body[UNKNOWN],
                json!({"kept": 1.50}),
                "{revision}: {message}"
            );
        }
    }
}

#[test]
fn the_samples_use_every_name_of_the_vocabulary() {
    let oracle = Oracle::load();
    let sent = all_samples();
    for revision in Revision::ALL {
        let of = sent.iter().filter(|sent| sent.revision == revision);
        let untried = oracle
            .unused_names(
                revision,
                of.map(|sent| (sent.sender, &sent.message, sent.answers)),
            )
            .unwrap();
        let left: Vec<_> = untried.iter().filter(|name| !is_left_out(name)).collect();
        assert!(left.is_empty(), "{revision}: {left:#?}");
    }
}

/// Returns whether a name is deliberately not covered: members that only a schema written by an author
/// would have.
fn is_left_out(name: &str) -> bool {
    name.contains("Schema/") && !name.contains("requestedSchema/")
}

#[test]
fn a_question_is_only_put_where_it_can_be_asked_whole() {
    let asked = |params: Value| send_question::<m::Elicit>(&params, &mut Vec::new());
    assert_eq!(
        asked(samples::form()),
        [Revision::V2025_06_18, Revision::NEWEST_LEGACY]
    );
    assert_eq!(asked(samples::form_of_several()), [Revision::NEWEST_LEGACY]);
    assert_eq!(asked(samples::url()), [Revision::NEWEST_LEGACY]);

    let asked = |params: Value| send_question::<m::CreateMessage>(&params, &mut Vec::new());
    assert_eq!(asked(samples::question()).len(), 4);
    assert_eq!(
        asked(samples::question_with_tools()),
        [Revision::NEWEST_LEGACY]
    );
}

/// Returns whether a value is one of the type, without a part that the vocabulary does not know.
fn is_a<T: DeserializeOwned + Debug>(value: &Value) -> bool {
    serde_json::from_str::<T>(&value.to_string())
        .is_ok_and(|typed| !format!("{typed:?}").contains("Unknown"))
}

/// Asserts that the value reports a fit exactly where its projection changes nothing.
fn assert_fits_where_nothing_changes<T>(value: &Value, method: &str)
where
    T: Project + Serialize + DeserializeOwned,
{
    for (revision, _) in reaching(method) {
        let mut typed = decode::<T>(value);
        let before = serde_json::to_value(&typed).unwrap();
        let fits = typed.fits(revision.features());
        typed.project(revision.features());
        let after = serde_json::to_value(&typed).unwrap();
        assert_eq!(
            fits,
            before == after,
            "{revision} {method}: {value}\n{after}"
        );
    }
}

/// Sends messages to the legacy revisions, which lack something of the newest and need no envelope.
fn send_alone(sent: &mut Vec<Sent>, send: impl FnOnce(&mut Vec<Sent>)) {
    let mut messages = Vec::new();
    send(&mut messages);
    let is_legacy = |sent: &Sent| sent.revision.features().era == EraKind::Legacy;
    sent.extend(messages.into_iter().filter(is_legacy));
}

fn send_results_alone<R: Request>(result: &Value, sent: &mut Vec<Sent>)
where
    R::Result: Project + Clone + Debug,
{
    for result in each_member_alone(result, &is_a::<R::Result>) {
        assert_fits_where_nothing_changes::<R::Result>(&result, R::METHOD);
        send_alone(sent, |sent| send_result::<R>(&result, sent));
    }
}

fn send_requests_alone<R: Request>(params: &Value, sent: &mut Vec<Sent>)
where
    R::Params: Project + Debug,
{
    for params in each_member_alone(params, &is_a::<R::Params>) {
        assert_fits_where_nothing_changes::<R::Params>(&params, R::METHOD);
        send_alone(sent, |sent| send_request::<R>(&params, sent));
    }
}

fn send_notifications_alone<N: Notification>(params: &Value, sent: &mut Vec<Sent>)
where
    N::Params: Project + Debug,
{
    for params in each_member_alone(params, &is_a::<N::Params>) {
        assert_fits_where_nothing_changes::<N::Params>(&params, N::METHOD);
        send_alone(sent, |sent| send_notification::<N>(&params, sent));
    }
}

fn send_questions_alone<R: Request>(params: &Value, sent: &mut Vec<Sent>)
where
    R::Params: Project + Debug,
{
    for params in each_member_alone(params, &is_a::<R::Params>) {
        assert_fits_where_nothing_changes::<R::Params>(&params, R::METHOD);
        send_question::<R>(&params, sent);
    }
}

/// In a message with everything, one member that a revision lacks hides another that is not looked
/// at: the message is projected for the first, and the second goes with it.
#[test]
fn every_block_and_every_member_alone_is_one_of_its_revision() {
    let oracle = Oracle::load();
    let mut sent = Vec::new();
    for (method, result) in samples::results() {
        with_request!(method, send_results_alone(&result, &mut sent));
    }
    for (method, params) in samples::requests() {
        with_request!(method, send_requests_alone(&params, &mut sent));
    }
    for (method, params) in samples::notifications() {
        with_notification!(method, send_notifications_alone(&params, &mut sent));
    }
    for params in [samples::form(), samples::form_of_several(), samples::url()] {
        send_questions_alone::<m::Elicit>(&params, &mut sent);
    }
    for params in [samples::question(), samples::question_with_tools()] {
        send_questions_alone::<m::CreateMessage>(&params, &mut sent);
    }
    let required = samples::input_required();
    for required in each_member_alone(&required, &is_a::<InputRequiredResult>) {
        for revision in Revision::modern() {
            let required = decode::<InputRequiredResult>(&required);
            let reply = Reply::InputRequired(Box::new(ProjectedResult(required)));
            sent.push(Sent {
                revision,
                sender: Sender::Server,
                message: encode_reply(revision, &reply),
                answers: Some("tools/call"),
            });
        }
    }
    assert!(sent.len() > 2000, "only {} messages", sent.len());
    let faults = faults_of(&oracle, &sent);
    assert!(
        faults.is_empty(),
        "{} faults of {}:\n{}",
        faults.len(),
        sent.len(),
        faults.join("\n")
    );
}
