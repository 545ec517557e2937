//! Messages that a handler sends while its request runs: progress, log messages and other
//! notifications.

use std::borrow::Cow;
use std::sync::Arc;

use serde::Serialize;
use tracing::{Instrument as _, Span};
use turnbuckle_types::base::text::Escaped;
use turnbuckle_types::{
    LoggingLevel, LoggingMessageNotificationParams, Number, ProgressNotificationParams,
};
use turnbuckle_wire::era::Project;
use turnbuckle_wire::era::headers::SESSION_ID;
use turnbuckle_wire::revision::Method;
use turnbuckle_wire::rpc;

use super::RequestContext;
use super::progress::{ProgressThrottle, ReportOutcome};
use crate::server::change::ChangeNotification;
use crate::server::tasks;
use crate::shared::account::OwnerAccount;
use crate::shared::reply_sink::{retry_until_space, send_when_space};
use crate::shared::trace::{Side, TracedNotification, has_spans, notification_span};
use crate::shared::transport::Binding;

impl RequestContext {
    /// Reports progress, if the client asked for it. Values that do not increase are not sent,
    /// nor are values beyond the range of floats.
    ///
    /// Waits while the client is too far behind to take more.
    ///
    /// Specification: basic/patterns/progress (2026-07-28).
    pub async fn progress(&self, progress: impl Into<Number>, total: Option<Number>) {
        self.report_progress(progress.into(), total, None).await;
    }

    /// Reports progress with a message for the user; see [`progress`](Self::progress).
    pub async fn progress_message(
        &self,
        progress: impl Into<Number>,
        total: Option<Number>,
        message: impl Into<String>,
    ) {
        self.report_progress(progress.into(), total, Some(message.into()))
            .await;
    }

    async fn report_progress(
        &self,
        progress: Number,
        total: Option<Number>,
        message: Option<String>,
    ) {
        let Some(token) = &self.state.progress_token else {
            return match self.outlet() {
                None => {}
                Some(outlet) => match outlet.request() {
                    None => outlet.report(progress, total, message),
                    Some(request) => {
                        Box::pin(request.report_progress(progress, total, message)).await;
                    }
                },
            };
        };
        let value = progress.as_f64();
        if !value.is_finite() {
            return;
        }
        let mut params = ProgressNotificationParams::new(token.clone(), progress);
        params.total = total.filter(|total| total.as_f64().is_finite());
        params.message = message;
        let new = || {
            Some(Box::new(ProgressThrottle::new(
                self.state.account.progress(),
            )))
        };
        let Some(throttle) = self.state.lazy.progress.get_or_init(new) else {
            return;
        };
        match throttle.report(value, params, |params| self.send_progress(params)) {
            ReportOutcome::Done => {}
            ReportOutcome::Delayed(delay) => {
                let state = Arc::downgrade(&self.state);
                let cancelled = self.state.signal.get().clone();
                tasks::run_after(delay, state, cancelled, |state| {
                    Self { state }.send_latest_progress();
                });
            }
            ReportOutcome::QueueFull => {
                let retry = || throttle.retry(|params| self.send_progress(params));
                retry_until_space(self.sink(), self.state.signal.get(), retry).await;
            }
        }
    }

    /// Sends a progress report unless the request was cancelled. Returns whether there was space.
    fn send_progress(&self, params: &mut ProgressNotificationParams) -> bool {
        if self.is_cancelled() {
            return true;
        }
        if !params.fits(self.state.features) {
            params.project(self.state.features);
        }
        let frame = rpc::encode_notification(Method::Progress.as_str(), Some(params));
        let is_sent = frame.map_or(true, |frame| self.sink().send(frame).is_ok());
        if is_sent {
            self.notification_span(Method::Progress.as_str(), None);
        }
        is_sent
    }

    /// Sends the latest report that was held back, if there is one. It replaces those before it.
    fn send_latest_progress(&self) {
        if let Some(Some(throttle)) = self.state.lazy.progress.get() {
            throttle.send_latest(|params| self.send_progress(params));
        }
    }

    /// Sends the latest report that was held back, and lets no other follow. A reader that is too
    /// far behind gets the response without it.
    pub(super) fn finish_progress(&self) {
        if self.state.progress_token.is_some()
            && let Some(throttle) = self.state.lazy.progress.get_or_init(|| None)
        {
            throttle.finish(|params| self.send_progress(params));
        }
    }

    /// Returns the lowest level of log messages that the client wants for this request; `None` if it
    /// wants none, or the server did not declare the logging capability.
    #[must_use]
    pub fn log_level(&self) -> Option<LoggingLevel> {
        if let Some(outlet) = self.outlet() {
            return outlet.request()?.log_level();
        }
        if !self.state.logging_declared {
            return None;
        }
        match self.state.client.legacy() {
            Some(legacy) => Some(legacy.log_level()),
            None => self.state.log_level,
        }
    }

