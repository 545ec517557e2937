//! The handlers of a server's questions: each waits in the inbox for a person.

use std::sync::Arc;

use turnbuckle_client::{
    ClientBuilder, FormAnswer, QuestionContext, SamplingRejected, UrlAnswer, UrlRequest,
};
use turnbuckle_types::{
    CreateMessageRequestParams, CreateMessageResult, FieldValue, ListRootsResult, Map,
    ProtocolError, Root,
};

use super::{Session, Shared};
use crate::api::{Answer, AnswerAction, Fault, QuestionKind};
use crate::call::{fault, form_of_schema};
use crate::inbox::CheckAnswer;
use crate::target::SendSlot;

/// The answer to sampling that is suggested to the person.
const SUGGESTED_MESSAGE: &str =
    r#"{"role":"assistant","content":{"type":"text","text":""},"model":"a person"}"#;

/// The roots that are suggested to the person.
const SUGGESTED_ROOTS: &str = r#"{"roots":[]}"#;

/// A person who is asked on behalf of a session.
#[derive(Clone)]
struct Asker {
    session: String,
    shared: Shared,
}

impl Asker {
    async fn ask(
        &self,
        context: &QuestionContext,
        kind: QuestionKind,
        check: CheckAnswer,
    ) -> Option<Answer> {
        let slot = context
            .request_tag()
            .and_then(|tag| tag.value::<Arc<SendSlot>>());
        let about = slot.and_then(|slot| slot.number());
        let at_us = self.shared.timeline.elapsed_us();
        self.shared
            .inbox
            .ask(&self.session, at_us, about, kind, check)
            .await
    }
}

impl Session {
    /// Installs the handlers of all questions.
    pub(super) fn install_handlers(&self, builder: ClientBuilder) -> ClientBuilder {
        let asker = Asker {
            session: self.id.clone(),
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
        let kind = QuestionKind::Form {
            message: form.message.clone(),
            form: form_of_schema(schema.into()),
        };
        let check = move |content: &str| match serde_json::from_str::<Map<FieldValue>>(content) {
            Ok(content) => match form.validate(&content) {
                Ok(()) => Vec::new(),
                Err(error) => vec![fault(pointer(&error.field), error.to_string())],
            },
            Err(error) => vec![not_an_answer(&error)],
        };
        let answer = self.ask(&context, kind, Box::new(check)).await;
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
            message: url.message,
            url: url.url,
            host: url.host,
            warnings: url.warnings.iter().map(ToString::to_string).collect(),
        };
        let answer = self.ask(&context, kind, Box::new(|_| Vec::new())).await;
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
            params: serde_json::to_string(&params).unwrap_or_default(),
            suggested: SUGGESTED_MESSAGE.to_owned(),
        };
        let check = |content: &str| match serde_json::from_str::<CreateMessageResult>(content) {
            Ok(_) => Vec::new(),
            Err(error) => vec![not_an_answer(&error)],
        };
        let content = accepted(self.ask(&context, kind, Box::new(check)).await);
        let content = content.ok_or(SamplingRejected)?;
        serde_json::from_str(&content).map_err(|error| ProtocolError::internal(error.to_string()))
    }

    async fn ask_roots(&self, context: QuestionContext) -> Result<Vec<Root>, ProtocolError> {
        let kind = QuestionKind::Roots {
            suggested: SUGGESTED_ROOTS.to_owned(),
        };
        let check = |content: &str| match serde_json::from_str::<ListRootsResult>(content) {
            Ok(_) => Vec::new(),
            Err(error) => vec![not_an_answer(&error)],
        };
        let content = accepted(self.ask(&context, kind, Box::new(check)).await);
        let content = content.ok_or_else(|| ProtocolError::internal("the user refused"))?;
        let result: Result<ListRootsResult, _> = serde_json::from_str(&content);
        result
            .map(|result| result.roots)
            .map_err(|error| ProtocolError::internal(error.to_string()))
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
