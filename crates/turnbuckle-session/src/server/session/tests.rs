use std::sync::Mutex;

use tokio::sync::Notify;
use tokio::sync::futures::Notified;
use turnbuckle_types::{
    ClientCapabilities, Implementation, ListCapability, LoggingLevel, ResourcesCapability,
    ServerCapabilities, Settings,
};
use turnbuckle_wire::era::{Params, Reply};
use turnbuckle_wire::revision::Revision;
use turnbuckle_wire::rpc;

use super::*;
use crate::server::context::RequestContext;
use crate::server::dispatch::{Dispatch, RestoredSubscriptions, ServerIdentity};
use crate::server::endpoint::ServerEndpoint;
use crate::server::foreign_messages::{ForeignMessage, ForeignMessages};
use crate::server::inbound_frame::InboundFrame;
use crate::shared::incoming::{HandlerOutcome, IncomingRequest};
use crate::shared::reply_sink::QueueFull;

/// A server that counts the sessions that were opened and keeps the subscriptions that were restored.
struct Recorder {
    identity: ServerIdentity,
    opened: Mutex<usize>,
    restored: Mutex<Vec<[Vec<Box<str>>; 2]>>,
}

impl Recorder {
    fn new() -> Arc<Self> {
        let mut capabilities = ServerCapabilities::new();
        capabilities.logging = Some(Settings::new());
        capabilities.tools = Some(ListCapability::new().list_changed(true));
        let resources = ResourcesCapability::new();
        capabilities.resources = Some(resources.list_changed(true).subscribe(true));
        Arc::new(Self {
            identity: ServerIdentity {
                info: Implementation::new("s", "1"),
                capabilities,
                instructions: None,
                include_in_results: false,
                ttl_ms: 0,
                public: false,
            },
            opened: Mutex::default(),
            restored: Mutex::default(),
        })
    }
}

impl Dispatch for Recorder {
    fn identity(&self) -> &ServerIdentity {
        &self.identity
    }

    fn call(&self, _: IncomingRequest<'_>, _: RequestContext) -> HandlerOutcome {
        Reply::complete(turnbuckle_types::EmptyResult::new()).into()
    }

    fn session_opened(&self, _: &Peer) {
        *self.opened.lock().unwrap() += 1;
    }

    fn restore_subscriptions(&self, _: &Peer, restored: RestoredSubscriptions<'_>) {
        let change = [restored.added.to_vec(), restored.removed.to_vec()];
        self.restored.lock().unwrap().push(change);
    }
}

/// A sink that keeps the messages.
#[derive(Default)]
struct Sent(Mutex<Vec<String>>, Notify);

impl ReplySink for Sent {
    fn send(&self, frame: Vec<u8>) -> Result<(), QueueFull> {
        self.0
            .lock()
            .unwrap()
            .push(String::from_utf8(frame).unwrap());
        Ok(())
    }

    fn wait_for_space(&self) -> Notified<'_> {
        self.1.notified()
    }

    fn finish(&self, _: Option<EncodedResponse>) {}
}

fn record(initialized: bool, resources: &[&str]) -> SessionRecord {
    let mut capabilities = ClientCapabilities::new();
    capabilities.roots = Some(turnbuckle_types::RootsCapability::new().list_changed(true));
    SessionRecord {
        revision: Revision::NEWEST_LEGACY,
        capabilities,
        client_info: None,
        log_level: LoggingLevel::Error,
        initialized,
        owner: None,
        resources: resources.iter().map(|uri| Box::from(*uri)).collect(),
        change_position: None,
        unsaved_since: None,
    }
}

fn restore_session(
    server: &Arc<Recorder>,
    has_memory: bool,
    record: &SessionRecord,
) -> Arc<Session> {
    let endpoint = ServerEndpoint::new(server.clone(), Limits::new());
    let (account, sink) = (endpoint.new_account(), Arc::new(Sent::default()));
    endpoint.restore_session(account, sink, has_memory, record)
}

/// Passes a message to a session, and returns the response and what was foreign.
fn receive(session: &Arc<Session>, text: &str) -> (Option<String>, Vec<ForeignMessage>) {
    let frame = Bytes::copy_from_slice(text.as_bytes());
    let foreign = ForeignMessages::default();
    let inbound = InboundFrame {
        frame: &frame,
        text,
        transport: &TransportContext::default(),
        headers: None,
        account: None,
        foreign: Some(&foreign),
    };
    let sink: Arc<dyn ReplySink> = Arc::new(Sent::default());
    let outcome = match text.starts_with('[') {
        true => session.receive_batch(inbound, &sink),
        false => {
            let message = rpc::decode::<Params<'_>>(text).unwrap();
            session.receive(message, None, inbound, &sink)
        }
    };
    let response = match outcome {
        MessageOutcome::Response(response) => {
            Some(String::from_utf8(response.into_bytes()).unwrap())
        }
        MessageOutcome::NoResponse => None,
        MessageOutcome::Pending => panic!("no handler waits"),
    };
    (response, foreign.take())
}

const INSTANCE: &str = "k3f9x2aq";

fn cancellation(id: &str) -> String {
    let params = format!(r#"{{"requestId":{id}}}"#);
    format!(r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{params}}}"#)
}

fn response(id: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":"{id}","result":{{}}}}"#)
}

#[test]
fn a_restored_session_serves_requests_and_knows_its_client() {
    let server = Recorder::new();
    let session = restore_session(&server, true, &record(true, &["a:1"]));
    let list = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    let answer = receive(&session, list).0.unwrap();
    assert!(answer.contains("\"result\""), "{answer}");
    let again = r#"{"jsonrpc":"2.0","id":2,"method":"initialize","params":{}}"#;
    let refused = receive(&session, again).0.unwrap();
    assert!(refused.contains("initialized already"), "{refused}");
    assert_eq!(
        session.legacy().unwrap().to_record(None),
        record(true, &["a:1"])
    );
    assert_eq!(*server.opened.lock().unwrap(), 1);
    let expected = [vec![Box::from("a:1")], vec![]];
    assert_eq!(*server.restored.lock().unwrap(), [expected]);
}

