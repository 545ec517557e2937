//! Method name → typed handler.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use turnbuckle_schema::shorten;
use turnbuckle_session::{
    Call, Change, Context as Session, Dispatch, Feed, Handling, Identity, Notice, Peer, Reaction,
};
use turnbuckle_types::{
    CompleteParams, EmptyResult, Error, ErrorKind, ListenParams, Principal, RawJson, Reference,
    SetLevelParams, SubscriptionFilter,
};
use turnbuckle_wire::era::params::raw_params;
use turnbuckle_wire::era::{ParamHeader, Reply};
use turnbuckle_wire::revision::Method;

use crate::Server;
use crate::catalog::Item;
use crate::completion::{self, Typing};
use crate::context::Context;
use crate::input::{Round, Target};
use crate::name::{NameError, check_uri};
use crate::resource::{Reading, TemplateEntry};
use crate::subscription::{self, check_count};
use crate::uri_template::{DecodedUri, Variables};

impl Dispatch for Server {
    fn identity(&self) -> &Identity {
        &self.0.identity
    }

    fn call(&self, call: Call<'_>, context: Session) -> Handling {
        match self.route(call, context) {
            Ok(handling) => handling,
            Err(error) => Reply::Error(error).into(),
        }
    }

    fn notified(&self, notice: Notice<'_>, peer: &Peer) -> Option<Reaction> {
        match notice.method {
            Some(Method::RootsListChanged) => Some(self.0.roots_changed.as_ref()?(peer.clone())),
            Some(_) => None,
            None => self.0.extensions.hear(notice.name, notice.text, peer),
        }
    }

    fn opened(&self, peer: &Peer) {
        let capabilities = &self.0.identity.capabilities;
        let lists = [
            (capabilities.tools.is_some(), Change::Tools),
            (capabilities.prompts.is_some(), Change::Prompts),
            (capabilities.resources.is_some(), Change::Resources),
        ];
        for (_, change) in lists.into_iter().filter(|(declared, _)| *declared) {
            self.hub().subscribe(peer.feed(), change);
        }
    }

    fn closed(&self, feed: &Arc<Feed>) {
        self.hub().forget(feed);
    }

    fn reads_http(&self) -> bool {
        self.0.scope.reads_http.load(Ordering::Relaxed)
    }

    fn mirrored(&self, tool: &str, principal: Option<&Principal>) -> Arc<[ParamHeader]> {
        self.0
            .tools
            .get(tool, principal)
            .map(|tool| tool.headers())
            .unwrap_or_default()
    }
}

impl Server {
    fn route(&self, call: Call<'_>, context: Session) -> Result<Handling, Error> {
        let Some(method) = call.method else {
            let context = Context::new(context, self.clone(), None);
            let answer = self.0.extensions.answer(call.name, call.text, context);
            return answer.ok_or_else(|| unknown(call.name));
        };
        if !self.offers(method) {
            return Err(unknown(call.name));
        }
        match method {
            Method::CallTool => self.call_tool(call, context),
            Method::ListTools => self.list(&self.0.tools, call, &context),
            Method::GetPrompt => self.get_prompt(call, context),
            Method::ListPrompts => self.list(&self.0.prompts, call, &context),
            Method::ReadResource => self.read_resource(call, context),
            Method::ListResources => self.list(&self.0.resources, call, &context),
            Method::ListResourceTemplates => self.list(&self.0.templates, call, &context),
            Method::Subscribe => self.subscribe(call, &context),
            Method::Unsubscribe => self.unsubscribe(call, &context),
            Method::Listen => self.listen(call, context),
            Method::Complete => self.complete(call, context),
            Method::SetLevel => set_level(call, &context),
            _ => Err(unknown(call.name)),
        }
    }

    /// Whether a method belongs to something that the server declared.
    fn offers(&self, method: Method) -> bool {
        let capabilities = &self.0.identity.capabilities;
        match method {
            Method::CallTool | Method::ListTools => capabilities.tools.is_some(),
            Method::GetPrompt | Method::ListPrompts => capabilities.prompts.is_some(),
            Method::ReadResource
            | Method::ListResources
            | Method::ListResourceTemplates
            | Method::Subscribe
            | Method::Unsubscribe => capabilities.resources.is_some(),
            Method::Complete => capabilities.completions.is_some(),
            Method::SetLevel => capabilities.logging.is_some(),
            _ => true,
        }
    }

