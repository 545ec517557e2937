use super::*;

fn budget(owner: usize, total: usize) -> Arc<MemoryBudget> {
    MemoryBudget::new(&Limits::new().max_owner_bytes(owner).max_total_bytes(total))
}

#[test]
fn an_owner_has_its_share_and_others_have_theirs() {
    let budget = budget(10, 1000);
    let (one, two) = (budget.new_account(), budget.new_account());
    let held = one.reserve(10).unwrap();
    let refused = one.reserve(1).unwrap_err();
    assert_eq!(refused, MemoryExceeded::Owner { limit: 10 });
    assert!(refused.to_string().contains("Limits::max_owner_bytes"));
    assert!(two.reserve(10).is_ok());
    drop(held);
    assert!(one.reserve(10).is_ok());
    assert_eq!((one.used(), budget.used()), (0, 0));
}

#[test]
fn an_owner_leaves_to_the_others_as_much_as_it_has() {
    let budget = budget(1000, 100);
    let owners: Vec<_> = (0..20).map(|_| budget.new_account()).collect();
    let mut held: Vec<MemoryPermit> = Vec::new();
    // All but one take whatever they get.
    for owner in &owners[1..] {
        while let Ok(permit) = owner.reserve(1) {
            held.push(permit);
        }
    }
    assert_eq!(owners[1].used(), 50, "half of what is there");
    assert!(budget.used() < 100, "there is some left for the last");
    let refused = owners[1].reserve(1).unwrap_err();
    assert_eq!(refused, MemoryExceeded::Total { limit: 100 });
    assert!(refused.to_string().contains("Limits::max_total_bytes"));
    drop(held);
    assert_eq!(budget.used(), 0);
}

#[test]
fn an_address_leaves_to_the_others_as_much_as_its_owners_have() {
    let budget = budget(1000, 100);
    let place = IpAddr::from([192, 0, 2, 1]);
    let address = budget.address(place);
    let mut held: Vec<MemoryPermit> = Vec::new();
    // Any number of owners at the address take whatever they get.
    for _ in 0..20 {
        let owner = budget
            .new_account()
            .with_address(Some(budget.address(place)));
        while let Ok(permit) = owner.reserve(1) {
            held.push(permit);
        }
    }
    assert_eq!((address.used(), budget.used()), (50, 50));
    let elsewhere = budget.address(IpAddr::from([192, 0, 2, 2]));
    let other = budget.new_account().with_address(Some(elsewhere));
    assert!(other.reserve(25).is_ok(), "half of what is left");
    // An owner at another address has its share there, and its bytes count for both.
    let owner = budget.new_account();
    let here = owner.with_address(Some(address.clone()));
    let there = owner.with_address(Some(budget.address(IpAddr::from([192, 0, 2, 3]))));
    assert!(here.reserve(1).is_err());
    let there = there.reserve(10).unwrap();
    assert_eq!(owner.used(), 10);
    drop((held, there));
    assert_eq!((address.used(), budget.used(), owner.used()), (0, 0, 0));
}

#[test]
fn an_address_is_known_while_anyone_holds_it() {
    let budget = budget(10, 100);
    let place: IpAddr = "2001:db8::1".parse().unwrap();
    let same_network: IpAddr = "2001:db8::2:0:0:1".parse().unwrap();
    let address = budget.address(place);
    assert!(Arc::ptr_eq(&address, &budget.address(same_network)));
    drop(address);
    assert!(budget.addresses().is_empty());
}

#[test]
fn bytes_that_join_those_of_another_account_count_there() {
    let budget = budget(100, 1000);
    let (one, two) = (budget.new_account(), budget.new_account());
    let mut permit = one.reserve(10).unwrap();
    permit.absorb(two.reserve(5).unwrap());
    assert_eq!((permit.bytes(), one.used(), two.used()), (15, 15, 0));
    drop(permit);
    assert_eq!((one.used(), budget.used()), (0, 0));
}

#[test]
fn a_permit_grows_shrinks_and_goes_with_its_bytes() {
    let budget = budget(100, 1000);
    let owner = budget.new_account();
    let mut permit = owner.reserve(10).unwrap();
    permit.resize(60).unwrap();
    assert!(permit.resize(101).is_err());
    assert_eq!((permit.bytes(), owner.used()), (60, 60));
    permit.resize(5).unwrap();
    permit.absorb(owner.reserve(2).unwrap());
    assert_eq!((permit.bytes(), owner.used()), (7, 7));
    let bytes = permit.attach(&b"content"[..]);
    let part = bytes.slice(2..4);
    drop(bytes);
    assert_eq!(owner.used(), 7);
    drop(part);
    assert_eq!((owner.used(), budget.used()), (0, 0));
    let beyond = owner.reserve_beyond_limits(5000);
    assert!(owner.reserve(1).is_err());
    drop(beyond);
    assert!(owner.reserve(1).is_ok());
}

