//! Log messages from a server, and how many of them a client wants.

use crate::object::object;
use crate::words::words;
use crate::{Json, Meta};

words! {
    /// How serious a log message is: the severities of RFC 5424, the least serious first.
    ///
    /// Specification: server/utilities/logging (2026-07-28).
    #[derive(PartialOrd, Ord)]
    pub enum LogLevel {
        /// For whoever looks for a fault.
        Debug = "debug",
        /// Something went as it should.
        Info = "info",
        /// Something normal but worth noting.
        Notice = "notice",
        /// Something that may lead to a fault.
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
    pub struct SetLevelParams {
        /// The least serious level that the client wants.
        req level: LogLevel = "level",
        /// Metadata.
        map meta: Meta = "_meta",
    }
}

object! {
    /// Parameters of `notifications/message`.
    pub struct LogParams {
        /// How serious it is.
        req level: LogLevel = "level",
        /// What is said: a string or any other JSON value. Secrets do not belong here.
        req data: Json = "data",
        /// The part of the server that says it.
        opt logger: String = "logger",
        /// Metadata.
        map meta: Meta = "_meta",
    }
}