#[test]
fn changes_of_a_client_are_counted_once_the_session_is_shared() {
    let server = Recorder::new();
    let session = restore_session(&server, true, &record(false, &[]));
    let legacy = session.legacy().unwrap();
    legacy.set_log_level(LoggingLevel::Debug);
    assert_eq!(legacy.changes(), 0, "nobody else serves it");
    session.share(&INSTANCE.into());
    receive(
        &session,
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
    );
    legacy.set_log_level(LoggingLevel::Warning);
    legacy.resource_subscribed("a:1");
    legacy.resource_subscribed("a:1");
    legacy.resource_unsubscribed("b:1");
    assert_eq!(legacy.changes(), 3);
    let roots = r#"{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}"#;
    let version = legacy.roots_cache().unwrap().version();
    receive(&session, roots);
    assert_eq!(legacy.changes(), 4);
    session.clear_roots();
    assert_eq!(legacy.changes(), 4, "another instance counted it");
    assert_eq!(legacy.roots_cache().unwrap().version(), version + 2);
    let record = legacy.to_record(None);
    assert_eq!((record.initialized, record.resources.len()), (true, 1));
    assert_eq!(record.log_level, LoggingLevel::Warning);
}

#[test]
fn a_session_takes_over_what_another_instance_recorded() {
    let server = Recorder::new();
    let session = restore_session(&server, true, &record(false, &["a:1", "b:1"]));
    session.share(&INSTANCE.into());
    session.apply_record(&record(true, &["b:1", "c:1"]), None);
    let legacy = session.legacy().unwrap();
    assert!(legacy.is_initialized());
    assert_eq!(
        legacy.changes(),
        0,
        "a change of another instance is none here"
    );
    let last = server.restored.lock().unwrap().last().cloned().unwrap();
    assert_eq!(last, [vec![Box::from("c:1")], vec![Box::from("a:1")]]);
}

#[test]
fn messages_that_another_instance_waits_for_are_collected() {
    let server = Recorder::new();
    let session = restore_session(&server, true, &record(true, &[]));
    session.share(&INSTANCE.into());
    let foreign = response("abcdefgh.7");
    let expected = ForeignMessage::Response {
        instance: "abcdefgh".into(),
        frame: foreign.clone().into(),
    };
    assert_eq!(receive(&session, &foreign).1, [expected]);
    for own in ["k3f9x2aq.7", "7", "x.y"] {
        assert_eq!(receive(&session, &response(own)).1, [], "{own}");
    }
    let frame = Bytes::from(cancellation("9"));
    let found = receive(&session, &cancellation("9")).1;
    assert_eq!(found, [ForeignMessage::Cancellation { frame }]);
    let unnamed = r#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#;
    assert_eq!(receive(&session, unnamed).1, []);
}

#[test]
fn messages_of_a_batch_are_collected_too() {
    let server = Recorder::new();
    let batching = Revision::ALL.iter().find(|it| it.features().batching);
    let record = SessionRecord {
        revision: *batching.unwrap(),
        ..record(true, &[])
    };
    let session = restore_session(&server, true, &record);
    session.share(&INSTANCE.into());
    let batch = format!("[{},{}]", response("abcdefgh.7"), cancellation("3"));
    assert_eq!(receive(&session, &batch).1.len(), 2);
}

#[tokio::test]
async fn requests_to_the_client_of_a_shared_session_name_the_instance() {
    let server = Recorder::new();
    let endpoint = ServerEndpoint::new(server, Limits::new());
    let sent = Arc::new(Sent::default());
    let account = endpoint.new_account();
    let session = endpoint.restore_session(account, sent.clone(), true, &record(true, &[]));
    session.share(&INSTANCE.into());
    let peer = session.peer();
    let asked = tokio::spawn(async move { peer.request::<()>("roots/list", None).await });
    tokio::task::yield_now().await;
    let request = sent.0.lock().unwrap().pop().unwrap();
    let request: serde_json::Value = serde_json::from_str(&request).unwrap();
    let id = request["id"].as_str().unwrap();
    assert!(id.starts_with("k3f9x2aq."), "{id}");
    receive(&session, &response(id));
    assert!(asked.await.unwrap().is_ok());
    assert_eq!(session.state.kernel().waiting_ids().count(), 0);
}

#[test]
fn a_client_of_a_session_without_memory_is_offered_nothing_that_needs_it() {
    let server = Recorder::new();
    let endpoint = ServerEndpoint::new(server.clone(), Limits::new());
    let (account, sink) = (endpoint.new_account(), Arc::new(Sent::default()));
    let session = endpoint.new_session(account, sink, false);
    let revision = Revision::NEWEST_LEGACY;
    let params = format!(
        r#"{{"protocolVersion":"{revision}","capabilities":{{"roots":{{}}}},"clientInfo":{{"name":"c","version":"1"}}}}"#,
    );
    let text = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"initialize","params":{params}}}"#);
    let answer = receive(&session, &text).0.unwrap();
    for absent in ["logging", "listChanged", "subscribe"] {
        assert!(!answer.contains(absent), "{absent}: {answer}");
    }
    assert!(answer.contains("\"tools\""), "{answer}");
    let legacy = session.legacy().unwrap();
    assert!(!legacy.can_be_asked() && legacy.capabilities().roots.is_some());
    assert_eq!(*server.opened.lock().unwrap(), 0);
}
