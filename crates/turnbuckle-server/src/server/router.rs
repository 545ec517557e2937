//! Dispatch of requests and notifications: from a method to its typed handler.

use std::collections::HashSet;
use std::sync::Arc;

use turnbuckle_session::handler::{Change, Peer, RequestContext};
use turnbuckle_session::internal::{
    ChangeFeed, HandlerOutcome, IncomingNotification, IncomingRequest, NotificationFuture,
    RestoredSubscriptions, ServerIdentity,
};
use turnbuckle_session::transport::{Dispatch, HttpNeeds};
#[cfg(feature = "store")]
use turnbuckle_types::base::change_position::ChangePosition;
use turnbuckle_types::base::text::shorten;
use turnbuckle_types::{
    Audit, DecodedUri, EmptyResult, ErrorKind, KeyRing, Principal, ProtocolError, RawJson,
    SetLevelRequestParams, SubscriptionFilter, SubscriptionsListenRequestParams, TemplateVariables,
};
use turnbuckle_wire::era::params::raw_params;
use turnbuckle_wire::era::{Params, Reply};
use turnbuckle_wire::revision::Method;

use crate::Server;
use crate::items::CatalogItem;
use crate::items::prompt::PromptEntry;
use crate::items::resource::{ResourceEntry, TemplateEntry};
use crate::items::tool::ToolEntry;
use crate::name_rules::{NameError, check_uri};
use crate::request::context::HandlerContext;
use crate::request::input::{BoundRequest, InputRound};
use crate::request::read::ReadRequest;
use crate::server::listen::listen;
use crate::server::provided::{pending, unknown_prompt, unknown_tool};
use crate::server::redirect::with_params;
use crate::server::subscription::check_subscription_count;
#[cfg(feature = "tasks")]
use crate::server::tasks::TaskForm;

impl Dispatch for Server {
    fn identity(&self) -> &ServerIdentity {
        &self.0.identity
    }

    fn start(&self) {
        self.0.extensions.start_background(self);
    }

    fn mirrored_param(&self, method: &str) -> Option<&'static str> {
        self.0.extensions.mirrored_param(method)
    }

    fn redirect<'a>(&self, method: &str, params: &Params<'a>) -> Option<Params<'a>> {
        match Method::parse(method) {
            Some(Method::CallTool) => self.redirect_call(params),
            _ => None,
        }
    }

    fn call(&self, call: IncomingRequest<'_>, context: RequestContext) -> HandlerOutcome {
        // An endpoint may have been made outside of a runtime.
        self.0.extensions.start_background(self);
        match self.route(call, context) {
            Ok(handling) => handling,
            Err(error) => Reply::Error(error).into(),
        }
    }

    fn handle_notification(
        &self,
        notice: IncomingNotification<'_>,
        peer: &Peer,
    ) -> Option<NotificationFuture> {
        match notice.method {
            Some(Method::RootsListChanged) => Some(self.0.roots_changed.as_ref()?(peer.clone())),
            Some(_) => None,
            None => self.0.extensions.notify(notice.name, notice.text, peer),
        }
    }

    fn session_opened(&self, peer: &Peer) {
        let capabilities = &self.0.identity.capabilities;
        let lists = [
            (capabilities.tools.is_some(), Change::Tools),
            (capabilities.prompts.is_some(), Change::Prompts),
            (capabilities.resources.is_some(), Change::Resources),
        ];
        let declared = lists.into_iter().filter(|(declared, _)| *declared);
        let lists = declared.map(|(_, change)| change);
        self.0.subscriptions.open(peer.change_feed(), lists);
    }

    fn restore_subscriptions(&self, peer: &Peer, restored: RestoredSubscriptions<'_>) {
        self.apply_subscriptions(peer, restored);
    }

    fn session_closed(&self, feed: &Arc<ChangeFeed>) {
        self.0.subscriptions.remove_feed(feed);
    }

    #[cfg(feature = "store")]
    fn catch_up(
        &self,
        feed: &Arc<ChangeFeed>,
        position: ChangePosition,
    ) -> Option<NotificationFuture> {
        self.catch_up_subscriber(feed, position)
    }

    fn http_needs(&self) -> HttpNeeds {
        self.0.registration.http_needs.get()
    }

    fn audit(&self) -> Option<&Arc<dyn Audit>> {
        self.0.audit.as_ref()
    }

    fn keys(&self) -> Option<&KeyRing> {
        Some(&self.0.keys)
    }

    #[cfg(feature = "tasks")]
    fn join_work(&self) -> NotificationFuture {
        match &self.0.tasks {
            Some(tasks) => {
                let tasks = Arc::clone(tasks);
                Box::pin(async move { tasks.join_runs().await })
            }
            None => Box::pin(std::future::ready(())),
        }
    }

    #[cfg(feature = "store")]
    fn cluster(&self) -> Option<&Arc<turnbuckle_cluster::Cluster>> {
        self.0.cluster.as_ref()
    }

    fn has_shared_keys(&self) -> bool {
        self.0.has_shared_keys
    }

    fn scopes(&self) -> Vec<String> {
        self.0.catalogs.required_scopes()
    }
}

