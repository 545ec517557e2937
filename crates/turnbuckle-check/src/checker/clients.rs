//! Checks of clients: scripted servers for a command that is a client, and what it does with them.

mod login_pages;
mod relay;

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use turnbuckle_types::base::quote::shell_quote;
use turnbuckle_types::base::random;
use turnbuckle_wire::revision::Revision;

use super::run::empty_report;
use super::{CheckError, Selection};
use crate::case::{Bind, Case};
use crate::check::Check;
use crate::checks::client;
use crate::report::{CaseReport, CheckReport, Finding, Kind, MessageLine, Report, Verdict};
use crate::requirement::Requirement;
use crate::script::conduct::{Breach, Entry, Head, Run, Scenario, Tape};
use crate::script::login::{AUTHORIZE, ENDPOINT, Login};
use crate::script::{Listener, Sound};
use crate::target::{Command, OpenPipe};

pub use relay::relay;

use login_pages::{LoginPages, Printed};

/// The placeholder for the URL of the server.
const URL: &str = "{url}";

/// The placeholder for the words of a command that is the server.
const COMMAND: &str = "{command}";

/// Clients that run side by side.
const PARALLEL_RUNS: usize = 2;

/// Time after which a client that does nothing more is stopped.
const QUIET: Duration = Duration::from_secs(4);

/// Bytes that the process of a server writes to standard error at first, in one scenario.
const STDERR_BYTES: usize = 1 << 20;

/// Checks one client: a command that connects to the server that it is told.
#[derive(Debug, Clone)]
#[must_use]
pub struct ClientChecker {
    command: Vec<String>,
    relay: Vec<String>,
    visitor: Vec<String>,
    has_login: bool,
    time_limit: Duration,
    selection: Selection,
}

impl ClientChecker {
    /// Creates a run for a command: its program and its arguments. `{url}` in them stands for the URL of a
    /// server, `{command}` for the words of a command that is a server on standard input and output. Without
    /// either the URL becomes the last argument.
    pub fn new(command: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self {
            command: command.into_iter().map(Into::into).collect(),
            relay: Vec::new(),
            visitor: Vec::new(),
            has_login: false,
            time_limit: Duration::from_secs(20),
            selection: Selection::new(),
        }
    }

    /// Sets the words of a command that calls [`relay`] with its last argument. Without them no servers on
    /// standard input and output are checked.
    pub fn relay_command(mut self, words: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.relay = words.into_iter().map(Into::into).collect();
        self
    }

    /// Lets some of the servers demand a login. The login page agrees at once; it is opened when the client
    /// prints its URL, or opens it by the command in the variable `BROWSER`. Default: no.
    pub fn login(mut self, has_login: bool) -> Self {
        self.has_login = has_login;
        self
    }

    /// Sets the words of a command that calls [`visit`](crate::script::visit) with its last argument: it is the
    /// browser of the client. Without them a login page is opened only if the client prints its URL.
    pub fn visit_command(mut self, words: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.visitor = words.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the time limit of the client with each server. Default: 20 seconds.
    pub fn time_limit(mut self, time_limit: Duration) -> Self {
        self.time_limit = time_limit;
        self
    }

    /// Limits the run to the chosen checks. Default: all.
    pub fn selection(mut self, selection: Selection) -> Self {
        self.selection = selection;
        self
    }

    /// Returns every check of clients.
    #[must_use]
    pub fn checks() -> Vec<&'static Check> {
        client::all().collect()
    }

    /// Runs the client with each server, and judges what it did.
    ///
    /// # Errors
    /// Fails if the client cannot be started, or never reaches a server.
    pub async fn run(self) -> Result<Report, CheckError> {
        let begun = Instant::now();
        let checks = self.selection.select(client::all())?;
        let uses = |placeholder: &str| self.command.iter().any(|word| word.contains(placeholder));
        let is_http = uses(URL) || !uses(COMMAND);
        let is_pipe = uses(COMMAND) && !self.relay.is_empty();
        let permits = Arc::new(Semaphore::new(PARALLEL_RUNS));
        let mut running = JoinSet::new();
        let bindings = [(is_http, Bind::Http), (is_pipe, Bind::Stream)];
        let bindings = bindings.into_iter().filter(|(is_used, _)| *is_used);
        let cases: Vec<_> = bindings
            .flat_map(|(_, binding)| {
                [Revision::NEWEST_LEGACY, Revision::NEWEST]
                    .map(|revision| Case { revision, binding })
            })
            .collect();
        for case in &cases {
            for scenario in Scenario::all(*case, self.has_login) {
                let (checker, permits) = (self.clone(), Arc::clone(&permits));
                let case = *case;
                running.spawn(async move {
                    let _permit = permits.acquire_owned().await;
                    checker.run_scenario(case, scenario).await
                });
            }
        }
        let mut runs = Vec::new();
        while let Some(run) = running.join_next().await {
            let run = run.unwrap_or_else(|error| Err(io::Error::other(error)));
            runs.push(run.map_err(|error| {
                CheckError::Unreachable(format!("the client cannot be run: {error}"))
            })?);
        }
        let command = shell_quote(self.command.iter().map(String::as_str));
        let mut report = Report {
            turnbuckle: env!("CARGO_PKG_VERSION").into(),
            target: command.clone(),
            kind: Kind::Client,
            cases: Vec::new(),
            notes: Vec::new(),
            millis: 0,
        };
        for case in cases {
            let scenarios = Scenario::all(case, self.has_login);
            let mut of_case: Vec<_> = runs.iter().filter(|run| run.case == case).collect();
            of_case.sort_by_key(|run| scenarios.iter().position(|it| *it == run.scenario));
            if of_case.iter().any(|run| is_spoken(run)) {
                report
                    .cases
                    .push(case_report(case, &of_case, &checks, &command));
            } else {
                report.notes.push(format!(
                    "the client does not speak {} over {}",
                    case.revision,
                    case.binding.as_str()
                ));
            }
        }
        if report.cases.is_empty() {
            return Err(CheckError::Unreachable(
                "the client sends no message to any of the servers".into(),
            ));
        }
        report.millis = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        report.bound();
        Ok(report)
    }

