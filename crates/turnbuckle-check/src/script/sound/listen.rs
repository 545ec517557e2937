//! Subscriptions of the modern era.

use serde_json::{Map, json};

use super::call::Call;
use super::change::{Listener, SUBSCRIPTION};
use super::refusal::{Answer, Refusal};

/// Ends a subscription when the request is given up.
struct Subscribed<'a>(&'a Call);

impl Drop for Subscribed<'_> {
    fn drop(&mut self) {
        self.0.sound.remove_subscription(&self.0.id, &self.0.outlet);
    }
}

impl Call {
    /// Serves a subscription until the client ends it.
    pub(super) async fn listen(&self) -> Answer {
        let Some(filter) = self.params["notifications"].as_object() else {
            return Err(Refusal::new(-32602, "there is no filter"));
        };
        let kinds = [
            "toolsListChanged",
            "promptsListChanged",
            "resourcesListChanged",
        ];
        let mut accepted = Map::new();
        for (name, wanted) in filter {
            let is_known = kinds.contains(&name.as_str()) && *wanted == true
                || name == "resourceSubscriptions" && wanted.is_array();
            if is_known {
                accepted.insert(name.clone(), wanted.clone());
            }
        }
        let params = json!({"_meta": {SUBSCRIPTION: self.id}, "notifications": accepted});
        self.outlet
            .notify("notifications/subscriptions/acknowledged", params);
        let _subscribed = Subscribed(self);
        self.sound.add_listener(Listener::Subscription {
            id: self.id.clone(),
            filter: accepted,
            outlet: self.outlet.clone(),
        });
        std::future::pending().await
    }
}
