//! Log messages of a server, and the level that a client wants.

use crate::object::object;
use crate::words::words;
use crate::{Json, Meta};

words! {
    /// The severity of a log message, by RFC 5424, the least severe first.
    ///
    /// Specification: server/utilities/logging (2026-07-28).
    #[derive(PartialOrd, Ord)]
    pub enum LoggingLevel {
        /// Details for debugging.
        Debug = "debug",
        /// A normal event.
        Info = "info",
        /// A normal event that matters.
        Notice = "notice",
        /// An event that may lead to an error.
        Warning = "warning",
        /// An operation failed.
        Error = "error",
        /// A part of the system failed.
        Critical = "critical",
        /// Somebody must act now.
        Alert = "alert",
        /// The system is unusable.
        Emergency = "emergency",
    }
}

object! {
    /// Parameters of `logging/setLevel`.
    ///
    /// Specification: server/utilities/logging (2025-11-25).
    pub struct SetLevelRequestParams {
        /// The least serious level that the client wants.
        req level: LoggingLevel = "level",
        /// Metadata.
        map meta: Meta = "_meta",
    }

    /// Parameters of `notifications/message`.
    pub struct LoggingMessageNotificationParams {
        /// The severity.
        req level: LoggingLevel = "level",
        /// The message: a string or any other JSON value. Secrets do not belong here.
        req data: Json = "data",
        /// The part of the server that says it.
        opt logger: String = "logger",
        /// Metadata.
        map meta: Meta = "_meta",
    }
}
