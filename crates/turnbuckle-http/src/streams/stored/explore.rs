//! A model of a stream whose owner writes its log, and of a client that reads it here and there: every
//! order of events within bounds, with a store that delays, fails and is emptied, and an owner that is
//! paused, ends or is told to stop.

use std::collections::{HashSet, VecDeque};

use world::{BATCH, Faults, ONE, World};

mod world;

fn explore(messages: &'static [&'static str], faults: Faults) -> usize {
    let first = World::new(messages, faults);
    let mut known = HashSet::from([first.key()]);
    let mut next = VecDeque::from([first]);
    while let Some(world) = next.pop_front() {
        world.clone().close(true);
        world.clone().close(false);
        for event in world.events() {
            let mut then = world.clone();
            then.happen(event);
            if known.insert(then.key()) {
                next.push_back(then);
            }
        }
    }
    known.len()
}

const NONE: Faults = Faults {
    cuts: 1,
    failures: 0,
    pauses: 0,
    emptied: 0,
};

#[test]
fn a_client_has_each_response_or_its_error_once_wherever_it_comes_back() {
    let (cuts, failures, pauses) = (2, 1, 1);
    for (messages, faults) in [
        (
            ONE,
            Faults {
                cuts,
                pauses,
                ..NONE
            },
        ),
        (
            ONE,
            Faults {
                failures,
                pauses,
                ..NONE
            },
        ),
        (BATCH, Faults { pauses, ..NONE }),
    ] {
        let states = explore(messages, faults);
        println!("{faults:?}: {states} states");
        assert!(states > 1000, "the model has lost its states: {states}");
    }
}

#[test]
fn what_an_emptied_store_has_lost_is_never_taken_for_received() {
    let (emptied, pauses) = (1, 1);
    for (messages, faults) in [
        (
            ONE,
            Faults {
                emptied,
                pauses,
                ..NONE
            },
        ),
        (BATCH, Faults { emptied, ..NONE }),
    ] {
        let states = explore(messages, faults);
        println!("{faults:?}: {states} states");
        assert!(states > 1000, "the model has lost its states: {states}");
    }
}
