//! Standalone streams of sessions: who comes back, to any instance, is told what has changed meanwhile.

use std::time::Duration;

use serde_json::{Value, json};
use turnbuckle_it::faulty_store::Fault;
use turnbuckle_it::web::{Events, Session, Web, sessions};
use turnbuckle_server::Server;
use turnbuckle_store::{MemoryStore, StoreErrorKind};
use turnbuckle_wire::revision::Revision;

use super::{BACK, Instance, PROMPTS, RESOURCES, SOON, TOOLS, UPDATED, add_prompt, instance};

/// A standalone stream, and the id of the last event that its client has received.
pub(super) struct Listener {
    events: Events,
    last_id: Option<String>,
}

impl Listener {
    pub(super) async fn open(session: &Session) -> Self {
        let events = session.get().events().await;
        Self {
            events,
            last_id: None,
        }
    }

    /// Comes back after the last event.
    async fn resume(self, session: &Session) -> Self {
        let last_id = self.last_id.clone().expect("an event");
        drop(self.events);
        Self {
            events: session.resume(&last_id).events().await,
            last_id: Some(last_id),
        }
    }

    /// Returns the messages that arrive within a time.
    async fn messages(&mut self, time: Duration) -> Vec<Value> {
        let events = self.events.within(time).await;
        let mut messages = Vec::new();
        for event in events.into_iter().flatten() {
            messages.extend(event.message());
            self.last_id = event.id.or(self.last_id.take());
        }
        messages
    }

    /// Returns the methods of the messages that arrive within a time.
    pub(super) async fn methods(&mut self, time: Duration) -> Vec<String> {
        let messages = self.messages(time).await;
        let methods = messages.iter().map(|it| it["method"].as_str().unwrap());
        methods.map(str::to_owned).collect()
    }
}

pub(super) fn webs(instances: &[Instance]) -> Vec<Web> {
    instances.iter().map(|it| Web::new(&it.server)).collect()
}

pub(super) async fn subscribe(session: &Session) {
    let uri = json!({"uri": "r:1"});
    let (status, _) = session.request(1, "resources/subscribe", &uri).json().await;
    assert_eq!(status, 200);
}

#[tokio::test(start_paused = true)]
async fn who_comes_back_anywhere_is_told_once_what_changed_meanwhile() {
    for revision in sessions() {
        let store = MemoryStore::new();
        let instances = [instance(&store), instance(&store)];
        let webs = webs(&instances);
        let at_one = webs[0].open(revision).await;
        let at_two = at_one.with_web(&webs[1]);
        subscribe(&at_one).await;
        let mut listener = Listener::open(&at_one).await;
        instances[0].server.notify_tools_changed();
        assert_eq!(listener.methods(SOON).await, [TOOLS], "{revision}");
        // While the client is away.
        let servers = || instances.iter().map(|it| &it.server);
        let mut listener = {
            let away = Listener {
                events: webs[0].open(revision).await.get().events().await,
                ..listener
            };
            servers().for_each(|server| server.notify_resource_updated("r:1"));
            servers().for_each(|server| server.notify_resource_updated("r:2"));
            add_prompt(&instances[1].server);
            tokio::time::sleep(SOON).await;
            away.resume(&at_two).await
        };
        assert_eq!(
            listener.methods(SOON).await,
            [UPDATED, PROMPTS],
            "{revision}"
        );
        // It goes on there.
        servers().for_each(Server::notify_tools_changed);
        let mut methods = listener.methods(SOON).await;
        methods.dedup();
        assert_eq!(methods, [TOOLS], "{revision}");
        // And back, with nothing new, and something new after that.
        let mut listener = listener.resume(&at_one).await;
        assert_eq!(listener.methods(SOON).await, [""; 0], "{revision}");
        instances[1].server.notify_resource_updated("r:1");
        assert_eq!(listener.methods(SOON).await, [UPDATED], "{revision}");
        let mut listener = listener.resume(&at_one).await;
        assert_eq!(listener.methods(SOON).await, [""; 0], "{revision}");
    }
}