    async fn run_scenario(&self, case: Case, scenario: Scenario) -> io::Result<Run> {
        let tape = Tape::new();
        match case.is_duplex() {
            false => self.run_http(case.revision, scenario, &tape).await?,
            true => self.run_pipe(case.revision, scenario, &tape).await?,
        }
        Ok(Run {
            case,
            scenario,
            entries: tape.entries(),
        })
    }

    async fn run_http(
        &self,
        revision: Revision,
        scenario: Scenario,
        tape: &Tape,
    ) -> io::Result<()> {
        // The address is known once the listener is there, and the servers are made of it.
        let servers: Arc<OnceLock<(Sound, Option<Login>)>> = Arc::default();
        let (answering, record) = (Arc::clone(&servers), tape.clone());
        let listener = Listener::start(move |request: Request<Bytes>| {
            let (answering, record) = (Arc::clone(&answering), record.clone());
            async move {
                let (sound, login) = match answering.get() {
                    Some((sound, login)) => (sound.clone(), login.as_ref()),
                    None => (Sound::new(), None),
                };
                let reply = login.and_then(|login| login.respond(&request));
                record.push(entry_of(&request, reply.as_ref().map(Response::status)));
                match reply {
                    Some(reply) => reply,
                    None => sound.respond(request).await,
                }
            }
        })
        .await?;
        let address = listener.address().to_string();
        let base = format!("http://{address}");
        let login = scenario.login().map(|kind| {
            let record = tape.clone();
            Login::new(kind, &*base, move |token| {
                record.push(Entry::Token(token.to_owned()));
            })
        });
        let _ = servers.set((scenario.server(revision, tape, &address), login));
        self.run_client(&format!("{base}{ENDPOINT}"), &[], tape)
            .await
    }