    /// Sends a log message if the client wants messages of that level. A legacy client sets the
    /// level for its session, a modern client for each request. Sends nothing if the server did
    /// not declare the logging capability.
    ///
    /// Specification: server/utilities/logging (2026-07-28).
    pub async fn log<T: Serialize + ?Sized>(
        &self,
        level: LoggingLevel,
        logger: Option<&str>,
        data: &T,
    ) {
        if let Some(outlet) = self.outlet() {
            // No revision has log messages for what no request waits for.
            if let Some(request) = outlet.request()
                && let Ok(data) = serde_json::value::to_raw_value(data)
            {
                Box::pin(request.log(level, logger, &data)).await;
            }
            return;
        }
        let is_wanted = match self.state.client.legacy() {
            Some(legacy) => legacy.should_send_log(level),
            None => self.state.log_level.is_some_and(|lowest| level >= lowest),
        };
        if !is_wanted || !self.state.logging_declared {
            return;
        }
        match self.log_account().admit_log() {
            None => return,
            Some(0) => {}
            Some(dropped) => {
                let notice = format!("{dropped} log messages were left out (Limits::log_rate)");
                if let Ok(notice) = serde_json::value::to_raw_value(&notice) {
                    let params = LoggingMessageNotificationParams::new(level, notice);
                    self.notify(Method::LoggingMessage.as_str(), params).await;
                }
            }
        }
        let Ok(data) = serde_json::value::to_raw_value(data) else {
            return;
        };
        let mut params = LoggingMessageNotificationParams::new(level, data);
        params.logger = logger.map(Into::into);
        self.notify(Method::LoggingMessage.as_str(), params).await;
    }

    /// Returns the account that this request's log messages count on. A shared account is not
    /// used: a client is not told how many messages for other clients were dropped.
    fn log_account(&self) -> &OwnerAccount {
        let account: &OwnerAccount = &self.state.account;
        match account.is_shared() {
            true => {
                let own = &self.state.lazy.log_account;
                own.get_or_init(|| account.with_same_rates())
            }
            false => account,
        }
    }

    /// Sends a notification that belongs to this request, on the request's own stream.
    ///
    /// Waits while the client is too far behind to take more.
    pub async fn notify<P: Serialize + Project>(&self, method: &str, mut params: P) {
        if !params.fits(self.state.features) {
            params.project(self.state.features);
        }
        match rpc::encode_notification(method, Some(&params)) {
            Ok(frame) => self.send_notification(method, None, frame).await,
            Err(error) => {
                tracing::warn!(method, error = %Escaped(&error), "a notification could not be encoded")
            }
        }
    }

    /// Sends the notification of a change; see [`notify`](Self::notify).
    pub async fn send_change(&self, change: ChangeNotification) {
        let uri = change.uri.as_deref();
        self.send_notification(&change.method, uri, change.frame)
            .await;
    }

    /// Sends an encoded notification, of which there is no span; see [`notify`](Self::notify).
    pub async fn send_frame(&self, frame: Vec<u8>) {
        send_when_space(self.sink(), self.state.signal.get(), frame).await;
    }

    /// Sends an encoded notification, in a span if one is wanted.
    async fn send_notification(&self, method: &str, uri: Option<&str>, frame: Vec<u8>) {
        let sending = send_when_space(self.sink(), self.state.signal.get(), frame);
        match has_spans() {
            false => drop(sending.await),
            // Boxed, so that the future of a notification without a span does not grow.
            true => {
                let span = self.notification_span(method, uri);
                Box::pin(sending.instrument(span)).await;
            }
        }
    }

    fn notification_span(&self, method: &str, uri: Option<&str>) -> Span {
        notification_span(|| {
            let state = &self.state;
            let head = state.transport.http.as_deref();
            let head = head.filter(|_| state.binding == Binding::Session);
            TracedNotification {
                side: Side::Client,
                method,
                uri: uri.map(Cow::Borrowed),
                features: Some(state.features),
                transport: state.transport.name(state.binding),
                session_id: head.and_then(|head| head.header(SESSION_ID)),
                parent: None,
            }
        })
    }

    /// Closes the connection of this request's SSE stream without ending the stream, if the client
    /// can resume it: frees the connection of a request that takes long. The client reconnects for
    /// the rest.
    ///
    /// Specification: basic/transports, "Resumability and Redelivery" (2025-11-25).
    pub fn close_sse_stream(&self) {
        if self.state.features.polling_streams {
            self.sink().close_sse_stream();
        }
    }
}
