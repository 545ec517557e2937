//! Surroundings of a check: a revision, a transport, connections, and a place for faults.

use std::time::Duration;

use bytes::Bytes;
use http::Method;
use serde_json::{Value, json};
use turnbuckle_wire::revision::{EraKind, Features, Revision};

use crate::case::{Bind, Case};
use crate::need::Stop;
use crate::probe::{
    Ask, Handshake, HttpLink, LinesLink, Link, Probe, ProbeError, ProbeOptions, RuleFault,
    SchemaFault, SseLink, Transcript,
};
use crate::survey::{Answered, Survey};
use crate::target::{OtherToken, Target};

/// Faults that one check keeps in one case.
const MAX_FAULTS: usize = 100;

/// A breach of the rule that a check holds.
#[derive(Debug, Clone)]
pub(crate) struct Fault {
    pub(crate) sentence: String,
    pub(crate) item: Option<String>,
    /// Messages that show it, if they are not the last ones of the transcript.
    pub(crate) evidence: Option<String>,
}

/// Messages against their schemas that a case keeps, and messages against other rules.
const MAX_JUDGED: usize = 500;

/// Messages of a case that were judged wrong as they came, whatever check they came in.
#[derive(Debug, Default)]
pub(crate) struct JudgedMessages {
    /// Messages that their schemas refuse.
    pub(crate) schema_faults: Vec<SchemaFault>,
    /// Messages that break a rule about the conversation.
    pub(crate) rule_faults: Vec<RuleFault>,
}

impl JudgedMessages {
    /// Adds further messages, as far as there is room.
    pub(crate) fn add(&mut self, further: Self) {
        self.schema_faults.extend(further.schema_faults);
        self.schema_faults.truncate(MAX_JUDGED);
        self.rule_faults.extend(further.rule_faults);
        self.rule_faults.truncate(MAX_JUDGED);
    }
}

/// The surroundings of a check in one revision over one transport.
pub(crate) struct CheckContext<'r> {
    case: Case,
    target: &'r Target,
    survey: &'r Survey,
    timeout: Duration,
    transcript: Transcript,
    /// The connection that checks share; `None` before the first needs it, and after it broke.
    shared: &'r mut Option<Probe>,
    judged: &'r JudgedMessages,
    faults: Vec<Fault>,
}

impl<'r> CheckContext<'r> {
    pub(crate) fn new(
        case: Case,
        target: &'r Target,
        survey: &'r Survey,
        timeout: Duration,
        transcript: Transcript,
        shared: &'r mut Option<Probe>,
        judged: &'r JudgedMessages,
    ) -> Self {
        Self {
            case,
            target,
            survey,
            timeout,
            transcript,
            shared,
            judged,
            faults: Vec::new(),
        }
    }

    /// Returns the revision and the transport.
    #[must_use]
    pub(crate) fn case(&self) -> Case {
        self.case
    }

    /// Returns the revision.
    #[must_use]
    pub(crate) fn revision(&self) -> Revision {
        self.case.revision
    }

