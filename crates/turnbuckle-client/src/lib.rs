//! The client side of the Model Context Protocol.
//!
//! A [`Client`] couples a program to one server, in whichever revision and over whichever transport
//! that server speaks. What a caller writes is the same for all of them.

mod answering;
mod budget;
mod builder;
mod cache;
mod call;
mod client;
mod connect;
mod error;
mod listening;
mod live;
mod method;
mod page;
mod progress;
mod router;
mod server;
mod subscription;
mod tools;

pub use answering::{Consent, Declined, Form, FormAnswer, Question, Roots, UrlRequest, UrlWarning};
pub use builder::ClientBuilder;
pub use call::Call;
pub use client::Client;
pub use error::Error;
pub use live::Reconnects;
pub use page::{List, ListMethod};
pub use method::ServerMethod;
pub use progress::Progress;
pub use server::{Era, ServerInfo, Verdict};
pub use subscription::{Interest, Subscription};
