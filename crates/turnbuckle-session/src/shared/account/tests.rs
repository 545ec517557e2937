use std::time::Duration;

use super::*;
use turnbuckle_types::ErrorKind;

fn accounts(limits: Limits) -> OwnerAccounts {
    let budget = MemoryBudget::new(&limits);
    OwnerAccounts::new(Arc::new(limits), budget)
}

fn is_same(one: &OwnerAccount, other: &OwnerAccount) -> bool {
    Arc::ptr_eq(&one.usage, &other.usage)
}

fn principal(name: usize) -> Principal {
    Principal::new("https://issuer.example", name.to_string())
}

#[tokio::test(start_paused = true)]
async fn each_owner_has_its_own_account_until_the_table_is_full() {
    let limits = Limits::new()
        .max_principals(2)
        .call_rate(Rate::per_second(1))
        .completion_rate(Rate::per_second(1));
    let accounts = accounts(limits);
    let of = |name| accounts.account_of(Some(&principal(name)), None);
    assert!(is_same(&of(1), &of(1)));
    for name in [1, 2] {
        assert!(of(name).admit(None).is_ok());
        assert!(of(name).admit(None).is_err(), "it is used up");
        assert!(of(name).admit(Some(Method::Complete)).is_ok());
    }
    // Nobody is idle: those who come share what is left.
    assert!(is_same(&of(3), &of(4)));
    assert!(of(3).is_shared());
    assert!(of(3).admit(None).is_ok() && of(4).admit(None).is_err());
    // Those who are known are known for as long as they have something to pay off.
    tokio::time::sleep(Duration::from_millis(999)).await;
    assert!(of(5).is_shared());
    assert!(of(1).admit(None).is_err());
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert!(!of(5).is_shared());
    assert_eq!(accounts.by_principal.lock().unwrap().len(), 1);
}

#[test]
fn the_account_of_a_session_or_of_used_memory_is_not_forgotten() {
    let accounts = accounts(Limits::new().max_principals(1));
    let of = |name| accounts.account_of(Some(&principal(name)), None);
    let session = AccountLease::new(of(1).into_owned());
    assert!(of(2).is_shared());
    assert!(is_same(session.account(), &of(1)));
    drop(session);
    let table = || accounts.by_principal.lock().unwrap().len();
    let is_idle = || of(1).is_idle(Instant::now());
    assert!(is_idle());
    let memory = of(1).memory().reserve_beyond_limits(1);
    assert!(!is_idle());
    drop(memory);
    assert!(is_idle());
    assert_eq!(table(), 1);
}

#[test]
fn an_account_belongs_to_the_principal_or_else_the_connection() {
    let limits = Limits::new();
    let accounts = accounts(limits.clone());
    let connection = OwnerAccount::new(&limits);
    let of = |connection| accounts.account_of(None, connection);
    assert!(is_same(&of(Some(&connection)), &connection));
    assert!(is_same(&of(None), &of(None)));
    let named = accounts.account_of(Some(&principal(1)), Some(&connection));
    assert!(!is_same(&named, &connection));
}

#[test]
fn pings_handshakes_and_unsubscriptions_are_never_limited() {
    let never = Rate::per_second(0);
    let account = OwnerAccount::new(&Limits::new().call_rate(never).completion_rate(never));
    for method in [Method::Ping, Method::Initialize, Method::Unsubscribe] {
        assert!(account.admit(Some(method)).is_ok());
    }
    for (method, setting) in [
        (Some(Method::CallTool), "(Limits::call_rate)"),
        (None, "(Limits::call_rate)"),
        (Some(Method::Complete), "(Limits::completion_rate)"),
    ] {
        let error = account.admit(method).unwrap_err();
        assert!(error.message().contains(setting), "{error}");
        assert!(matches!(error.kind(), ErrorKind::RateLimited { .. }));
    }
}

#[test]
fn running_requests_are_limited_for_each_owner_and_not_in_all() {
    let limits = Limits::new().max_in_flight(2);
    let account = OwnerAccount::new(&limits);
    let one = account.start_request();
    assert!(account.admit(None).is_ok());
    let two = account.start_request();
    let error = account.admit(None).unwrap_err();
    assert!(
        error.message().contains("(Limits::max_in_flight)"),
        "{error}"
    );
    assert!(account.admit(Some(Method::Ping)).is_ok());
    drop((one, two));
    assert!(account.admit(None).is_ok());
    let everybody = OwnerAccount::with_sharing(&limits, &MemoryBudget::new(&limits), true);
    let _many: Vec<_> = (0..10).map(|_| everybody.start_request()).collect();
    assert!(everybody.admit(None).is_ok());
}

#[test]
fn a_client_known_by_its_address_has_an_account_there_and_takes_no_place_of_principals() {
    let accounts = accounts(Limits::new().max_principals(1).max_in_flight(1));
    let at = |address: &str| accounts.account_at(address.parse().unwrap());
    let (one, same) = (at("2001:db8::1"), at("2001:db8::2"));
    assert!(is_same(&one, &same), "one network");
    let _running = one.start_request();
    assert!(same.admit(None).is_err() && !one.is_shared());
    let _held = one.memory().reserve(7).unwrap();
    assert_eq!(same.memory().address().unwrap().used(), 7);
    // The second address shares an account with those after it; each has its own memory.
    let (two, three) = (at("192.0.2.2"), at("192.0.2.3"));
    assert!(two.is_shared() && is_same(&two, &three));
    let _held = two.memory().reserve(5).unwrap();
    assert_eq!(three.memory().address().unwrap().used(), 0);
    assert_eq!(three.memory().used(), 0);
    assert!(!accounts.account_of(Some(&principal(1)), None).is_shared());
}
