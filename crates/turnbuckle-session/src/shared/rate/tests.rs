use super::*;

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
fn a_token_bucket_saves_at_most_its_burst() {
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
fn threads_share_a_token_bucket() {
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