impl Server {
    /// Calls the handler of the request's method.
    fn route(
        &self,
        call: IncomingRequest<'_>,
        context: RequestContext,
    ) -> Result<HandlerOutcome, ProtocolError> {
        let Some(method) = call.method else {
            let context = HandlerContext::new(context, self.0.settings.clone(), None);
            let answer = self.0.extensions.answer(call.name, call.text, context)?;
            return answer.ok_or_else(|| unknown_method(call.name));
        };
        if !self.offers(method) {
            return Err(unknown_method(call.name));
        }
        match method {
            Method::CallTool => self.call_tool(call, context),
            Method::ListTools
            | Method::ListPrompts
            | Method::ListResources
            | Method::ListResourceTemplates => self.list_in_layers(method, call, context),
            Method::GetPrompt => self.get_prompt(call, context),
            Method::ReadResource => self.read_resource(call, context),
            Method::Subscribe => self.subscribe(call, context),
            Method::Unsubscribe => self.unsubscribe(call, &context),
            Method::SubscriptionsListen => self.listen(call, context),
            Method::Complete => self.complete(call, context),
            Method::SetLevel => set_level(call, &context),
            #[cfg(feature = "tasks")]
            Method::LegacyGetTask
            | Method::TaskResult
            | Method::ListTasks
            | Method::LegacyCancelTask => {
                let tasks = self
                    .0
                    .tasks
                    .as_ref()
                    .ok_or_else(|| unknown_method(call.name))?;
                tasks.answer_core(method, call, context)
            }
            _ => Err(unknown_method(call.name)),
        }
    }

    /// Answers a list request.
    pub(crate) fn list_items(
        &self,
        method: Method,
        call: IncomingRequest<'_>,
        context: &RequestContext,
    ) -> Result<HandlerOutcome, ProtocolError> {
        match method {
            Method::ListTools => self.list::<ToolEntry>(call, context),
            Method::ListPrompts => self.list::<PromptEntry>(call, context),
            Method::ListResources => self.list::<ResourceEntry>(call, context),
            Method::ListResourceTemplates => self.list::<TemplateEntry>(call, context),
            _ => Err(unknown_method(call.name)),
        }
    }

    /// Returns whether the server declared the capability that a method needs.
    fn offers(&self, method: Method) -> bool {
        let capabilities = &self.0.identity.capabilities;
        method
            .capability()
            .is_none_or(|capability| capability.is_declared_by_server(capabilities))
    }

