//! Completions of the variables of a template, as far as the rules about its URIs permit.

use std::sync::Arc;

use serde::Deserialize;
use turnbuckle_server::{CompletionRequest, HandlerContext, UriTemplate};
use turnbuckle_session::internal::FailureCause;
use turnbuckle_types::{
    CompleteRequestParams, CompleteResult, CompletionReference, ErrorKind, ProtocolError,
    ResourceTemplate, TemplateVariables,
};

use crate::servers::Servers;
use crate::view::items::ServerItem;

/// The most values of a completion, by the specification.
const MAX_VALUES: usize = 100;

/// A request for values of one variable of a template.
pub(super) struct TemplateCompletion {
    server: Arc<str>,
    /// The template at the server.
    own_template: Arc<str>,
    /// The template or URI that the client names.
    reference: String,
    is_uri: bool,
    variable: String,
    /// The values of the other variables, as far as the client gives them.
    given: TemplateVariables,
}

/// Returns the template, or the URI that one matches, that a request for a completion names; `None` for others, which
/// have other parameters.
pub(super) fn completed_reference(context: &HandlerContext) -> Option<String> {
    #[derive(Deserialize)]
    struct Message {
        params: CompleteRequestParams,
    }
    let message: Message = serde_json::from_str(context.text()).ok()?;
    match message.params.reference {
        CompletionReference::Resource(reference) => Some(reference.uri),
        _ => None,
    }
}

impl TemplateCompletion {
    pub(super) fn new(
        listed: &ServerItem<ResourceTemplate>,
        variable: &str,
        typing: &CompletionRequest,
        context: &HandlerContext,
    ) -> Self {
        let template = &listed.item.uri_template;
        let reference = completed_reference(context).unwrap_or_else(|| template.clone());
        let mut given = TemplateVariables::new();
        for (name, value) in typing
            .arguments
            .iter()
            .filter(|(name, _)| *name != variable)
        {
            given.insert(name.to_owned(), value.clone());
        }
        Self {
            server: listed.server.clone(),
            own_template: listed.own_name.clone(),
            is_uri: reference != *template,
            reference,
            variable: variable.to_owned(),
            given,
        }
    }

    /// Checks that the client may use the URI that it names, and some URI with the values that it gives.
    ///
    /// # Errors
    /// As for a template that does not exist, or if the client lacks a scope.
    pub(super) fn check(
        &self,
        servers: &Servers,
        context: &HandlerContext,
    ) -> Result<(), ProtocolError> {
        let named = match self.is_uri {
            true => servers.check_resource(&self.reference, context),
            false => Ok(()),
        };
        let checked = named.and_then(|()| self.check_values(servers, &self.given, context));
        checked.map_err(|error| match error.kind() {
            ErrorKind::ResourceNotFound => {
                context.set_failure_cause(FailureCause::UnknownItem);
                let reference = &self.reference;
                ProtocolError::invalid_params(format!(
                    "Unknown resource template: {reference:.256}"
                ))
            }
            _ => error,
        })
    }

    /// Checks that the client may use what the template expands to with these values.
    fn check_values(
        &self,
        servers: &Servers,
        values: &TemplateVariables,
        context: &HandlerContext,
    ) -> Result<(), ProtocolError> {
        let expanded = fill_in(&self.own_template, values);
        servers.check_expansion(&self.server, &expanded, context)
    }

    /// Removes the values that lead to nothing but URIs that the client may not use.
    pub(super) fn retain_permitted(
        &self,
        servers: &Servers,
        result: &mut CompleteResult,
        context: &HandlerContext,
    ) {
        if !servers.has_uri_rules() {
            return;
        }
        let completion = &mut result.completion;
        let count = completion.values.len();
        completion.values.truncate(MAX_VALUES);
        completion.values.retain(|value| {
            let values = self.given.clone().with(&*self.variable, value.as_str());
            self.check_values(servers, &values, context).is_ok()
        });
        if completion.values.len() < count {
            completion.total = None;
        }
    }
}

/// Returns a template in which the expressions whose variables all have values are expanded.
fn fill_in(template: &str, values: &TemplateVariables) -> String {
    let mut text = String::new();
    let mut rest = template;
    while let Some((literal, after)) = rest.split_once('{')
        && let Some((inner, after)) = after.split_once('}')
    {
        text.push_str(literal);
        let expression = format!("{{{inner}}}");
        let parsed = UriTemplate::parse(&expression).ok();
        let has_value = |name: &&str| values.get(name).is_some();
        match parsed.filter(|it| it.variables().iter().all(has_value)) {
            Some(parsed) => text.push_str(&parsed.expand(values)),
            None => text.push_str(&expression),
        }
        rest = after;
    }
    text + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expression_is_expanded_once_all_of_its_variables_have_values() {
        let values = TemplateVariables::new().with("a", "x/y").with("b", "{z}");
        for (template, expected) in [
            ("t:{a}/{c}", "t:x%2Fy/{c}"),
            ("t:{+a}/{b}", "t:x/y/%7Bz%7D"),
            ("t:{a,c}{?a,b}", "t:{a,c}?a=x%2Fy&b=%7Bz%7D"),
            ("t:1", "t:1"),
        ] {
            assert_eq!(fill_in(template, &values), expected);
        }
    }
}
