//! Every message that is encoded for a revision is one of that revision, by its official schema.

mod alone;
mod conversation;
mod judge;
mod methods;
mod projection;
mod samples;
