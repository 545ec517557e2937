//! Everything at once, by seeds. A seed that fails is printed, and `TURNBUCKLE_SEED` tries it alone;
//! `TURNBUCKLE_SEEDS` has more of them tried, or others.

use turnbuckle_it::harness::Bind;
use turnbuckle_it::wires::{Harm, Rng, Script, Toward, seeds};

use super::{Exchange, Scenario, all_hold, converse, places};

const ALL: [Bind; 4] = [Bind::Pipe, Bind::Stream, Bind::Http, Bind::Sse];

/// Returns the script of a seed: delays and pieces, and up to three faults.
fn script(seed: u64, place: Scenario) -> Script {
    let name = place.to_string();
    let mut rng = Rng::new(seed, &format!("harm {name}"));
    let mut script = Script::harmless(seed, &name);
    for _ in 0..rng.between(1, 3) {
        let wire = rng.between(0, 4);
        let toward = [Toward::Server, Toward::Client][rng.between(0, 1)];
        let frame = rng.between(0, 4);
        script = script.harm(match rng.below(3) {
            0 => Harm::Drop(wire, toward, frame),
            1 => Harm::Twice(wire, toward, frame),
            _ if place.case.binding == Bind::Pipe => Harm::Cut(wire, toward, frame),
            _ => Harm::Cut(wire, toward, rng.between(0, 900)),
        });
    }
    script
}

#[test]
fn under_every_seed_every_request_ends_and_nothing_is_left() {
    let tried = seeds(4).flat_map(|seed| {
        let places = ALL.into_iter().flat_map(places);
        places.map(move |place| converse(place, &script(seed, place)))
    });
    all_hold("conversations under seeds", tried);
}

#[test]
fn delays_and_fragments_do_not_change_the_outcome() {
    for place in ALL.into_iter().flat_map(places) {
        let plain = converse(place, &Script::plain()).unwrap();
        for seed in seeds(1) {
            let script = Script::harmless(seed, &place.to_string());
            let shaken = converse(place, &script).unwrap();
            assert_eq!(shaken.ends, plain.ends, "{place} {script:?}");
            assert!(!shaken.wires.is_empty());
        }
    }
}

/// Checks that a seed is repeatable: the same bytes at the same times.
#[test]
fn a_seed_replays() {
    let steps = |place, script: &Script| {
        let run = converse(place, script).unwrap();
        let steps = run.wires.into_iter();
        let steps: Vec<_> = steps.map(|wire| wire.map(|passed| passed.steps)).collect();
        (run.ends, steps)
    };
    for place in ALL.into_iter().flat_map(places) {
        for seed in seeds(1) {
            let script = script(seed, place);
            let (first, again) = (steps(place, &script), steps(place, &script));
            assert_eq!(first, again, "{place} {script:?}");
        }
    }
    // And another seed does something else.
    let place = places(Bind::Stream)
        .into_iter()
        .find(|place| place.exchange == Exchange::Progress)
        .unwrap();
    let others: Vec<_> = (1..9)
        .map(|seed| steps(place, &script(seed, place)).1)
        .collect();
    assert!(others.iter().any(|other| *other != others[0]));
}
