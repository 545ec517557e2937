use turnbuckle_types::SecretKey;

use super::*;

const NOW: u64 = 1_800_000_000;
const UNTIL: u64 = NOW + DEFAULT_STATE_TTL_SECS;

fn ring(byte: u8) -> StateKeys {
    StateKeys::for_request_state(&KeyRing::new(SecretKey::from_bytes([byte; 32])))
}

fn principal() -> Principal {
    Principal::new("https://as", "ada").client("cli")
}

fn binding() -> StateBinding<'static> {
    StateBinding {
        method: "tools/call",
        target: "book",
        arguments: "{\"seat\":1,}",
        principal: None,
    }
}

fn asked_by(principal: Option<&Principal>) -> StateBinding<'_> {
    StateBinding {
        principal,
        ..binding()
    }
}

#[test]
fn a_sealed_payload_opens_to_the_same_bytes() {
    for payload in [b"".as_slice(), b"seat=4A", &[0xff; MAX_STATE_BYTES]] {
        let state = ring(1).seal(&binding(), UNTIL, payload).unwrap();
        assert_eq!(ring(1).open(&binding(), NOW, &state).unwrap(), payload);
    }
}

#[test]
fn a_payload_over_the_limit_is_not_sealed() {
    let sealed = ring(1).seal(&binding(), UNTIL, &[0; MAX_STATE_BYTES + 1]);
    assert_eq!(sealed, Err(SealError::TooLarge));
}

#[test]
fn the_same_payload_never_looks_the_same_and_is_not_readable() {
    let seal = || ring(1).seal(&binding(), UNTIL, b"seat=4A").unwrap();
    let (one, other) = (seal(), seal());
    assert_ne!(one, other);
    let bytes = URL_SAFE_NO_PAD.decode(&one).unwrap();
    assert!(!bytes.windows(4).any(|window| window == b"seat"));
}

#[test]
fn every_changed_bit_is_refused() {
    let state = ring(1).seal(&binding(), UNTIL, b"payload").unwrap();
    let bytes = URL_SAFE_NO_PAD.decode(&state).unwrap();
    for bit in 0..bytes.len() * 8 {
        let mut changed = bytes.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        let changed = URL_SAFE_NO_PAD.encode(changed);
        let opened = ring(1).open(&binding(), NOW, &changed);
        assert_eq!(opened, Err(StateError::NotOurs), "bit {bit}");
    }
}

#[test]
fn every_changed_character_is_refused() {
    let state = ring(1).seal(&binding(), UNTIL, b"payload!").unwrap();
    for at in 0..state.len() {
        for bit in 0..7 {
            let mut changed = state.clone().into_bytes();
            changed[at] ^= 1 << bit;
            let changed = String::from_utf8(changed).unwrap();
            assert!(
                ring(1).open(&binding(), NOW, &changed).is_err(),
                "{at} {bit}"
            );
        }
    }
}

#[test]
fn cut_extended_and_foreign_strings_are_refused() {
    let state = ring(1).seal(&binding(), UNTIL, b"payload").unwrap();
    for at in 0..state.len() {
        assert!(ring(1).open(&binding(), NOW, &state[..at]).is_err(), "{at}");
    }
    for other in [
        format!("{state}-TAMPERED"),
        format!("{state}="),
        format!("{state}A"),
        "AEAD-protected blob".to_owned(),
        "A".repeat(MAX_SEALED_BYTES + 4),
    ] {
        assert!(
            ring(1).open(&binding(), NOW, &other).is_err(),
            "{other:.40}"
        );
    }
}

#[test]
fn a_state_moved_to_another_request_is_refused() {
    let state = ring(1).seal(&binding(), UNTIL, b"payload").unwrap();
    for other in [
        StateBinding {
            method: "tools/cal",
            ..binding()
        },
        StateBinding {
            method: "prompts/get",
            ..binding()
        },
        StateBinding {
            target: "cook",
            ..binding()
        },
        StateBinding {
            method: "tools/callb",
            target: "ook",
            ..binding()
        },
        StateBinding {
            arguments: "{\"seat\":2,}",
            ..binding()
        },
        StateBinding {
            principal: Some(&principal()),
            ..binding()
        },
    ] {
        let opened = ring(1).open(&other, NOW, &state);
        assert_eq!(opened, Err(StateError::NotOurs), "{other:?}");
    }
}

#[test]
fn a_state_moved_to_another_principal_is_refused() {
    let owner = principal();
    let state = ring(1)
        .seal(&asked_by(Some(&owner)), UNTIL, b"payload")
        .unwrap();
    assert!(ring(1).open(&asked_by(Some(&owner)), NOW, &state).is_ok());
    let scoped = principal().scopes(["more"]);
    assert!(ring(1).open(&asked_by(Some(&scoped)), NOW, &state).is_ok());
    assert_eq!(
        ring(1).open(&asked_by(None), NOW, &state),
        Err(StateError::NotOurs)
    );
    for other in [
        Principal::new("https://at", "ada").client("cli"),
        Principal::new("https://as", "adb").client("cli"),
        Principal::new("https://asa", "da").client("cli"),
        Principal::new("https://as", "ada").client("clj"),
        Principal::new("https://as", "adac").client("li"),
        Principal::new("https://as", "ada").client(""),
        Principal::new("https://as", "ada"),
        Principal::new("", ""),
    ] {
        let opened = ring(1).open(&asked_by(Some(&other)), NOW, &state);
        assert_eq!(opened, Err(StateError::NotOurs), "{other:?}");
    }
}

#[test]
fn a_state_expires() {
    let state = ring(1).seal(&binding(), UNTIL, b"payload").unwrap();
    assert!(ring(1).open(&binding(), UNTIL - 1, &state).is_ok());
    for late in [UNTIL, UNTIL + 1, u64::MAX] {
        assert_eq!(
            ring(1).open(&binding(), late, &state),
            Err(StateError::Expired)
        );
    }
}

#[test]
fn a_cursor_is_no_request_state() {
    let keys = KeyRing::new(SecretKey::from_bytes([1; 32]));
    let cursors = StateKeys::for_cursors(&keys);
    let cursor = cursors.seal(&binding(), UNTIL, b"cursor").unwrap();
    assert!(cursors.open(&binding(), NOW, &cursor).is_ok());
    assert_eq!(
        ring(1).open(&binding(), NOW, &cursor),
        Err(StateError::NotOurs)
    );
}