    /// Creates the handler's context; for a retry of a modern request, with the answers and the
    /// state that it brings back.
    fn context(
        &self,
        call: IncomingRequest<'_>,
        context: RequestContext,
        method: Method,
    ) -> Result<HandlerContext, ProtocolError> {
        let round: Option<InputRound> =
            if context.is_legacy() || InputRound::is_first_round(call.params) {
                None
            } else {
                self.0.settings.input_rounds.open(
                    call.params,
                    &BoundRequest::new(method, call.params),
                    &context,
                )?
            };
        Ok(HandlerContext::new(context, self.0.settings.clone(), round))
    }

    fn call_tool(
        &self,
        call: IncomingRequest<'_>,
        context: RequestContext,
    ) -> Result<HandlerOutcome, ProtocolError> {
        let redirected = self.redirect_call(call.params);
        // Request state is bound to the message as it came.
        let (received, call) = (call, with_params(call, redirected.as_ref()));
        let name = required_string(call.params.name, "name")?;
        let tool = self.0.catalogs.tools.get(&name, context.principal());
        match &tool {
            Some(tool) => tool.access().check_scopes(context.principal())?,
            None if self.may_provide_tool(&name) => {}
            None => return Err(unknown_tool(&name, &context)),
        }
        let arguments = call.params.arguments;
        if let Some(other) = arguments.filter(|arguments| !arguments.is_object()) {
            return Err(ProtocolError::invalid_params(format!(
                "the arguments of the tool {name:.128} must be an object, got {}",
                shorten(other.as_str())
            )));
        }
        let context = self.context(received, context, Method::CallTool)?;
        #[cfg(feature = "tasks")]
        if let (Some(tool), Some(tasks)) = (&tool, &self.0.tasks)
            && let Some(form) = TaskForm::of_call(tool, &context)?
        {
            tool.check_headers(arguments, call.headers)?;
            return Ok(tasks.call(tool.clone(), arguments, form, context));
        }
        Ok(match tool {
            Some(tool) => tool.call(arguments, call.headers, context),
            None => pending(self.clone().call_provided_tool(name.into_owned(), context)),
        })
    }

    fn get_prompt(
        &self,
        call: IncomingRequest<'_>,
        context: RequestContext,
    ) -> Result<HandlerOutcome, ProtocolError> {
        let name = required_string(call.params.name, "name")?;
        let prompt = self.0.catalogs.prompts.get(&name, context.principal());
        match &prompt {
            Some(prompt) => prompt.access().check_scopes(context.principal())?,
            None if self.may_provide_prompt(&name) => {}
            None => return Err(unknown_prompt(&name, &context)),
        }
        let context = self.context(call, context, Method::GetPrompt)?;
        Ok(match prompt {
            Some(prompt) => prompt.get(call.params.arguments, context),
            None => pending(self.clone().get_provided_prompt(name.into_owned(), context)),
        })
    }

    fn read_resource(
        &self,
        call: IncomingRequest<'_>,
        context: RequestContext,
    ) -> Result<HandlerOutcome, ProtocolError> {
        let uri = required_string(call.params.uri, "uri")?;
        let principal = context.principal();
        if let Some(resource) = self.0.catalogs.resources.get(&uri, principal) {
            resource.access().check_scopes(principal)?;
            let context = self.context(call, context, Method::ReadResource)?;
            return Ok(resource.read(uri.into_owned(), context));
        }
        let found = self.find_template(&uri, principal).map_err(|error| {
            ProtocolError::invalid_params(format!("the URI is malformed: {error}"))
        })?;
        match &found {
            Some((template, _)) => template.access().check_scopes(principal)?,
            None if self.may_provide_resource(&uri) => {}
            None => return Err(ProtocolError::resource_not_found(uri.into_owned())),
        }
        let context = self.context(call, context, Method::ReadResource)?;
        let uri = uri.into_owned();
        Ok(match found {
            Some((template, variables)) => template.read(ReadRequest::new(uri, variables), context),
            None => pending(self.clone().read_provided_resource(uri, context)),
        })
    }

