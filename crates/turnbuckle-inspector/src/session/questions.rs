//! The handlers of a server's questions: each waits in the inbox for a person.

use std::sync::{Arc, Weak};

use serde::de::DeserializeOwned;
use turnbuckle_client::{
    ClientBuilder, FormAnswer, QuestionContext, SamplingRejected, UrlAnswer, UrlRequest,
};
use turnbuckle_types::{
    CreateMessageRequestParams, CreateMessageResult, FieldValue, ListRootsResult, Map,
    ProtocolError, Root,
};

use super::{Session, Shared};
use crate::api::{
    Answer, AnswerAction, AutomaticAnswers, AutomaticForms, AutomaticUrls, Fault, QuestionKind,
};
use crate::call::{fault, form_of_schema};
use crate::inbox::{CheckAnswer, NewQuestion};
use crate::target::SendSlot;
use crate::values::string::cut;

/// The answer to sampling that is suggested to the person.
const SUGGESTED_MESSAGE: &str =
    r#"{"role":"assistant","content":{"type":"text","text":""},"model":"a person"}"#;

/// The roots that are suggested to the person.
const SUGGESTED_ROOTS: &str = r#"{"roots":[]}"#;

/// The most bytes of a message or of the parameters of a question that are shown.
const MAX_TEXT_BYTES: usize = 64 * 1024;

/// The most bytes of an answer that is given without a person.
const MAX_AUTOMATIC_BYTES: usize = 64 * 1024;

/// A person who is asked on behalf of a session.
#[derive(Clone)]
struct Asker {
    session: Weak<Session>,
    id: String,
    shared: Shared,
}

impl Asker {
    async fn ask(
        &self,
        context: &QuestionContext,
        kind: QuestionKind,
        automatic: Option<Answer>,
        check: CheckAnswer,
    ) -> Option<Answer> {
        let slot = context
            .request_tag()
            .and_then(|tag| tag.value::<Arc<SendSlot>>());
        let about = slot.and_then(|slot| slot.number());
        let question = NewQuestion {
            session: &self.id,
            at_us: self.shared.timeline.elapsed_us(),
            about,
            kind,
            automatic,
            check,
        };
        self.shared.inbox.ask(question).await
    }

    /// Returns the answers that are given without a person.
    fn automatic(&self) -> AutomaticAnswers {
        let session = self.session.upgrade();
        session.map_or_else(AutomaticAnswers::default, |it| it.lock().automatic.clone())
    }
}

impl Session {
    /// Installs the handlers of all questions.
    pub(super) fn install_handlers(self: &Arc<Self>, builder: ClientBuilder) -> ClientBuilder {
        let asker = Asker {
            session: Arc::downgrade(self),
            id: self.id.clone(),
            shared: self.shared.clone(),
        };
        let (forms, urls, sampling, roots) = (asker.clone(), asker.clone(), asker.clone(), asker);
        builder
            .on_form(move |form, context| {
                let asker = forms.clone();
                async move { asker.ask_form(form, context).await }
            })
            .on_url(move |url, context| {
                let asker = urls.clone();
                async move { asker.ask_url(url, context).await }
            })
            .on_sampling(move |params, context| {
                let asker = sampling.clone();
                async move { asker.ask_sampling(params, context).await }
            })
            .sampling_tools()
            .on_roots(move |context| {
                let asker = roots.clone();
                async move { asker.ask_roots(context).await }
            })
    }
}

impl Asker {
    async fn ask_form(
        &self,
        form: turnbuckle_client::Form,
        context: QuestionContext,
    ) -> FormAnswer {
        let schema = serde_json::to_vec(&form.schema).unwrap_or_default();
        let shown = form_of_schema(schema.into());
        let automatic = self.automatic().forms.map(|forms| match forms {
            AutomaticForms::Defaults => answer(AnswerAction::Accept, Some(shown.initial.clone())),
            AutomaticForms::Decline => answer(AnswerAction::Decline, None),
        });
        let kind = QuestionKind::Form {
            message: cut(form.message.clone(), MAX_TEXT_BYTES),
            form: shown,
        };
        let check = move |content: &str| match serde_json::from_str::<Map<FieldValue>>(content) {
            Ok(content) => match form.validate(&content) {
                Ok(()) => Vec::new(),
                Err(error) => vec![fault(pointer(&error.field), error.to_string())],
            },
            Err(error) => vec![not_an_answer(&error)],
        };
        let answer = self.ask(&context, kind, automatic, Box::new(check)).await;
        match answer {
            Some(Answer {
                action: AnswerAction::Accept,
                content,
                ..
            }) => match serde_json::from_str(content.as_deref().unwrap_or("{}")) {
                Ok(content) => FormAnswer::Accept(content),
                Err(_) => FormAnswer::Cancel,
            },
            Some(Answer {
                action: AnswerAction::Decline,
                ..
            }) => FormAnswer::Decline,
            _ => FormAnswer::Cancel,
        }
    }

