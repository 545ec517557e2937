//! The handshake that opens a legacy session, and how both sides name themselves.

use crate::object::object;
use crate::{ClientCapabilities, Icon, Meta, ServerCapabilities};

object! {
    /// The name and version of a client or a server, as it says itself: for display and logs, not
    /// for decisions.
    ///
    /// Specification: basic/index, `_meta` (2026-07-28).
    pub struct Implementation {
        /// The name for programs.
        req name: String = "name",
        /// The version.
        req version: String = "version",
        /// The name for people.
        opt title: String = "title",
        /// The description.
        opt description: String = "description",
        /// The URL of its page on the web.
        opt website_url: String = "websiteUrl" is uri,
        /// The icons.
        opt icons: Vec<Icon> = "icons",
    }

    /// Parameters of `initialize`.
    ///
    /// Specification: basic/lifecycle (2025-11-25).
    pub struct InitializeRequestParams {
        /// The newest revision that the client speaks.
        req protocol_version: String = "protocolVersion",
        /// The capabilities of the client.
        req capabilities: ClientCapabilities = "capabilities",
        /// The name and version of the client.
        req client_info: Implementation = "clientInfo",
        /// Metadata.
        map meta: Meta = "_meta",
    }

    /// Result of `initialize`.
    ///
    /// Specification: basic/lifecycle (2025-11-25).
    pub struct InitializeResult {
        /// The revision that the session will speak.
        req protocol_version: String = "protocolVersion",
        /// The capabilities of the server.
        req capabilities: ServerCapabilities = "capabilities",
        /// The name and version of the server.
        req server_info: Implementation = "serverInfo",
        /// Instructions for the model.
        opt instructions: String = "instructions",
        /// Metadata.
        map meta: Meta = "_meta",
    }
}