/// A table that has nothing to give, and counts how often it is asked.
#[derive(Default)]
struct EmptyTable {
    streams: AtomicUsize,
    sessions: AtomicUsize,
}

impl EvictMemory for EmptyTable {
    fn evict_ended_streams(&self, _: &dyn Fn() -> bool) {
        self.streams.fetch_add(1, Ordering::Relaxed);
    }

    fn evict_idle_sessions(&self, _: &dyn Fn() -> bool) {
        self.sessions.fetch_add(1, Ordering::Relaxed);
    }
}

impl EmptyTable {
    fn new(budget: &MemoryBudget) -> Arc<Self> {
        let table = Arc::new(Self::default());
        budget.add_evictor(Arc::downgrade(&table) as Weak<dyn EvictMemory>);
        table
    }

    /// Returns how often ended streams, and idle sessions, were asked for.
    fn count(&self) -> (usize, usize) {
        let load = |count: &AtomicUsize| count.load(Ordering::Relaxed);
        (load(&self.streams), load(&self.sessions))
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_is_evicted_for_an_owner_that_cannot_fit() {
    let budget = budget(1000, 100);
    let table = EmptyTable::new(&budget);
    let (one, other) = (budget.new_account(), budget.new_account());
    let _held = (one.reserve(40).unwrap(), other.reserve(20).unwrap());
    // More than half of all.
    assert!(one.reserve(20).is_err());
    assert_eq!(table.count(), (0, 0));
    // More than it leaves to the others: nobody's session ends for that.
    assert!(one.reserve(9).is_err());
    assert_eq!(table.count(), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn a_search_in_vain_is_not_repeated_at_once() {
    let budget = budget(1000, 100);
    let table = EmptyTable::new(&budget);
    let owners: Vec<_> = (0..4).map(|_| budget.new_account()).collect();
    let mut held = Vec::new();
    for owner in &owners[..3] {
        while let Ok(permit) = owner.reserve_free(1) {
            held.push(permit);
        }
    }
    let last = &owners[3];
    assert!(last.reserve(20).is_err() && last.reserve(20).is_err());
    assert_eq!(table.count(), (1, 1));
    tokio::time::advance(RETRY_DELAY).await;
    assert!(last.reserve(20).is_err());
    assert_eq!(table.count(), (2, 2));
}

#[test]
fn bytes_beyond_the_limits_count_for_the_address_and_are_given_back_there() {
    let budget = budget(1000, 100);
    let address = budget.address(IpAddr::from([192, 0, 2, 1]));
    let owner = budget.new_account().with_address(Some(address.clone()));
    let mut beyond = owner.reserve_beyond_limits(500);
    assert_eq!(
        (owner.used(), address.used(), budget.used()),
        (500, 500, 500)
    );
    beyond.resize_beyond_limits(700);
    assert_eq!(
        (owner.used(), address.used(), budget.used()),
        (700, 700, 700)
    );
    beyond.resize_beyond_limits(20);
    assert_eq!((owner.used(), address.used(), budget.used()), (20, 20, 20));
    assert!(owner.reserve(41).is_err());
    assert_eq!(address.used(), 20, "what is refused is not held");
    drop(beyond);
    assert_eq!((owner.used(), address.used(), budget.used()), (0, 0, 0));
}

#[test]
fn permits_of_two_addresses_are_not_one_permit() {
    let budget = budget(1000, 1000);
    let owner = budget.new_account();
    let at = |last| owner.with_address(Some(budget.address(IpAddr::from([192, 0, 2, last]))));
    let (here, there) = (at(1), at(2));
    let mut permit = here.reserve(10).unwrap();
    permit.absorb(there.reserve(5).unwrap());
    let used = |account: &MemoryAccount| account.address().unwrap().used();
    assert_eq!((used(&here), used(&there), owner.used()), (15, 0, 15));
    drop(permit);
    assert_eq!((used(&here), used(&there), owner.used()), (0, 0, 0));
}