    async fn ask_url(&self, url: UrlRequest, context: QuestionContext) -> UrlAnswer {
        let kind = QuestionKind::Url {
            message: cut(url.message, MAX_TEXT_BYTES),
            url: url.url,
            host: url.host,
            warnings: url.warnings.iter().map(ToString::to_string).collect(),
        };
        let automatic = self.automatic().urls.map(|urls| match urls {
            AutomaticUrls::Decline => answer(AnswerAction::Decline, None),
        });
        let check: CheckAnswer = Box::new(|_| Vec::new());
        let answer = self.ask(&context, kind, automatic, check).await;
        match answer.map(|answer| answer.action) {
            Some(AnswerAction::Accept) => UrlAnswer::Accept,
            Some(AnswerAction::Decline) => UrlAnswer::Decline,
            _ => UrlAnswer::Cancel,
        }
    }

    async fn ask_sampling(
        &self,
        params: CreateMessageRequestParams,
        context: QuestionContext,
    ) -> Result<CreateMessageResult, ProtocolError> {
        let kind = QuestionKind::Sampling {
            params: cut(
                serde_json::to_string(&params).unwrap_or_default(),
                MAX_TEXT_BYTES,
            ),
            suggested: SUGGESTED_MESSAGE.to_owned(),
        };
        let automatic = self.automatic().sampling;
        let automatic = automatic.map(|text| answer(AnswerAction::Accept, Some(text)));
        let check: CheckAnswer = Box::new(faults_of::<CreateMessageResult>);
        let content = accepted(self.ask(&context, kind, automatic, check).await);
        let content = content.ok_or(SamplingRejected)?;
        serde_json::from_str(&content).map_err(|error| ProtocolError::internal(error.to_string()))
    }

    async fn ask_roots(&self, context: QuestionContext) -> Result<Vec<Root>, ProtocolError> {
        let kind = QuestionKind::Roots {
            suggested: SUGGESTED_ROOTS.to_owned(),
        };
        let automatic = self.automatic().roots;
        let automatic = automatic.map(|text| answer(AnswerAction::Accept, Some(text)));
        let check: CheckAnswer = Box::new(faults_of::<ListRootsResult>);
        let content = accepted(self.ask(&context, kind, automatic, check).await);
        let content = content.ok_or_else(|| ProtocolError::internal("the user refused"))?;
        let result: Result<ListRootsResult, _> = serde_json::from_str(&content);
        result
            .map(|result| result.roots)
            .map_err(|error| ProtocolError::internal(error.to_string()))
    }
}

/// Returns a sentence if an answer that is given without a person does not have the form of one.
pub(super) fn check_automatic(answers: &AutomaticAnswers) -> Result<(), String> {
    let sampling = answers.sampling.as_deref();
    let roots = answers.roots.as_deref();
    if sampling
        .into_iter()
        .chain(roots)
        .any(|it| it.len() > MAX_AUTOMATIC_BYTES)
    {
        return Err(format!(
            "an answer that is given without a person has at most {MAX_AUTOMATIC_BYTES} bytes"
        ));
    }
    let faults = sampling.map(faults_of::<CreateMessageResult>);
    let faults = faults
        .into_iter()
        .chain(roots.map(faults_of::<ListRootsResult>));
    match faults.flatten().next() {
        Some(fault) => Err(fault.sentence),
        None => Ok(()),
    }
}

/// Returns the faults of the text of an answer that has to be a `T`.
fn faults_of<T: DeserializeOwned>(content: &str) -> Vec<Fault> {
    match serde_json::from_str::<T>(content) {
        Ok(_) => Vec::new(),
        Err(error) => vec![not_an_answer(&error)],
    }
}

fn answer(action: AnswerAction, content: Option<String>) -> Answer {
    Answer {
        action,
        content,
        anyway: false,
    }
}

/// Returns the content of an accepted answer.
fn accepted(answer: Option<Answer>) -> Option<String> {
    let answer = answer.filter(|answer| answer.action == AnswerAction::Accept)?;
    Some(answer.content.unwrap_or_else(|| "{}".to_owned()))
}

fn not_an_answer(error: &serde_json::Error) -> Fault {
    fault(
        "",
        format!("the answer does not have the form that is asked for: {error}"),
    )
}

fn pointer(name: &str) -> String {
    format!("/{}", name.replace('~', "~0").replace('/', "~1"))
}
