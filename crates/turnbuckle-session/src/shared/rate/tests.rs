use super::*;

fn accounts(limits: Limits) -> RateAccounts {
    let budget = MemoryBudget::new(&limits);
    RateAccounts::new(Arc::new(limits), budget)
}

/// Returns whether each of so many tries passes at a time.
fn passing(bucket: &TokenBucket, now: Instant, tries: usize) -> usize {
    (0..tries).filter(|_| bucket.take(|| now).is_ok()).count()
}

#[test]
fn a_burst_passes_and_no_more() {
    let begin = Instant::now();
    let bucket = TokenBucket::full(Rate::per_second(10).burst(3), begin);
    assert_eq!(passing(&bucket, begin, 3), 3);
    assert_eq!(bucket.take(|| begin), Err(Duration::from_millis(100)));
    let later = begin + Duration::from_millis(99);
    assert_eq!(bucket.take(|| later), Err(Duration::from_millis(1)));
    let then = begin + Duration::from_millis(100);
    assert_eq!(passing(&bucket, then, 2), 1);
}

#[test]
fn the_clock_is_read_only_when_the_tokens_are_used_up() {
    let begin = Instant::now();
    let bucket = TokenBucket::full(Rate::per_second(5), begin);
    for _ in 0..5 {
        assert!(bucket.take(|| panic!("no need to look")).is_ok());
    }
    assert!(bucket.take(|| begin).is_err());
}

#[test]
fn what_is_saved_up_is_no_more_than_the_burst() {
    let begin = Instant::now();
    let bucket = TokenBucket::full(Rate::per_second(10).burst(3), begin);
    assert_eq!(passing(&bucket, begin, 3), 3);
    let tomorrow = begin + Duration::from_secs(86_400);
    assert_eq!(passing(&bucket, tomorrow, 10), 3);
    // Parts of a token are not lost: three quarters of one, twice.
    let quarters = |n: u32| tomorrow + Duration::from_millis(25) * n;
    assert_eq!(passing(&bucket, quarters(7), 5), 1);
    assert_eq!(passing(&bucket, quarters(14), 5), 2);
}

#[test]
fn never_is_never_and_unlimited_has_no_end() {
    let begin = Instant::now();
    let tomorrow = begin + Duration::from_secs(86_400);
    let never = TokenBucket::full(Rate::per_second(0), begin);
    assert_eq!(passing(&never, tomorrow, 3), 0);
    let always = TokenBucket::full(Rate::UNLIMITED, begin);
    assert_eq!(passing(&always, begin, 100_000), 100_000);
}

#[test]
fn over_a_long_time_the_rate_holds() {
    let begin = Instant::now();
    let bucket = TokenBucket::full(Rate::per_second(1000).burst(50), begin);
    let passed: usize = (0..10_000)
        .map(|milli| passing(&bucket, begin + Duration::from_millis(milli), 7))
        .sum();
    assert!((10_000..=10_050).contains(&passed), "{passed}");
}

#[test]
fn threads_share_what_there_is() {
    let begin = Instant::now();
    let bucket = TokenBucket::full(Rate::per_second(1000), begin);
    let passed: usize = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|_| scope.spawn(|| passing(&bucket, begin, 1000)))
            .collect();
        threads.into_iter().map(|it| it.join().unwrap()).sum()
    });
    assert_eq!(passed, 1000);
}

fn somebody(name: usize) -> Principal {
    Principal::new("https://issuer.example", name.to_string())
}

#[tokio::test(start_paused = true)]
async fn everybody_has_an_account_of_their_own_until_there_is_no_room() {
    let limits = Limits::new()
        .max_principals(2)
        .call_rate(Rate::per_second(1))
        .completion_rate(Rate::per_second(1));
    let accounts = accounts(limits);
    let of = |name| accounts.account_of(Some(&somebody(name)), None);
    assert!(Arc::ptr_eq(&of(1), &of(1)));
    for name in [1, 2] {
        assert!(of(name).admit(None).is_ok());
        assert!(of(name).admit(None).is_err(), "it is used up");
        assert!(of(name).admit(Some(Method::Complete)).is_ok());
    }
    // Nobody is idle: those who come share what is left.
    assert!(Arc::ptr_eq(&of(3), &of(4)));
    assert!(of(3).is_shared());
    assert!(of(3).admit(None).is_ok() && of(4).admit(None).is_err());
    // Those who are known are known for as long as they have something to pay off.
    tokio::time::sleep(Duration::from_millis(999)).await;
    assert!(of(5).is_shared());
    assert!(of(1).admit(None).is_err());
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert!(!of(5).is_shared());
    assert_eq!(accounts.lock_known().by_name.len(), 1);
}

#[test]
fn who_holds_an_account_keeps_it() {
    let accounts = accounts(Limits::new().max_principals(1));
    let kept = accounts.account_of(Some(&somebody(1)), None);
    assert!(accounts.account_of(Some(&somebody(2)), None).is_shared());
    assert!(Arc::ptr_eq(
        &kept,
        &accounts.account_of(Some(&somebody(1)), None)
    ));
}

#[test]
fn without_a_principal_the_connection_counts_and_without_one_everybody() {
    let limits = Limits::new();
    let accounts = accounts(limits.clone());
    let connection = RateAccount::new(&limits);
    let of = |connection| accounts.account_of(None, connection);
    assert!(Arc::ptr_eq(&of(Some(&connection)), &connection));
    assert!(Arc::ptr_eq(&of(None), &of(None)));
    let named = accounts.account_of(Some(&somebody(1)), Some(&connection));
    assert!(!Arc::ptr_eq(&named, &connection));
}

#[test]
fn what_ends_something_is_never_refused() {
    let never = Rate::per_second(0);
    let account = RateAccount::new(&Limits::new().call_rate(never).completion_rate(never));
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
fn so_many_run_at_a_time_for_one_and_any_number_for_all() {
    let limits = Limits::new().max_in_flight(2);
    let account = RateAccount::new(&limits);
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
    let everybody = Arc::new(RateAccount::with_sharing(
        &limits,
        &MemoryBudget::new(&limits),
        true,
    ));
    let _many: Vec<_> = (0..10).map(|_| everybody.start_request()).collect();
    assert!(everybody.admit(None).is_ok());
}