#[tokio::test(start_paused = true)]
async fn who_comes_back_without_an_id_is_told_once_what_changed_meanwhile() {
    for revision in sessions() {
        let store = MemoryStore::new();
        let instances = [instance(&store), instance(&store), instance(&store)];
        let webs = webs(&instances);
        // The instances have read the log.
        tokio::time::sleep(SOON).await;
        let at_one = webs[0].open(revision).await;
        subscribe(&at_one).await;
        let at = [
            at_one.clone(),
            at_one.with_web(&webs[1]),
            at_one.with_web(&webs[2]),
        ];
        // Before the first stream, which is opened at an instance that does not know the session.
        instances[0].server.notify_tools_changed();
        tokio::time::sleep(SOON).await;
        let mut told = TOOLS;
        for (round, session) in at.iter().cycle().skip(1).take(6).enumerate() {
            let mut listener = Listener::open(session).await;
            assert_eq!(listener.methods(SOON).await, [told], "{revision} {round}");
            instances[round % 3].server.notify_tools_changed();
            assert_eq!(listener.methods(SOON).await, [TOOLS], "{revision}");
            drop(listener);
            tokio::time::sleep(SOON).await;
            instances[round % 3].server.notify_resource_updated("r:1");
            tokio::time::sleep(SOON).await;
            told = UPDATED;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_cut_between_two_changes_neither_loses_nor_doubles_one() {
    for revision in sessions() {
        let store = MemoryStore::new();
        let instances = [instance(&store), instance(&store)];
        let webs = webs(&instances);
        let session = webs[0].open(revision).await;
        subscribe(&session).await;
        let mut listener = Listener::open(&session).await;
        instances[0].server.notify_tools_changed();
        listener.methods(SOON).await;
        for round in 0..6 {
            let server = &instances[round % 2].server;
            server.notify_tools_changed();
            server.notify_resource_updated("r:1");
            add_prompt(server);
            tokio::time::sleep(SOON).await;
            // The client receives a few of three, and comes back to the other instance.
            let mut methods = Vec::new();
            for _ in 0..round % 4 {
                let (event, message) = listener.events.next_message().await.expect("a change");
                listener.last_id = event.id;
                methods.push(message["method"].as_str().unwrap().to_owned());
            }
            listener = listener
                .resume(&session.with_web(&webs[(round + 1) % 2]))
                .await;
            methods.extend(listener.methods(SOON).await);
            assert_eq!(methods, [TOOLS, UPDATED, PROMPTS], "{revision} {round}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_position_that_is_not_known_means_that_everything_may_have_changed() {
    for revision in sessions() {
        let store = MemoryStore::new();
        let instances = [instance(&store), instance(&store)];
        let webs = webs(&instances);
        let session = webs[0].open(revision).await;
        subscribe(&session).await;
        let mut listener = Listener::open(&session).await;
        instances[0].server.notify_tools_changed();
        listener.methods(SOON).await;
        let known = listener.last_id.clone().unwrap();
        let (position, stream) = known.split_once('.').unwrap();
        let (number, mark) = position.split_once('_').unwrap();
        let other_mark = format!("{:08x}", !u32::from_str_radix(mark, 16).unwrap());
        for unknown in [
            format!("{number}_{other_mark}.{stream}"),
            format!("c99999_{mark}.{stream}"),
            format!("c0_00000000.{stream}"),
            format!("c{}_{mark}.{stream}", u64::MAX),
        ] {
            listener.last_id = Some(unknown.clone());
            listener = listener.resume(&session.with_web(&webs[1])).await;
            let methods = listener.methods(SOON).await;
            let everything = [TOOLS, PROMPTS, RESOURCES, UPDATED];
            assert_eq!(methods, everything, "{revision} {unknown}");
            // What was told is known from now on.
            listener = listener.resume(&session).await;
            assert_eq!(listener.methods(SOON).await, [""; 0], "{revision}");
        }
        for garbage in [
            format!("c.{stream}"),
            format!("{number}.{stream}"),
            format!("{position}.0-1"),
            format!("{position}.{position}.{stream}"),
            position.to_owned(),
        ] {
            let got = session.resume(&garbage).send().await;
            assert_eq!(got.status, 400, "{revision} {garbage}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn who_comes_back_to_a_new_instance_is_told_once_its_log_was_read() {
    for revision in sessions() {
        let store = MemoryStore::new();
        let one = instance(&store);
        let web = Web::new(&one.server);
        let session = web.open(revision).await;
        subscribe(&session).await;
        let mut listener = Listener::open(&session).await;
        one.server.notify_tools_changed();
        listener.methods(SOON).await;
        one.server.notify_resource_updated("r:1");
        tokio::time::sleep(SOON).await;
        // The new instance knows the session before it has read the log.
        let two = instance(&store);
        two.line
            .fail("read", Fault::Error(StoreErrorKind::Unavailable));
        let at_two = session.with_web(&Web::new(&two.server));
        drop((web, one));
        let mut listener = Listener {
            events: at_two
                .resume(&listener.last_id.clone().unwrap())
                .events()
                .await,
            ..listener
        };
        assert_eq!(listener.methods(SOON).await, [""; 0], "{revision}");
        two.line.heal();
        assert_eq!(listener.methods(BACK).await, [UPDATED], "{revision}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_message_of_no_request_reaches_the_instance_at_which_the_client_reads() {
    let store = MemoryStore::new();
    let instances = [instance(&store), instance(&store)];
    let webs = webs(&instances);
    // The instances have read the log.
    tokio::time::sleep(SOON).await;
    let at = [webs[0].open(Revision::NEWEST_LEGACY).await];
    let at = [at[0].clone(), at[0].with_web(&webs[1])];
    let complete = async |session: &Session| {
        let answer = session.call_tool(7, "complete", &json!({})).json().await;
        assert_eq!(answer.0, 200, "{answer:?}");
    };
    let completed = ["notifications/elicitation/complete"];
    // Nobody reads yet: the message waits for a reader.
    complete(&at[0]).await;
    let mut listener = Listener::open(&at[0]).await;
    assert_eq!(listener.methods(SOON).await, completed);
    complete(&at[1]).await;
    assert_eq!(
        listener.methods(SOON).await,
        completed,
        "the other instance"
    );
    let mut listener = listener.resume(&at[1]).await;
    assert_eq!(listener.methods(SOON).await, [""; 0]);
    for session in &at {
        complete(session).await;
        assert_eq!(listener.methods(SOON).await, completed, "after it moved");
    }
    let mut listener = listener.resume(&at[0]).await;
    assert_eq!(listener.methods(SOON).await, [""; 0], "nothing twice");
}