    fn context(&self, call: Call<'_>, context: Session, method: Method) -> Result<Context, Error> {
        let round: Option<Round> = if context.is_legacy() || Round::is_first(call.params) {
            None
        } else {
            self.rounds()
                .open(call.params, &Target::of(method, call.params), &context)?
        };
        Ok(Context::new(context, self.clone(), round))
    }

    fn call_tool(&self, call: Call<'_>, context: Session) -> Result<Handling, Error> {
        let name = required(call.params.name, "name")?;
        let tool = self
            .0
            .tools
            .get(&name, context.principal())
            .ok_or_else(|| Error::invalid_params(format!("Unknown tool: {name:.128}")))?;
        tool.access().check(context.principal())?;
        let context = self.context(call, context, Method::CallTool)?;
        Ok(tool.call(call.params.arguments, context))
    }

    fn get_prompt(&self, call: Call<'_>, context: Session) -> Result<Handling, Error> {
        let name = required(call.params.name, "name")?;
        let prompt = self
            .0
            .prompts
            .get(&name, context.principal())
            .ok_or_else(|| Error::invalid_params(format!("Unknown prompt: {name:.128}")))?;
        prompt.access().check(context.principal())?;
        let context = self.context(call, context, Method::GetPrompt)?;
        Ok(prompt.get(call.params.arguments, context))
    }

    fn read_resource(&self, call: Call<'_>, context: Session) -> Result<Handling, Error> {
        let uri = required(call.params.uri, "uri")?;
        let principal = context.principal();
        if let Some(resource) = self.0.resources.get(&uri, principal) {
            resource.access().check(principal)?;
            let context = self.context(call, context, Method::ReadResource)?;
            return Ok(resource.read(uri.into_owned(), context));
        }
        let (template, variables) = self
            .template_of(&uri, principal)
            .map_err(|error| Error::invalid_params(format!("the URI is malformed: {error}")))?
            .ok_or_else(|| Error::resource_not_found(uri.clone().into_owned()))?;
        template.access().check(principal)?;
        let context = self.context(call, context, Method::ReadResource)?;
        Ok(template.read(Reading::new(uri.into_owned(), variables), context))
    }

    /// The template that a URI is made by, of those that this principal sees, and what it is made
    /// of. The URIs of what is registered were checked then; all others are here, which bounds the
    /// work of looking.
    fn template_of(
        &self,
        uri: &str,
        principal: Option<&Principal>,
    ) -> Result<Option<(Arc<TemplateEntry>, Variables)>, NameError> {
        check_uri(uri)?;
        let Some(uri) = DecodedUri::of(uri) else {
            return Ok(None);
        };
        let matched = |item: &TemplateEntry| item.template.matches_decoded(&uri);
        Ok(self.0.templates.find(principal, matched))
    }

    /// Whether there is something to be read at a URI, for this principal.
    fn knows_resource(&self, uri: &str, context: &Session) -> bool {
        let principal = context.principal();
        let listed = self.0.resources.get(uri, principal);
        if let Some(resource) = listed {
            return resource.access().check(principal).is_ok();
        }
        let found = self.template_of(uri, principal).ok().flatten();
        found.is_some_and(|(template, _)| template.access().check(principal).is_ok())
    }

    fn subscribe(&self, call: Call<'_>, context: &Session) -> Result<Handling, Error> {
        let uri = required(call.params.uri, "uri")?;
        if !self.knows_resource(&uri, context) {
            return Err(Error::resource_not_found(uri.into_owned()));
        }
        // Where there is no session, nobody could be told.
        if let Some(feed) = context.session_feed() {
            self.hub().follow(feed, &uri, self.0.max_subscriptions)?;
        }
        Ok(Reply::complete(EmptyResult::new()).into())
    }

    fn unsubscribe(&self, call: Call<'_>, context: &Session) -> Result<Handling, Error> {
        let uri = required(call.params.uri, "uri")?;
        if let Some(feed) = context.session_feed() {
            self.hub().unsubscribe(feed, &uri);
        }
        Ok(Reply::complete(EmptyResult::new()).into())
    }

