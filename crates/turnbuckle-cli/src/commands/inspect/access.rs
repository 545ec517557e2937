//! The right to use the page: one-time codes, the cookies that they buy, and the places that requests
//! may come from.
//!
//! The port is open to every program and every user of the machine, and to every page in the user's
//! browser. A request is served if the browser says that it comes from the page itself, and if it has a
//! cookie that a code was exchanged for. Codes are printed on the user's terminal alone.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http::header::{COOKIE, HOST, HeaderMap, HeaderName, ORIGIN};
use sha2::{Digest as _, Sha256};
use tokio::time::Instant;
use turnbuckle_types::base::random::{self, RandomnessUnavailable};

/// The time in which a code can be used.
pub(super) const CODE_LIFETIME: Duration = Duration::from_secs(300);

/// The most browsers that are logged in. The one that logged in first is logged out.
const MAX_LOGINS: usize = 16;

/// The most wrong codes and cookies of a minute. After that none is looked at until the minute is over,
/// except that a cookie which is right goes on to work.
const MAX_FAILURES: u32 = 30;
const FAILURES_PERIOD: Duration = Duration::from_secs(60);

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// The reason why a request is not served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    /// The request was sent to another name than that of the page, or by another page.
    Foreign,
    /// The request has no cookie or code, or a wrong one.
    Unknown,
    /// There were too many wrong codes and cookies.
    TooMany,
}

/// The codes and cookies of one run of the Inspector.
pub(super) struct Access {
    hosts: [String; 2],
    cookie_name: String,
    state: Mutex<State>,
}

type Hash = [u8; 32];

#[derive(Default)]
struct State {
    /// The hash of the code that can be used, and its end.
    code: Option<(Hash, Instant)>,
    /// The browsers that are logged in, the oldest first.
    logins: VecDeque<Login>,
    /// The number of failures since the time.
    failures: Option<(u32, Instant)>,
}

/// A browser that is logged in.
struct Login {
    code: Hash,
    cookie: Hash,
}

impl Access {
    /// Creates the access to a page at this port of 127.0.0.1. Nobody has it yet.
    pub(super) fn new(port: u16) -> Self {
        Self {
            hosts: [format!("127.0.0.1:{port}"), format!("localhost:{port}")],
            // Browsers keep one set of cookies for all ports of a host.
            cookie_name: format!("turnbuckle-{port}"),
            state: Mutex::default(),
        }
    }

    /// Returns a new code. The one before it cannot be used any more.
    pub(super) fn new_code(&self) -> Result<String, RandomnessUnavailable> {
        let code = random::secret()?;
        self.lock().code = Some((hash(&code), Instant::now() + CODE_LIFETIME));
        Ok(code)
    }

    /// Returns the value of `Set-Cookie` for a code, which is used up. The browser that has used the code
    /// already gets none, and needs none.
    ///
    /// If another browser uses it again, one of the two is not the user's, and both are logged out.
    pub(super) fn log_in(
        &self,
        code: &str,
        headers: &HeaderMap,
    ) -> Result<Option<String>, Refusal> {
        let (code, now) = (hash(code), Instant::now());
        let mut state = self.lock();
        if state.has_too_many_failures() {
            return Err(Refusal::TooMany);
        }
        let is_right = |known: &mut (Hash, Instant)| known.0 == code && now < known.1;
        if state.code.take_if(is_right).is_none() {
            let own = self.cookie(headers);
            let is_own = |login: &Login| login.code == code && Some(login.cookie) == own;
            if state.logins.iter().any(is_own) {
                return Ok(None);
            }
            state.logins.retain(|login| login.code != code);
            state.add_failure();
            return Err(Refusal::Unknown);
        }
        let cookie = random::secret().map_err(|_| Refusal::Unknown)?;
        if state.logins.len() == MAX_LOGINS {
            state.logins.pop_front();
        }
        let login = Login {
            code,
            cookie: hash(&cookie),
        };
        state.logins.push_back(login);
        let name = &self.cookie_name;
        Ok(Some(format!(
            "{name}={cookie}; Path=/; HttpOnly; SameSite=Strict"
        )))
    }

    /// Checks where a request comes from: only the page itself, and an address that the user typed.
    pub(super) fn check_origin(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        let is_own = |host: &[u8]| self.hosts.iter().any(|own| own.as_bytes() == host);
        let is_own_origin = |origin: &[u8]| origin.strip_prefix(b"http://").is_some_and(is_own);
        let is_own_site = |site: &[u8]| matches!(site, b"same-origin" | b"none");
        let is_allowed = one(headers, &HOST).is_some_and(|host| host.is_some_and(is_own))
            && one(headers, &ORIGIN).is_some_and(|origin| origin.is_none_or(is_own_origin))
            && one(headers, &SEC_FETCH_SITE).is_some_and(|site| site.is_none_or(is_own_site));
        match is_allowed {
            true => Ok(()),
            false => Err(Refusal::Foreign),
        }
    }