    async fn run_pipe(
        &self,
        revision: Revision,
        scenario: Scenario,
        tape: &Tape,
    ) -> io::Result<()> {
        let key = random::id().map_err(io::Error::other)?;
        let listener = TcpListener::bind((std::net::Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?.to_string();
        let sound = scenario.server(revision, tape, &address);
        let (record, expected) = (tape.clone(), key.clone());
        let opened = AtomicUsize::new(0);
        let accepting = tokio::spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let connection = opened.fetch_add(1, Ordering::Relaxed) + 1;
                let (record, expected) = (record.clone(), expected.clone());
                let sound = sound.clone().on_read_line(move |line| {
                    let message = serde_json::from_slice(line).unwrap_or(Value::Null);
                    record.push(Entry::Line {
                        connection,
                        message,
                    });
                });
                connections.spawn(async move {
                    let mut stream = BufReader::new(stream);
                    let mut line = String::new();
                    let mut first = (&mut stream).take(200);
                    if first.read_line(&mut line).await.is_ok() && line.trim_end() == expected {
                        sound.serve_lines(stream).await;
                    }
                });
            }
        });
        let mut place = format!("{address}/{key}");
        if scenario == Scenario::Stderr {
            place = format!("{place}/{STDERR_BYTES}");
        }
        let words: Vec<_> = self.relay.iter().cloned().chain([place]).collect();
        let done = self.run_client("", &words, tape).await;
        accepting.abort();
        done
    }

    /// Runs the client until it ends, does nothing more, or has had its time.
    async fn run_client(&self, url: &str, server: &[String], tape: &Tape) -> io::Result<()> {
        let words = self.words(url, server);
        let (program, arguments) = words.split_first().ok_or(io::ErrorKind::InvalidInput)?;
        let mut command = Command::new(program).args(arguments);
        if self.has_login && !self.visitor.is_empty() {
            let browser = format!("{} %s", self.visitor.join(" "));
            let variables = std::env::vars_os().filter(|(name, _)| name != "BROWSER");
            command = command.environment(variables.chain([("BROWSER".into(), browser.into())]));
        }
        let mut pipe = command.open().await?;
        drop(pipe.writer);
        let printed = Printed::default();
        let reading = tokio::spawn(printed.clone().read(pipe.reader));
        let page = format!(
            "{}{AUTHORIZE}?",
            url.strip_suffix(ENDPOINT).unwrap_or_default()
        );
        let mut pages = LoginPages::new(page);
        let end = Instant::now() + self.time_limit;
        if let Some(process) = &mut pipe.process {
            while process.wait(Duration::from_millis(100)).await.is_none() {
                if self.has_login && !url.is_empty() {
                    pages.open(&[printed.text(), process.stderr()]);
                }
                let is_quiet = tape.quiet_for().is_some_and(|quiet| quiet > QUIET);
                if is_quiet || Instant::now() > end {
                    break;
                }
            }
        }
        reading.abort();
        // What the client sent last is on its way.
        tokio::time::sleep(Duration::from_millis(50)).await;
        Ok(())
    }

    /// Returns the words of the client's command, with their placeholders replaced.
    fn words(&self, url: &str, server: &[String]) -> Vec<String> {
        let mut words = Vec::new();
        for word in &self.command {
            match word.as_str() {
                COMMAND => words.extend(server.iter().cloned()),
                word => {
                    let server = shell_quote(server.iter().map(String::as_str));
                    words.push(word.replace(URL, url).replace(COMMAND, &server));
                }
            }
        }
        let has_place = self
            .command
            .iter()
            .any(|word| word.contains(URL) || word.contains(COMMAND));
        if !has_place {
            words.push(url.to_owned());
        }
        words
    }
}

/// Returns the record of a request, and of its refusal for lack of a token.
fn entry_of(request: &Request<Bytes>, refusal: Option<StatusCode>) -> Entry {
    let mut head = Head::new(request);
    let is_message = head.path == ENDPOINT;
    let message = match (is_message, refusal) {
        (true, None) => serde_json::from_slice(request.body()).unwrap_or(Value::Null),
        (true, Some(status)) => {
            head.refused = status.as_u16();
            Value::Null
        }
        (false, _) => {
            head.set_form(request.body());
            Value::Null
        }
    };
    Entry::Request {
        head: Box::new(head),
        message,
    }
}

/// Returns whether the client used the revision with a correct server.
fn is_spoken(run: &Run) -> bool {
    let is_modern = run.case.is_modern();
    let mut results = run.entries.iter().filter_map(|entry| match entry {
        Entry::Sent(message) => Some(message),
        _ => None,
    });
    run.scenario == Scenario::Plain
        && results.any(|message| match is_modern {
            true => message["result"]["resultType"].is_string(),
            false => message["result"]["protocolVersion"].is_string(),
        })
}

fn case_report(case: Case, runs: &[&Run], checks: &[&Check], command: &str) -> CaseReport {
    let checks = checks.iter().filter(|check| check.exists_in(case));
    CaseReport {
        checks: checks
            .map(|check| check_report(check, runs, case.revision, command))
            .collect(),
        ..empty_report(case)
    }
}

fn check_report(check: &Check, runs: &[&Run], revision: Revision, command: &str) -> CheckReport {
    let citation = Requirement::cite(check.requirements, revision);
    let mut reason = None;
    let mut breaches = None;
    for run in runs {
        match check.judge(run) {
            Ok(found) => breaches.get_or_insert_with(Vec::new).extend(found),
            Err(why) => reason = Some(why),
        }
    }
    let verdict = match &breaches {
        None => Verdict::Skip,
        Some(breaches) if breaches.is_empty() => Verdict::Pass,
        Some(_) => check.level.verdict(),
    };
    let login = match runs.iter().any(|run| run.scenario.login().is_some()) {
        true => "--login ",
        false => "",
    };
    let finding = |breach: Breach| Finding {
        sentence: breach.sentence,
        item: None,
        requirement: citation.clone(),
        messages: breach
            .message
            .map(|message| MessageLine {
                direction: "←".into(),
                text: message.to_string(),
            })
            .into_iter()
            .collect(),
        fix: check.fix.into(),
        repeat: format!(
            "turnbuckle check --client {login}--only {} -- {command}",
            check.id
        ),
        known: false,
    };
    CheckReport {
        id: check.id.into(),
        title: check.title.into(),
        level: check.level,
        verdict,
        reason: reason.filter(|_| verdict == Verdict::Skip).map(Into::into),
        requirement: citation.clone(),
        findings: breaches.into_iter().flatten().map(finding).collect(),
        millis: 0,
    }
}
