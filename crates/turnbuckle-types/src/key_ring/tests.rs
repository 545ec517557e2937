use super::*;

const USE: KeyLabel = KeyLabel::new("use");
const OTHER: KeyLabel = KeyLabel::new("other use");

fn key(byte: u8) -> SecretKey {
    SecretKey::from_bytes([byte; KEY_BYTES])
}

fn keys(byte: u8) -> DerivedKeys {
    KeyRing::new(key(byte)).derive(USE)
}

#[test]
fn a_sealed_value_opens_with_the_same_key_use_and_context_alone() {
    let sealed = keys(1).seal(b"a", b"plain").unwrap();
    assert_eq!(sealed.len(), 5 + DerivedKeys::OVERHEAD);
    assert_eq!(keys(1).open(b"a", &sealed).unwrap(), b"plain");
    assert_eq!(keys(2).open(b"a", &sealed), None);
    assert_eq!(keys(1).open(b"b", &sealed), None);
    assert_eq!(KeyRing::new(key(1)).derive(OTHER).open(b"a", &sealed), None);
    assert_ne!(sealed, keys(1).seal(b"a", b"plain").unwrap());
}

#[test]
fn every_changed_bit_and_every_shorter_value_is_refused() {
    let sealed = keys(1).seal(b"a", b"plain").unwrap();
    for bit in 0..sealed.len() * 8 {
        let mut changed = sealed.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(keys(1).open(b"a", &changed), None, "bit {bit}");
    }
    for length in 0..sealed.len() {
        assert_eq!(keys(1).open(b"a", &sealed[..length]), None, "{length}");
    }
}

#[test]
fn a_key_is_replaced_without_a_gap() {
    let before = KeyRing::new(key(1));
    let announced = before.clone().with_previous(key(2));
    let after = KeyRing::new(key(2)).with_previous(key(1));
    let rings = [before, announced, after].map(|ring| ring.derive(USE));
    for (one, other) in [(0, 1), (1, 0), (1, 2), (2, 1)] {
        let sealed = rings[one].seal(b"", b"plain").unwrap();
        assert_eq!(rings[other].open(b"", &sealed).unwrap(), b"plain");
    }
    let sealed = rings[2].seal(b"", b"plain").unwrap();
    assert_eq!(rings[0].open(b"", &sealed), None);
}

#[test]
fn derived_secrets_differ_by_key_and_label_and_are_the_same_in_every_process() {
    let secret = |byte, label| {
        *KeyRing::new(key(byte))
            .derive(label)
            .secrets()
            .next()
            .unwrap()
    };
    assert_eq!(secret(1, USE), secret(1, USE));
    assert_ne!(secret(1, USE), secret(1, OTHER));
    assert_ne!(secret(1, USE), secret(2, USE));
    assert_eq!(
        SecretKey::from_bytes(secret(7, USE)).to_text(),
        "uNyPrLw8Rt0EVY-ogs_DDkYQnhus5slFskP5V4lszHU"
    );
}

#[test]
fn a_key_is_parsed_in_both_alphabets_with_or_without_padding() {
    let bytes = [0xfb; KEY_BYTES];
    let text = SecretKey::from_bytes(bytes).to_text();
    assert_eq!(text.len(), 43);
    let standard = text.replace('-', "+").replace('_', "/");
    let lines = format!("{text}=\n");
    for text in [text.as_str(), &standard, &format!("{standard}="), &lines] {
        assert_eq!(*SecretKey::parse(text).unwrap().0, bytes, "{text:?}");
    }
    for wrong in [
        "",
        "abc",
        &text[1..],
        &format!("{text}AA"),
        &"a".repeat(1 << 20),
    ] {
        let error = SecretKey::parse(wrong).unwrap_err();
        assert!(error.to_string().contains("turnbuckle keys generate"));
    }
}

#[test]
fn a_list_of_keys_is_parsed_and_its_faults_have_a_place() {
    let text = |byte| key(byte).to_text();
    let ring = KeyRing::parse(&format!("{}, {}", text(2), text(1))).unwrap();
    let sealed = keys(1).seal(b"", b"plain").unwrap();
    assert!(ring.derive(USE).open(b"", &sealed).is_some());
    for (wrong, expected) in [
        (format!("{},", text(1)), "key 2 of the list is wrong"),
        (format!("{0},{0}", text(1)), "key 2 of the list is the same"),
        (
            (0..17).map(text).collect::<Vec<_>>().join(","),
            "more than 16 keys",
        ),
    ] {
        let error = KeyRing::parse(&wrong).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
        assert!(!error.contains(&text(1)));
    }
    let error = KeyRing::from_env("TURNBUCKLE_NO_SUCH_KEYS").unwrap_err();
    assert!(
        error
            .to_string()
            .contains("TURNBUCKLE_NO_SUCH_KEYS is not set")
    );
}

#[test]
fn no_secret_is_shown() {
    let ring = KeyRing::new(key(1));
    assert_eq!(
        format!("{ring:?} {:?}", ring.derive(USE)),
        "KeyRing { keys: [SecretKey { .. }] } DerivedKeys { label: KeyLabel(\"use\"), .. }"
    );
}