    /// Returns the facts of the revision.
    #[must_use]
    pub(crate) fn features(&self) -> &'static Features {
        self.case.revision.features()
    }

    /// Returns whether requests carry an envelope.
    #[must_use]
    pub(crate) fn is_modern(&self) -> bool {
        self.features().era == EraKind::Modern
    }

    /// Returns what the server declares and lists.
    #[must_use]
    pub(crate) fn survey(&self) -> &'r Survey {
        self.survey
    }

    /// Returns the time limit of a wait.
    #[must_use]
    pub(crate) fn timeout(&self) -> Duration {
        self.timeout
    }

    /// Returns the messages of the case so far that their schemas refuse.
    #[must_use]
    pub(crate) fn schema_faults(&self) -> &'r [SchemaFault] {
        &self.judged.schema_faults
    }

    /// Returns the messages of the case so far that break rules about the conversation.
    #[must_use]
    pub(crate) fn rule_faults(&self) -> Vec<RuleFault> {
        let mut found = self.judged.rule_faults.clone();
        found.extend(self.transcript.rule_faults());
        found
    }

    /// Returns the options of a connection: no capabilities, the whole handshake.
    pub(crate) fn options(&self) -> ProbeOptions {
        ProbeOptions::new().timeout(self.timeout)
    }

    /// Returns the connection that checks share, and opens it if necessary.
    ///
    /// # Errors
    /// Fails if it cannot be opened.
    pub(crate) async fn probe(&mut self) -> Result<&mut Probe, Stop> {
        if self.shared.is_none() {
            let probe = self.fresh(self.options()).await?;
            *self.shared = Some(probe);
        }
        self.shared
            .as_mut()
            .ok_or_else(|| Stop::Skip("there is no connection".into()))
    }

    /// Opens a connection of the check's own.
    ///
    /// # Errors
    /// Fails if it cannot be opened, or if the handshake fails.
    pub(crate) fn fresh(
        &self,
        options: ProbeOptions,
    ) -> impl Future<Output = Result<Probe, Stop>> + Send + use<'r> {
        let (target, case, transcript) = (self.target, self.case, self.transcript.clone());
        let is_silent = self.is_modern() && options.handshake == Handshake::Whole;
        async move {
            let link = open(target, case, options.timeout).await?;
            let mut probe = Probe::connect(case.revision, link, options, transcript).await?;
            // A process may still be starting: the limits of the waits that follow are not for that.
            if is_silent && case.binding == Bind::Stream && target.has_process() {
                probe.request("server/discover", json!({})).await?;
            }
            Ok(probe)
        }
    }

    /// Returns a token that the user has given.
    ///
    /// # Errors
    /// Skips if there is none of the kind.
    pub(crate) fn other_token(&self, kind: OtherToken) -> Result<&'r str, Stop> {
        let token = self.target.find_token(kind);
        token.ok_or_else(|| {
            let name = kind.as_str();
            Stop::Skip(format!(
                "no such token is given: --other-token {name}=VARIABLE names one"
            ))
        })
    }

    /// Opens a connection of the check's own that sends a token that the user has given.
    ///
    /// # Errors
    /// Skips if there is none of the kind.
    pub(crate) fn fresh_as(
        &self,
        kind: OtherToken,
        options: ProbeOptions,
    ) -> Result<impl Future<Output = Result<Probe, Stop>> + Send + use<'r>, Stop> {
        let target = self.target.with_token(self.other_token(kind)?);
        let (case, transcript) = (self.case, self.transcript.clone());
        Ok(async move {
            let link = open(&target, case, options.timeout).await?;
            Ok(Probe::connect(case.revision, link, options, transcript).await?)
        })
    }

    /// Opens a connection that carries lines, below all messages.
    ///
    /// # Errors
    /// Fails if it cannot be opened.
    pub(crate) fn lines(&self) -> impl Future<Output = Result<LinesLink, Stop>> + Send + use<'r> {
        let (target, limit) = (self.target, self.timeout);
        async move { Ok(open_lines(target, limit).await?) }
    }

    /// Returns whether the server is on this machine.
    #[must_use]
    pub(crate) fn is_local(&self) -> bool {
        self.target.is_local()
    }

    /// Returns the URL of the endpoint of the case.
    ///
    /// # Errors
    /// Skips where the transport is not HTTP.
    pub(crate) fn endpoint_uri(&self) -> Result<&'r http::Uri, Stop> {
        let endpoint = self.target.endpoint(self.case.binding);
        endpoint
            .map(|endpoint| &endpoint.uri)
            .ok_or_else(|| Stop::Skip("the transport is not HTTP".into()))
    }

    /// Returns a request of HTTP to the endpoint of the case, with the headers that a client of MCP
    /// sends; nothing of a session and no revision is in it.
    ///
    /// # Errors
    /// Skips where the transport is not HTTP.
    pub(crate) fn ask(&self, method: Method, body: impl Into<Bytes>) -> Result<Ask, Stop> {
        let endpoint = self.target.endpoint(self.case.binding);
        let endpoint = endpoint.ok_or_else(|| Stop::Skip("the transport is not HTTP".into()))?;
        Ok(Ask::new(
            endpoint.clone(),
            method,
            body.into(),
            self.timeout,
            self.transcript.clone(),
        ))
    }

    /// Returns a POST of a message, complete for a modern revision: its envelope is in it, and the headers
    /// repeat it. For a legacy revision it carries no session.
    ///
    /// # Errors
    /// Skips where the transport is not HTTP.
    pub(crate) fn post(&self, message: &Value) -> Result<Ask, Stop> {
        let mut ask = self.ask(Method::POST, message.to_string())?;
        if self.is_modern() {
            ask = ask.header("mcp-protocol-version", self.revision().as_str());
            for (name, value) in crate::probe::mirrored_headers(message) {
                ask = ask.header(name, value);
            }
        }
        Ok(ask)
    }

    /// Returns a request with an id, and with its envelope in a modern revision.
    #[must_use]
    pub(crate) fn message(&self, id: impl Into<Value>, method: &str, mut params: Value) -> Value {
        if self.is_modern() {
            let mut meta = crate::probe::modern_meta(self.revision(), &json!({}));
            meta.insert(
                "io.modelcontextprotocol/clientInfo".into(),
                self.options().client_info,
            );
            meta.extend(params["_meta"].as_object().cloned().unwrap_or_default());
            params["_meta"] = meta.into();
        }
        json!({"jsonrpc": "2.0", "id": id.into(), "method": method, "params": params})
    }

    /// Sends a request over the shared connection and returns the whole response.
    ///
    /// # Errors
    /// Fails if none comes in time.
    pub(crate) async fn request(&mut self, method: &str, params: Value) -> Result<Value, Stop> {
        Ok(self.probe().await?.request(method, params).await?)
    }

    /// Sends a request over the shared connection and returns its result.
    ///
    /// # Errors
    /// Fails if none comes in time, or if the server refuses.
    pub(crate) async fn result(&mut self, method: &str, params: Value) -> Result<Value, Stop> {
        let mut answer = self.request(method, params).await?;
        match answer.get("result") {
            Some(_) => Ok(answer["result"].take()),
            None => Err(Stop::Broken(ProbeError::Io(format!(
                "{method} failed: {}",
                answer["error"]
            )))),
        }
    }

    /// Returns the calls of the tools that may be called; they are made once in a case.
    ///
    /// # Errors
    /// Fails if no connection can be opened.
    pub(crate) async fn calls(&mut self) -> Result<&'r [Answered], Stop> {
        let survey = self.survey;
        Ok(survey.calls(self.probe().await?).await)
    }

    /// Returns the contents of the listed resources; they are read once in a case.
    ///
    /// # Errors
    /// Fails if no connection can be opened.
    pub(crate) async fn reads(&mut self) -> Result<&'r [Answered], Stop> {
        let survey = self.survey;
        Ok(survey.reads(self.probe().await?).await)
    }

    /// Returns the messages of the listed prompts; they are got once in a case.
    ///
    /// # Errors
    /// Fails if no connection can be opened.
    pub(crate) async fn prompt_results(&mut self) -> Result<&'r [Answered], Stop> {
        let survey = self.survey;
        Ok(survey.prompt_results(self.probe().await?).await)
    }

    /// Returns a request that every server answers, and that changes nothing: after its answer, what was
    /// sent before it on the same connection has been read.
    #[must_use]
    pub(crate) fn harmless_request(&self) -> &'static str {
        match self.is_modern() {
            true => "server/discover",
            false => "ping",
        }
    }

    /// Reports a breach of the rule.
    pub(crate) fn fault(&mut self, sentence: impl Into<String>) {
        self.push(sentence.into(), None, None);
    }

    /// Reports a breach of the rule by an item, such as a tool.
    pub(crate) fn fault_at(&mut self, item: impl Into<String>, sentence: impl Into<String>) {
        self.push(sentence.into(), Some(item.into()), None);
    }

    /// Reports a breach that a message of another check shows.
    pub(crate) fn fault_with(
        &mut self,
        item: Option<String>,
        sentence: impl Into<String>,
        evidence: String,
    ) {
        self.push(sentence.into(), item, Some(evidence));
    }

    /// Reports a breach that an answer to a request for an item shows.
    pub(crate) fn fault_in(&mut self, answered: &Answered, sentence: impl Into<String>) {
        let item = answered.item().to_owned();
        self.push(sentence.into(), Some(item), Some(answered.evidence()));
    }

    fn push(&mut self, sentence: String, item: Option<String>, evidence: Option<String>) {
        if self.faults.len() < MAX_FAULTS {
            self.faults.push(Fault {
                sentence,
                item,
                evidence,
            });
        }
    }

    /// Closes the shared connection: the next check opens another.
    pub(crate) fn drop_shared(&mut self) {
        *self.shared = None;
    }

    pub(crate) fn into_faults(self) -> Vec<Fault> {
        self.faults
    }
}

/// Opens a link to the server of a case.
pub(crate) async fn open(
    target: &Target,
    case: Case,
    timeout: Duration,
) -> Result<Box<dyn Link>, ProbeError> {
    let endpoint = target.endpoint(case.binding).cloned();
    let missing = || ProbeError::Io("nothing reaches the server over this transport".into());
    Ok(match case.binding {
        Bind::Pipe | Bind::Stream => Box::new(open_lines(target, timeout).await?),
        Bind::Http => Box::new(HttpLink::new(endpoint.ok_or_else(missing)?, case.revision)),
        Bind::Sse => Box::new(SseLink::new(endpoint.ok_or_else(missing)?)),
    })
}

async fn open_lines(target: &Target, limit: Duration) -> Result<LinesLink, ProbeError> {
    let missing = || ProbeError::Io("nothing reaches the server over this transport".into());
    let opening = target.open_pipe().ok_or_else(missing)?.open();
    match tokio::time::timeout(limit, opening).await {
        Ok(pipe) => Ok(LinesLink::new(pipe?)),
        Err(_) => Err(ProbeError::TimedOut {
            what: "a connection".into(),
            limit,
        }),
    }
}
