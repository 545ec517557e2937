//! The things that clients do and should not. None of it is answered with a hang, and nothing stays of
//! it; what the server has to do about it is held where it can be seen.

mod asked;
mod older;
mod pipes;
mod sessions;
mod sockets;
mod streams;

use std::pin::Pin;

use crate::address::ServerAddress;
use crate::problem::Problem;
use crate::random::Random;

type Doing = Pin<Box<dyn Future<Output = Result<(), Problem>> + Send>>;

/// A way to behave: its name, how often of a hundred or so, and what is done.
pub(crate) struct Misbehaviour {
    pub(crate) name: &'static str,
    weight: usize,
    pub(crate) act: fn(ServerAddress, Random) -> Doing,
}

macro_rules! ways {
    ($($weight:literal $module:ident::$name:ident,)*) => {
        /// Every way.
        pub(crate) const WAYS: &[Misbehaviour] = &[$(Misbehaviour {
            name: stringify!($name),
            weight: $weight,
            act: |place, random| Box::pin($module::$name(place, random)),
        }),*];
    };
}

ways! {
    3 sockets::half_open,
    4 sockets::slow_head,
    4 sockets::slow_body,
    6 sockets::cut_off,
    6 sockets::garbage,
    3 sockets::too_large,
    3 sockets::many_at_once,
    6 sessions::greets_only,
    6 sessions::never_closes,
    6 sessions::deletes_in_mid_call,
    5 sessions::cancels_everything,
    5 sessions::answers_what_was_not_asked,
    3 sessions::at_the_limits,
    8 streams::hangs_up_modern,
    8 streams::hangs_up_legacy,
    3 streams::never_reads,
    4 streams::resumes_wrongly,
    5 streams::subscribes_and_vanishes,
    5 streams::follows_and_vanishes,
    4 asked::never_answers,
    4 asked::never_comes_back,
    4 older::opens_and_vanishes,
    4 older::hangs_up_in_mid_call,
    2 older::never_reads,
    1 pipes::writes_garbage,
    1 pipes::is_killed_or_leaves,
}

/// Returns one of the ways.
pub(crate) fn any(random: &mut Random) -> &'static Misbehaviour {
    let all: usize = WAYS.iter().map(|way| way.weight).sum();
    let mut at = random.below(all);
    for way in WAYS {
        match at.checked_sub(way.weight) {
            Some(less) => at = less,
            None => return way,
        }
    }
    &WAYS[0]
}
