//! Connections that are closed at every step, and in the middle of what they carry, in both
//! directions: not at some places, at all.

use turnbuckle_it::harness::Bind;
use turnbuckle_it::wires::{Harm, Script, Toward};

use super::{Run, Scenario, all_hold, at_length, converse, places};

const BOTH: [Toward; 2] = [Toward::Server, Toward::Client];

/// Returns every place at which a connection of that conversation can be closed.
fn cuts(place: Scenario) -> Vec<Harm> {
    let whole = converse(place, &Script::plain()).unwrap();
    assert!(
        whole.ends.iter().all(Result::is_ok),
        "{place}: {:?}",
        whole.ends
    );
    // The lines of a head are a part of it; more patience tries them, too.
    let by_lines = place.case.binding == Bind::Stream || at_length();
    let mut cuts = Vec::new();
    for (number, wire) in whole.wires.iter().enumerate() {
        for (toward, passed) in BOTH.into_iter().zip(wire) {
            let places = passed.cuts(by_lines);
            cuts.extend(places.into_iter().map(|at| Harm::Cut(number, toward, at)));
        }
    }
    cuts
}

fn closed(place: Scenario, cut: Harm) -> Result<Run, String> {
    let run = converse(place, &Script::plain().harm(cut))?;
    // One call may be in its way; the next has another connection.
    if let [.., one, next] = run.ends.as_slice()
        && one.is_err()
        && next.is_err()
    {
        return Err(format!("{place}: {cut:?}: {:?}", run.ends));
    }
    Ok(run)
}

fn at_every_step(binding: Bind) {
    let places = places(binding);
    let closed = places
        .into_iter()
        .flat_map(|place| cuts(place).into_iter().map(move |cut| closed(place, cut)));
    all_hold(&format!("places to close a {binding:?}"), closed);
}

#[test]
fn a_pair_of_queues_is_closed_at_every_step() {
    at_every_step(Bind::Pipe);
}

#[test]
fn a_stream_of_lines_is_closed_at_every_step() {
    at_every_step(Bind::Stream);
}

#[test]
fn an_exchange_of_http_is_closed_at_every_step() {
    at_every_step(Bind::Http);
}

#[test]
fn a_connection_of_http_sse_is_closed_at_every_step() {
    at_every_step(Bind::Sse);
}