    fn listen(&self, call: Call<'_>, context: Session) -> Result<Handling, Error> {
        let params: ListenParams = decode(call)?;
        let wanted = params.notifications;
        let capabilities = &self.0.identity.capabilities;
        let both = |wanted: Option<bool>, offered: bool| wanted.filter(|wanted| *wanted && offered);
        let mut honoured = SubscriptionFilter::new();
        honoured.tools_list_changed = both(wanted.tools_list_changed, capabilities.tools.is_some());
        honoured.prompts_list_changed =
            both(wanted.prompts_list_changed, capabilities.prompts.is_some());
        honoured.resources_list_changed = both(
            wanted.resources_list_changed,
            capabilities.resources.is_some(),
        );
        if let Some(mut uris) = wanted.resource_subscriptions {
            let mut named = HashSet::new();
            uris.retain(|uri| named.insert(uri.clone()));
            check_count(uris.len(), self.0.max_subscriptions)?;
            if capabilities.resources.is_some() {
                uris.retain(|uri| self.knows_resource(uri, &context));
                honoured.resource_subscriptions = Some(uris);
            }
        }
        let context = Context::new(context, self.clone(), None);
        Ok(Handling::Pending(Box::pin(subscription::listen(
            context, honoured,
        ))))
    }

    fn complete(&self, call: Call<'_>, context: Session) -> Result<Handling, Error> {
        let params: CompleteParams = decode(call)?;
        let argument = &params.argument.name;
        let unknown_argument = || {
            Error::invalid_params(format!(
                "there is no argument \"{argument:.128}\" to complete"
            ))
        };
        let completer = match &params.reference {
            Reference::Prompt(reference) => {
                let name = &reference.name;
                let prompt = self
                    .0
                    .prompts
                    .get(name, context.principal())
                    .ok_or_else(|| Error::invalid_params(format!("Unknown prompt: {name:.128}")))?;
                prompt.access().check(context.principal())?;
                if !prompt.has_argument(argument) {
                    return Err(unknown_argument());
                }
                prompt.completers.get(argument)
            }
            Reference::Resource(reference) => {
                let uri = &reference.uri;
                let principal = context.principal();
                let template = self.0.templates.get(uri, principal).or_else(|| {
                    let found = self.template_of(uri, principal).ok().flatten();
                    found.map(|(template, _)| template)
                });
                let template = template.ok_or_else(|| {
                    Error::invalid_params(format!("Unknown resource template: {uri:.256}"))
                })?;
                template.access().check(principal)?;
                if !template.template.variables().contains(&argument.as_str()) {
                    return Err(unknown_argument());
                }
                template.completers.get(argument)
            }
            _ => return Err(Error::invalid_params("unknown type of reference")),
        };
        let known = params
            .context
            .map(|context| context.arguments)
            .unwrap_or_default();
        let typing = Typing::new(params.argument.value, known);
        let context = Context::new(context, self.clone(), None);
        Ok(completion::suggest(completer, typing, context))
    }
}

fn set_level(call: Call<'_>, context: &Session) -> Result<Handling, Error> {
    let params: SetLevelParams = decode(call)?;
    // Where there is no session, nobody remembers it.
    if let Some(state) = context.session_state() {
        state.set_log_level(params.level);
    }
    Ok(Reply::complete(EmptyResult::new()).into())
}

fn unknown(name: &str) -> Error {
    Error::new(
        ErrorKind::UnknownMethod,
        format!("there is no method \"{name:.64}\" here"),
    )
}

/// A parameter that has to be there, as a string.
fn required<'a>(raw: Option<RawJson<'a>>, name: &str) -> Result<std::borrow::Cow<'a, str>, Error> {
    raw.and_then(RawJson::text)
        .ok_or_else(|| Error::invalid_params(format!("{name:?} must be there, as a string")))
}

/// Parameters that need more than was captured.
fn decode<T: serde::de::DeserializeOwned>(call: Call<'_>) -> Result<T, Error> {
    let raw = raw_params(call.text).map_or("{}", RawJson::as_str);
    serde_json::from_str(raw).map_err(|error| {
        let reason = shorten(&error.to_string());
        Error::invalid_params(format!("{}: {reason}", call.name))
    })
}
