//! A client and servers that go wrong: every request ends, in an error that says what happened,
//! within its deadline, and nothing is left behind.

mod answers;
mod dropping;
mod endings;
mod endless;
mod server_requests;
mod sessions;
mod steps;
mod stuck;

use turnbuckle_it::faults::{
    FAULTY, LEGACY, PEER_CASES, PeerTransport, fault, faulty, id_as_text, is_broken, is_silence,
    is_violation, text_of,
};
