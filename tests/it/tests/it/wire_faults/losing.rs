//! Messages that are lost, and messages that come twice: each of them once.

use turnbuckle_it::harness::Bind;
use turnbuckle_it::wires::{Harm, Script, Toward};

use super::{Scenario, all_hold, converse, places};

/// Returns every message of that conversation.
fn messages(place: Scenario) -> Vec<(usize, Toward, usize)> {
    let whole = converse(place, &Script::plain()).unwrap();
    let over_http = matches!(place.case.binding, Bind::Http | Bind::Sse);
    let mut all = Vec::new();
    for (number, wire) in whole.wires.iter().enumerate() {
        let there = if over_http { 1 } else { wire[0].frames() };
        // A body has at most so many events as it has pieces.
        let back = match over_http {
            true => wire[1].steps.len(),
            false => wire[1].frames(),
        };
        all.extend((0..there).map(|frame| (number, Toward::Server, frame)));
        all.extend((0..back).map(|frame| (number, Toward::Client, frame)));
    }
    all
}

fn each_message(what: &str, harm: fn(usize, Toward, usize) -> Harm) {
    let bindings = [Bind::Pipe, Bind::Stream, Bind::Http, Bind::Sse];
    let places = bindings.into_iter().flat_map(places);
    let harmed = places.flat_map(|place| {
        let all = messages(place).into_iter();
        all.map(move |(wire, toward, frame)| {
            converse(place, &Script::plain().harm(harm(wire, toward, frame)))
        })
    });
    all_hold(what, harmed);
}

#[test]
fn each_message_is_lost() {
    each_message("messages that are lost", Harm::Drop);
}

#[test]
fn each_message_comes_twice() {
    each_message("messages that come twice", Harm::Twice);
}
