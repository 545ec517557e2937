//! The `completion/complete` request: from a prompt or a resource template to the completer of its
//! argument.
//!
//! Specification: server/utilities/completion (2026-07-28).

use std::sync::Arc;

use turnbuckle_session::handler::RequestContext;
use turnbuckle_session::internal::{HandlerOutcome, IncomingRequest};
use turnbuckle_types::{CompleteRequestParams, CompletionReference, ProtocolError};

use super::provided::{pending, unknown_prompt};
use super::router::decode_params;
use crate::Server;
use crate::handler::ErasedHandler;
use crate::items::CatalogItem;
use crate::items::completion;
use crate::items::prompt::PromptEntry;
use crate::items::resource::TemplateEntry;
use crate::request::completion::CompletionRequest;
use crate::request::context::HandlerContext;

/// The completer of an argument, if the argument has one.
type FoundCompleter = Option<Arc<dyn ErasedHandler>>;

impl Server {
    /// Completes an argument of a prompt or a variable of a resource template.
    pub(super) fn complete(
        &self,
        call: IncomingRequest<'_>,
        context: RequestContext,
    ) -> Result<HandlerOutcome, ProtocolError> {
        let params: CompleteRequestParams = decode_params(call)?;
        let argument = &params.argument.name;
        let principal = context.principal();
        let completer = match &params.reference {
            CompletionReference::Prompt(reference) => {
                let name = &reference.name;
                match self.0.catalogs.prompts.get(name, principal) {
                    Some(prompt) => {
                        prompt.access().check_scopes(principal)?;
                        Some(prompt_completer(&prompt, argument)?)
                    }
                    None if self.may_provide_prompt(name) => None,
                    None => return Err(unknown_prompt(name, &context)),
                }
            }
            CompletionReference::Resource(reference) => {
                let uri = &reference.uri;
                let template = self.0.catalogs.templates.get(uri, principal).or_else(|| {
                    let found = self.find_template(uri, principal).ok().flatten();
                    found.map(|(template, _)| template)
                });
                match template {
                    Some(template) => {
                        template.access().check_scopes(principal)?;
                        Some(template_completer(&template, argument)?)
                    }
                    None if self.may_provide_template(uri) => None,
                    None => return Err(unknown_template(uri)),
                }
            }
            _ => return Err(ProtocolError::invalid_params("unknown type of reference")),
        };
        let context = HandlerContext::new(context, self.0.settings.clone(), None);
        Ok(match completer {
            Some(completer) => suggest(completer, params, context),
            None => pending(self.clone().complete_provided(params, context)),
        })
    }

    /// Completes an argument of a prompt, or a variable of a template, that is not registered.
    async fn complete_provided(
        self,
        params: CompleteRequestParams,
        context: HandlerContext,
    ) -> Result<HandlerOutcome, ProtocolError> {
        let argument = &params.argument.name;
        let completer = match &params.reference {
            CompletionReference::Prompt(reference) => {
                let name = &reference.name;
                let prompt = self.find_provided::<PromptEntry>(name, &context).await?;
                prompt_completer(
                    &prompt.ok_or_else(|| unknown_prompt(name, &context))?,
                    argument,
                )?
            }
            CompletionReference::Resource(reference) => {
                let uri = &reference.uri;
                let template = self.find_provided_template(uri, &context).await?;
                template_completer(&template.ok_or_else(|| unknown_template(uri))?, argument)?
            }
            _ => None,
        };
        Ok(suggest(completer, params, context))
    }
}

/// Answers with the suggestions of a completer.
fn suggest(
    completer: FoundCompleter,
    params: CompleteRequestParams,
    context: HandlerContext,
) -> HandlerOutcome {
    let arguments = params.context.map(|context| context.arguments);
    let request = CompletionRequest::new(params.argument.value, arguments.unwrap_or_default());
    completion::suggest(completer, request, context)
}

fn prompt_completer(prompt: &PromptEntry, argument: &str) -> Result<FoundCompleter, ProtocolError> {
    if !prompt.has_argument(argument) {
        return Err(unknown_argument(argument));
    }
    Ok(prompt.completers.get(argument))
}

fn template_completer(
    template: &TemplateEntry,
    variable: &str,
) -> Result<FoundCompleter, ProtocolError> {
    if !template.template.variables().contains(&variable) {
        return Err(unknown_argument(variable));
    }
    Ok(template.completers.get(variable))
}

fn unknown_argument(name: &str) -> ProtocolError {
    ProtocolError::invalid_params(format!("there is no argument \"{name:.128}\" to complete"))
}

fn unknown_template(uri: &str) -> ProtocolError {
    ProtocolError::invalid_params(format!("Unknown resource template: {uri:.256}"))
}
