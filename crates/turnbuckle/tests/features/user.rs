//! The simulated user of a client, and the notifications that the client receives.

use std::sync::{Arc, Mutex};

use serde_json::json;
use turnbuckle::ClientBuilder;
use turnbuckle::apps;
use turnbuckle::client::{FormAnswer, Roots, UrlAnswer};
use turnbuckle::types::{
    CreateMessageResult, Json, RawObject, Role, Root, SamplingMessageContentBlock, TextContent,
};

use crate::server::EXTENSION;

/// The behaviour of the user when a server asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum User {
    /// Answers every question, with a text derived from the question.
    Answers,
    /// Cannot be asked: the client declares no such capability.
    Mute,
}

/// The notifications that a client received, in order.
#[derive(Debug, Default)]
pub(crate) struct NotificationLog(Mutex<Vec<String>>);

impl NotificationLog {
    pub(crate) fn push(&self, what: String) {
        self.0.lock().unwrap().push(what);
    }

    /// Returns and removes all notifications.
    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

impl User {
    pub(crate) fn configure_client(
        self,
        builder: ClientBuilder,
        notifications: &Arc<NotificationLog>,
    ) -> ClientBuilder {
        let notifications = notifications.clone();
        let builder = builder.on_log(move |log| {
            notifications.push(format!("{:?} {}", log.level, log.data.as_str()))
        });
        if self == Self::Mute {
            return builder;
        }
        let pages = json!({"mimeTypes": [apps::MIME_TYPE]});
        let builder = builder
            .extension(EXTENSION, RawObject::empty())
            .extension(apps::EXTENSION_ID, RawObject::encode(&pages).unwrap());
        let roots = Roots::new();
        roots.set([Root::new("file:///work").unwrap()]).unwrap();
        builder
            .roots(roots)
            .on_form(async |form, _| match form.message.as_str() {
                "decline" => FormAnswer::Decline,
                "cancel" => FormAnswer::Cancel,
                message => FormAnswer::accept([("word", message.to_uppercase())]),
            })
            .on_url(async |url, _| match url.host.as_str() {
                "example.com" => UrlAnswer::Accept,
                _ => UrlAnswer::Decline,
            })
            .on_sampling(async |params, _| {
                let asked = Json::encode(&params.messages).unwrap();
                let known = asked.as_str().contains("capital");
                let text = TextContent::new(if known { "Stockholm" } else { "?" });
                Ok(CreateMessageResult::new(
                    Role::Assistant,
                    SamplingMessageContentBlock::Text(text),
                    "model",
                ))
            })
    }
}