    /// Checks the cookie of a request.
    pub(super) fn check_cookie(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        let given = self.cookie(headers).ok_or(Refusal::Unknown)?;
        let mut state = self.lock();
        if state.logins.iter().any(|login| login.cookie == given) {
            return Ok(());
        }
        if state.has_too_many_failures() {
            return Err(Refusal::TooMany);
        }
        state.add_failure();
        Err(Refusal::Unknown)
    }

    /// Returns the hash of the cookie that a request has.
    fn cookie(&self, headers: &HeaderMap) -> Option<Hash> {
        let lines = headers.get_all(COOKIE).iter();
        lines
            .filter_map(|line| line.to_str().ok())
            .flat_map(|line| line.split(';'))
            .filter_map(|pair| pair.trim().split_once('='))
            .find(|(name, _)| *name == self.cookie_name)
            .map(|(_, value)| hash(value))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn has_too_many_failures(&mut self) -> bool {
        self.failures
            .take_if(|(_, since)| since.elapsed() >= FAILURES_PERIOD);
        self.failures
            .is_some_and(|(count, _)| count >= MAX_FAILURES)
    }

    fn add_failure(&mut self) {
        let (count, _) = self.failures.get_or_insert((0, Instant::now()));
        *count += 1;
    }
}

/// Returns the hash of a secret. Hashes are compared, so that the time of a comparison says nothing of
/// the secret.
fn hash(secret: &str) -> Hash {
    Sha256::digest(secret).into()
}

/// Returns the value of a header that may be there once; `None` if it is there twice.
fn one<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<Option<&'h [u8]>> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (first, None) => Some(first.map(|value| value.as_bytes())),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_cookie(set_cookie: &str) -> HeaderMap {
        let pair = set_cookie.split(';').next().unwrap();
        HeaderMap::from_iter([(COOKIE, pair.parse().unwrap())])
    }

    #[tokio::test(start_paused = true)]
    async fn a_code_has_an_end_and_a_new_one_replaces_it() {
        let (access, nobody) = (Access::new(1), HeaderMap::new());
        let old = access.new_code().unwrap();
        let code = access.new_code().unwrap();
        assert_eq!(access.log_in(&old, &nobody), Err(Refusal::Unknown));
        tokio::time::advance(CODE_LIFETIME).await;
        assert_eq!(access.log_in(&code, &nobody), Err(Refusal::Unknown));
        let code = access.new_code().unwrap();
        tokio::time::advance(CODE_LIFETIME - Duration::from_millis(1)).await;
        let cookie = access.log_in(&code, &nobody).unwrap().unwrap();
        assert!(cookie.ends_with("; Path=/; HttpOnly; SameSite=Strict"));
        assert_eq!(access.check_cookie(&with_cookie(&cookie)), Ok(()));
    }

    #[tokio::test(start_paused = true)]
    async fn failures_are_counted_for_a_minute_and_a_right_cookie_works_on() {
        let (access, nobody) = (Access::new(1), HeaderMap::new());
        let code = access.new_code().unwrap();
        let cookie = with_cookie(&access.log_in(&code, &nobody).unwrap().unwrap());
        let guess = with_cookie("turnbuckle-1=guess");
        for _ in 0..MAX_FAILURES {
            assert_eq!(access.check_cookie(&guess), Err(Refusal::Unknown));
        }
        let code = access.new_code().unwrap();
        assert_eq!(access.check_cookie(&guess), Err(Refusal::TooMany));
        assert_eq!(access.log_in(&code, &nobody), Err(Refusal::TooMany));
        assert_eq!(access.check_cookie(&cookie), Ok(()));
        tokio::time::advance(FAILURES_PERIOD).await;
        assert!(access.log_in(&code, &nobody).unwrap().is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn the_oldest_browser_is_logged_out() {
        let (access, nobody) = (Access::new(1), HeaderMap::new());
        let log_in = || access.log_in(&access.new_code().unwrap(), &nobody);
        let cookies: Vec<_> = (0..=MAX_LOGINS)
            .map(|_| with_cookie(&log_in().unwrap().unwrap()))
            .collect();
        assert_eq!(access.check_cookie(&cookies[0]), Err(Refusal::Unknown));
        assert_eq!(access.check_cookie(&cookies[1]), Ok(()));
    }
}