    /// Finds the first template, visible to this principal, that matches a URI, and returns it with
    /// its variables.
    ///
    /// The length and syntax of the URI are checked first, which bounds the work of matching.
    pub(super) fn find_template(
        &self,
        uri: &str,
        principal: Option<&Principal>,
    ) -> Result<Option<(Arc<TemplateEntry>, TemplateVariables)>, NameError> {
        check_uri(uri)?;
        let Some(uri) = DecodedUri::decode(uri) else {
            return Ok(None);
        };
        let matched = |item: &TemplateEntry| item.template.matches_decoded(&uri);
        Ok(self.0.catalogs.templates.find(principal, matched))
    }

    /// Returns whether a registered resource or template has the URI.
    ///
    /// # Errors
    /// If the principal lacks a scope that it requires.
    pub(super) fn find_readable(
        &self,
        uri: &str,
        context: &RequestContext,
    ) -> Result<bool, ProtocolError> {
        let principal = context.principal();
        let listed = self.0.catalogs.resources.get(uri, principal);
        if let Some(resource) = listed {
            resource.access().check_scopes(principal)?;
            return Ok(true);
        }
        let found = self.find_template(uri, principal).ok().flatten();
        let Some((template, _)) = found else {
            return Ok(false);
        };
        template.access().check_scopes(principal)?;
        Ok(true)
    }

    fn listen(
        &self,
        call: IncomingRequest<'_>,
        context: RequestContext,
    ) -> Result<HandlerOutcome, ProtocolError> {
        let params: SubscriptionsListenRequestParams = decode_params(call)?;
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
        let mut unregistered = Vec::new();
        if let Some(mut uris) = wanted.resource_subscriptions {
            let mut named = HashSet::new();
            uris.retain(|uri| named.insert(uri.clone()));
            check_subscription_count(uris.len(), self.0.subscription_limits.per_subscriber)?;
            if capabilities.resources.is_some() {
                let readable = |uri: &String| matches!(self.find_readable(uri, &context), Ok(true));
                (uris, unregistered) = uris.into_iter().partition(readable);
                unregistered.retain(|uri| self.may_provide_resource(uri));
                honoured.resource_subscriptions = Some(uris);
            }
        }
        let context = HandlerContext::new(context, self.0.settings.clone(), None);
        Ok(HandlerOutcome::Pending(Box::pin(listen(
            self.clone(),
            context,
            honoured,
            unregistered,
            wanted.extra,
        ))))
    }
}

fn set_level(
    call: IncomingRequest<'_>,
    context: &RequestContext,
) -> Result<HandlerOutcome, ProtocolError> {
    let params: SetLevelRequestParams = decode_params(call)?;
    // Without a session there is nowhere to keep the level.
    if let Some(state) = context.legacy_state() {
        state.set_log_level(params.level);
    }
    Ok(Reply::complete(EmptyResult::new()).into())
}

fn unknown_method(name: &str) -> ProtocolError {
    ProtocolError::new(
        ErrorKind::MethodNotFound,
        format!("there is no method \"{name:.64}\" here"),
    )
}

/// Returns a required parameter as a string.
pub(super) fn required_string<'a>(
    raw: Option<RawJson<'a>>,
    name: &str,
) -> Result<std::borrow::Cow<'a, str>, ProtocolError> {
    raw.and_then(RawJson::text).ok_or_else(|| {
        ProtocolError::invalid_params(format!("{name:?} must be there, as a string"))
    })
}

/// Decodes all parameters of a request, where the captured ones are not enough.
pub(crate) fn decode_params<T: serde::de::DeserializeOwned>(
    call: IncomingRequest<'_>,
) -> Result<T, ProtocolError> {
    let raw = raw_params(call.text).map_or("{}", RawJson::as_str);
    serde_json::from_str(raw).map_err(|error| {
        let reason = shorten(&error.to_string());
        ProtocolError::invalid_params(format!("{}: {reason}", call.name))
    })
}
