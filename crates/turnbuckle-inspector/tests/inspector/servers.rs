//! Servers that an Inspector opens: in memory, scripted, over HTTP, and programs.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use turnbuckle_inspector::api::{
    Answer, AnswerAction, ConnectionState, Entry, InspectorState, ItemKind, OpenSource,
    RequestToSend, SendOutcome, ServerEntry, Step, TransportKind,
};
use turnbuckle_inspector::{
    BoxFuture, ClientSettings, ConnectionObserver, Filter, Inspector, InspectorLimits, OpenError,
    OpenServer, OpenedServer, ServerWords,
};
use turnbuckle_server::Server;
use turnbuckle_session::handler::{Limits, Signal};
use turnbuckle_session::transport::{
    Connector, Dispatch, TransportConnector, TransportContext, memory_pair, serve,
};

/// Makes a connector to a server, which ends with the signal.
pub(crate) type Connect =
    Box<dyn Fn(&ConnectionObserver, Signal) -> (Arc<dyn Connector>, TransportKind) + Send + Sync>;

/// Opens the same server again and again, each time on a connection of its own.
pub(crate) struct TestServers {
    connect: Connect,
    /// The signal that ends the last connection.
    stop: Mutex<Signal>,
    failure: Mutex<Option<OpenError>>,
    observer: Mutex<Option<ConnectionObserver>>,
    settings: ClientSettings,
}

impl TestServers {
    /// Ends the last connection, as a program that crashes does.
    pub(crate) fn crash(&self) {
        self.stop.lock().unwrap().cancel();
    }

    /// Returns the observer of the last connection.
    pub(crate) fn observer(&self) -> ConnectionObserver {
        self.observer.lock().unwrap().clone().unwrap()
    }

    pub(crate) fn fail_with(&self, failure: Option<OpenError>) {
        *self.failure.lock().unwrap() = failure;
    }
}

/// Connects to a server in memory.
pub(crate) fn in_memory(server: Server) -> Connect {
    Box::new(move |observer, stop| {
        observer.set_pid(42);
        observer.add_stderr(b"starting with key-12345");
        let (here, there) = memory_pair();
        let server: Arc<dyn Dispatch> = Arc::new(server.clone());
        let context = TransportContext::default();
        tokio::spawn(serve(server, there, Limits::default(), context, stop));
        (
            Arc::new(TransportConnector::new(here)),
            TransportKind::Program,
        )
    })
}

impl OpenServer for TestServers {
    fn servers(&self) -> Vec<ServerEntry> {
        Vec::new()
    }

    fn open<'a>(
        &'a self,
        _: &'a OpenSource,
        observer: ConnectionObserver,
    ) -> BoxFuture<'a, Result<OpenedServer, OpenError>> {
        *self.observer.lock().unwrap() = Some(observer.clone());
        let opened = match self.failure.lock().unwrap().clone() {
            Some(failure) => Err(failure),
            None => {
                let stop = Signal::new();
                *self.stop.lock().unwrap() = stop.clone();
                let (connector, transport) = (self.connect)(&observer, stop);
                Ok(OpenedServer {
                    name: "memory".into(),
                    address: connector.description(),
                    connector,
                    transport,
                    words: ServerWords {
                        target: Vec::new(),
                        command: vec!["server".into()],
                    },
                    settings: self.settings.clone(),
                })
            }
        };
        Box::pin(std::future::ready(opened))
    }

    fn check_target<'a>(
        &'a self,
        _: &'a OpenSource,
    ) -> BoxFuture<'a, Result<turnbuckle_check::Target, OpenError>> {
        let error = OpenError {
            step: Step::Start,
            errors: vec!["it cannot be checked".into()],
        };
        Box::pin(std::future::ready(Err(error)))
    }

    fn redact(&self, text: &str) -> Option<String> {
        text.contains("key-12345")
            .then(|| text.replace("key-12345", "[redacted]"))
    }
}

