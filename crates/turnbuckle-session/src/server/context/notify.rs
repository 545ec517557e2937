//! What a handler says while its request runs: progress, log messages, other notifications.

use std::sync::Arc;

use serde::Serialize;
use turnbuckle_types::{
    LoggingLevel, LoggingMessageNotificationParams, Number, ProgressNotificationParams,
};
use turnbuckle_wire::era::Project;
use turnbuckle_wire::revision::Method;
use turnbuckle_wire::rpc;

use super::{ClientDetails, RequestContext, State};
use crate::server::progress::{ProgressThrottle, ReportOutcome};
use crate::shared::driver;
use crate::shared::rate::RateAccount;
use crate::{QueueFull, ReplySink, Signal};

impl RequestContext {
    /// Reports progress, if the client asked for it. Values that do not increase are not sent,
    /// nor are those beyond the range of floats.
    ///
    /// Waits while the client is too far behind to take more.
    ///
    /// Specification: basic/patterns/progress (2026-07-28).
    pub async fn progress(&self, progress: impl Into<Number>, total: Option<Number>) {
        self.report(progress.into(), total, None).await;
    }

    /// Reports progress with a message for the user; see [`progress`](Self::progress).
    pub async fn progress_message(
        &self,
        progress: impl Into<Number>,
        total: Option<Number>,
        message: impl Into<String>,
    ) {
        self.report(progress.into(), total, Some(message.into()))
            .await;
    }

    async fn report(&self, progress: Number, total: Option<Number>, message: Option<String>) {
        let Some(token) = &self.state.progress_token else {
            return;
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
        let Some(reports) = self.state.reports.get_or_init(new) else {
            return;
        };
        match reports.take(value, params, |params| self.say(params)) {
            ReportOutcome::Settled => {}
            ReportOutcome::Later(wait) => {
                let (state, over) = (Arc::downgrade(&self.state), self.state.signal.get().clone());
                driver::later(wait, state, over, |state| Self { state }.catch_up());
            }
            ReportOutcome::Full => {
                let retry = || reports.retry(|params| self.say(params));
                when_there_is_room(self.route(), self.state.signal.get(), retry).await;
            }
        }
    }

    /// Sends a report, unless nobody waits for it any more. Whether there was room for it.
    fn say(&self, params: &mut ProgressNotificationParams) -> bool {
        if self.is_cancelled() {
            return true;
        }
        if !params.fits(self.state.features) {
            params.project(self.state.features);
        }
        let frame = rpc::encode_notification(Method::Progress.as_str(), Some(params));
        frame.map_or(true, |frame| self.route().send(frame).is_ok())
    }

    /// Sends the newest report that came too fast, if there is one: it says what those before it
    /// said, and more.
    fn catch_up(&self) {
        if let Some(Some(reports)) = self.state.reports.get() {
            reports.newest(|params| self.say(params));
        }
    }

    /// The handler has ended: says the last of its progress, and nothing after that. A reader that
    /// is too far behind hears of the end instead. Whether an answer is still wanted.
    pub(crate) fn end(&self) -> bool {
        if self.state.progress_token.is_some()
            && let Some(reports) = self.state.reports.get_or_init(|| None)
        {
            reports.end(|params| self.say(params));
        }
        let is_wanted = !self.is_cancelled();
        self.cancel();
        is_wanted
    }

    /// Sends a log message, if the client wants those of that level: a legacy client by its
    /// session's level, a modern one by what this very request says. Nothing is sent by a server
    /// that did not declare logging.
    ///
    /// Specification: server/utilities/logging (2026-07-28).
    pub async fn log<T: Serialize + ?Sized>(
        &self,
        level: LoggingLevel,
        logger: Option<&str>,
        data: &T,
    ) {
        let wanted = match &self.state.sender {
            ClientDetails::Legacy { state, .. } | ClientDetails::Unknown { state } => {
                state.wants(level)
            }
            ClientDetails::Modern { .. } => {
                self.state.log_level.is_some_and(|least| level >= least)
            }
        };
        if !wanted || !self.state.logs {
            return;
        }
        match self.log_account().log() {
            None => return,
            Some(0) => {}
            Some(unsaid) => {
                let told = format!("{unsaid} log messages were left out (Limits::log_rate)");
                if let Ok(told) = serde_json::value::to_raw_value(&told) {
                    let params = LoggingMessageNotificationParams::new(level, told);
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

    /// Where its log messages are counted: nobody hears how many of somebody else's were left out.
    fn log_account(&self) -> &Arc<RateAccount> {
        let State { account, own, .. } = &*self.state;
        match account.is_shared() {
            true => own.get_or_init(|| account.fresh()),
            false => account,
        }
    }

    /// Sends a notification about this request on the request's own way back.
    ///
    /// Waits while the client is too far behind to take more.
    pub async fn notify<P: Serialize + Project>(&self, method: &str, mut params: P) {
        if !params.fits(self.state.features) {
            params.project(self.state.features);
        }
        match rpc::encode_notification(method, Some(&params)) {
            Ok(frame) => self.send_frame(frame).await,
            Err(error) => tracing::warn!(method, %error, "a notification could not be written"),
        }
    }

    /// Sends a notification that was encoded before; see [`notify`](Self::notify).
    #[doc(hidden)]
    pub async fn send_frame(&self, frame: Vec<u8>) {
        send(self.route(), self.state.signal.get(), frame).await;
    }

    /// Lets the client come back for the rest of the answer, where its stream can be resumed:
    /// frees the connection of a request that takes long.
    ///
    /// Specification: basic/transports, "Resumability and Redelivery" (2025-11-25).
    pub fn close_sse_stream(&self) {
        if self.state.features.polling_streams {
            self.route().close_sse_stream();
        }
    }
}

/// Sends on a route, waiting for room; nothing is sent once `signal` says cancelled. Whether it was.
pub(crate) async fn send(route: &dyn ReplySink, signal: &Signal, frame: Vec<u8>) -> bool {
    let mut left = Some(frame);
    let attempt = || {
        let sent = left.take().map_or(Ok(()), |frame| route.send(frame));
        left = sent.err().map(|QueueFull(frame)| frame);
        left.is_none()
    };
    when_there_is_room(route, signal, attempt).await
}

/// Tries until there was room on a route; not any more once `signal` says cancelled. Whether there
/// was.
async fn when_there_is_room(
    route: &dyn ReplySink,
    signal: &Signal,
    mut attempt: impl FnMut() -> bool,
) -> bool {
    loop {
        if signal.is_cancelled() {
            return false;
        }
        let mut space = std::pin::pin!(route.wait_for_space());
        space.as_mut().enable();
        if attempt() {
            return true;
        }
        tokio::select! {
            () = space => {}
            () = signal.cancelled() => return false,
        }
    }
}