/// An Inspector with one session.
pub(crate) struct Bench {
    pub(crate) inspector: Inspector,
    pub(crate) servers: Arc<TestServers>,
    pub(crate) session: String,
}

impl Bench {
    pub(crate) fn open(server: Server) -> Self {
        Self::open_with(in_memory(server), ClientSettings::default())
    }

    pub(crate) fn open_with(connect: Connect, settings: ClientSettings) -> Self {
        let servers = Arc::new(TestServers {
            connect,
            stop: Mutex::new(Signal::new()),
            failure: Mutex::default(),
            observer: Mutex::default(),
            settings,
        });
        let inspector = Inspector::new(servers.clone(), InspectorLimits::default());
        let session = inspector.open(OpenSource::Given).unwrap();
        Self {
            inspector,
            servers,
            session,
        }
    }

    /// Opens a session and waits until its lists are there.
    pub(crate) async fn connect(server: Server) -> Self {
        Self::connect_with(in_memory(server), ClientSettings::default()).await
    }

    pub(crate) async fn connect_with(connect: Connect, settings: ClientSettings) -> Self {
        let bench = Self::open_with(connect, settings);
        bench.wait_for_lists().await;
        bench
    }

    pub(crate) async fn wait_for_lists(&self) {
        self.wait(|state| {
            let session = &state.sessions[0];
            let is_ready = session.connection == ConnectionState::Ready;
            is_ready
                && !session.lists.is_empty()
                && session.lists.iter().all(|list| !list.is_loading)
        })
        .await;
    }

    /// Waits until something is so, with each change.
    pub(crate) async fn wait(&self, is_so: impl Fn(&InspectorState) -> bool) {
        let waiting = async {
            loop {
                let state = self.inspector.state();
                if is_so(&state) {
                    break;
                }
                self.inspector
                    .changes()
                    .batches(state.versions)
                    .next()
                    .await;
            }
        };
        let waited = tokio::time::timeout(Duration::from_secs(30), waiting).await;
        assert!(waited.is_ok(), "{:#?}", self.inspector.state());
    }

    /// Waits until an entry is so.
    pub(crate) async fn wait_for_entry(&self, n: u64, is_so: impl Fn(&Entry) -> bool) -> Entry {
        self.wait(|_| {
            self.inspector
                .timeline()
                .entry(n)
                .is_some_and(|entry| is_so(&entry))
        })
        .await;
        self.inspector.timeline().entry(n).unwrap()
    }

    pub(crate) fn connection(&self) -> ConnectionState {
        self.inspector.state().sessions[0].connection.clone()
    }

    pub(crate) async fn send(&self, method: &str, params: &str, anyway: bool) -> SendOutcome {
        let request = RequestToSend {
            method: method.into(),
            params: params.into(),
            timeout_ms: None,
            anyway,
        };
        self.inspector.send(&self.session, request).await.unwrap()
    }

    /// Sends a call of a tool and returns the number of its entry.
    pub(crate) async fn call(&self, tool: &str, arguments: &str) -> u64 {
        let params = format!(r#"{{"name":"{tool}","arguments":{arguments}}}"#);
        match self.send("tools/call", &params, false).await {
            SendOutcome::Sent { n } => n,
            refused => panic!("{refused:?}"),
        }
    }

    /// Returns the texts of the entries that pass a filter.
    pub(crate) fn texts(&self, filter: &str) -> Vec<String> {
        let timeline = self.inspector.timeline();
        let entries = timeline.query(&Filter::parse(filter), 0, 1000).entries;
        let text = |entry: Entry| timeline.detail(entry.n).unwrap().text;
        entries.into_iter().map(text).collect()
    }

    pub(crate) fn names(&self, kind: ItemKind) -> Vec<String> {
        let window = self
            .inspector
            .items(&self.session, kind, "", 0, 100)
            .unwrap();
        window.rows.into_iter().map(|row| row.name).collect()
    }
}

pub(crate) fn accept(content: &str) -> Answer {
    Answer {
        action: AnswerAction::Accept,
        content: Some(content.into()),
        anyway: false,
    }
}
