//! What a handler asked in the course of a request, and what it kept: the ledger that is sealed
//! between its runs, and that a run shares with whoever watches over it.
//!
//! A run begins at the handler's beginning and asks again what the runs before it asked. A question
//! is told by its content, and the answer that is recorded for it is handed out once all questions
//! of earlier rounds were asked again too: so the handler hears its answers in the order in which
//! it first heard them, whichever of its branches is quicker this time.

mod book;
mod kept;

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{self, Poll, Waker};
use std::thread::{self, ThreadId};

use turnbuckle_types::{InputRequest, InputRequests, Json};

use super::AskError;
use book::{Book, Entry, MAX_QUESTIONS, check_name, fault};

pub(crate) use kept::{KeptJournal, NOT_ASKED_AGAIN};

/// The ledger of one run.
#[derive(Default)]
pub(crate) struct Journal(Mutex<Book>);

/// How a run that is not ready stands.
#[derive(Debug)]
pub(crate) enum Standing {
    /// It waits for something else.
    Going,
    /// These questions have to be put to the client. The run is over.
    Due(InputRequests),
    /// It waits for an answer, but has not asked again what was asked before that. So many wakers
    /// are held for it here.
    Stuck(usize),
}

impl Journal {
    /// The journal of the next run for the same legacy client.
    pub(crate) fn next(&self) -> Self {
        self.of_record(true, |entry| entry.answer.is_some())
    }

    /// What is recorded here, for another run of the same round.
    pub(crate) fn again(&self, legacy: bool) -> Self {
        self.of_record(legacy, |_| true)
    }

    /// A journal with these of the questions, none of which is asked yet.
    fn of_record(&self, legacy: bool, keep: impl Fn(&&Entry) -> bool) -> Self {
        let book = self.lock();
        let unasked = |entry: &Entry| Entry {
            asked: None,
            waiter: None,
            ..entry.clone()
        };
        Self(Mutex::new(Book {
            round: book.round,
            legacy,
            secret: book.secret.clone(),
            entries: book.entries.iter().filter(keep).map(unasked).collect(),
            put: book.put,
            kept: book.kept.clone(),
            ..Book::default()
        }))
    }

    /// A question is asked: under this key, or else under one that is made for it. Returns the key.
    pub(crate) fn ask(
        &self,
        key: Option<&str>,
        request: &InputRequest,
    ) -> Result<String, AskError> {
        let mut book = self.lock();
        book.may_go_on()?;
        if book.inside.contains(&thread::current().id()) {
            return Err(fault("the body of a `once` asks a question: ask it before"));
        }
        let tag = book.tag(key, request)?;
        let found = match key {
            None => book
                .entries
                .iter_mut()
                .find(|it| it.tag == tag && it.asked.is_none()),
            Some(key) => book.entries.iter_mut().find(|it| it.key == key),
        };
        if let Some(entry) = found {
            if entry.asked.is_some() {
                return Err(fault(format!("two questions have the key {:?}", entry.key)));
            }
            if entry.tag != tag {
                let reason = format!("the question {:?} is another one than before", entry.key);
                return Err(book.refuse(reason));
            }
            entry.asked = Some(request.clone());
            let key = entry.key.clone();
            // With this question asked, another answer may be due, or the round complete.
            let early = book.entries.iter().filter(|it| it.answer.is_some());
            let early = early.filter_map(|it| it.waiter.clone());
            let waiting: Vec<_> = early.chain(book.alarm.clone()).collect();
            drop(book);
            waiting.into_iter().for_each(Waker::wake);
            return Ok(key);
        }
        book.has_room()?;
        let key = key.map_or_else(|| book.new_key(request), str::to_owned);
        let round = book.round;
        book.put += 1;
        book.entries.push(Entry {
            key: key.clone(),
            tag,
            round,
            answer: None,
            asked: Some(request.clone()),
            waiter: None,
        });
        let alarm = book.alarm.clone();
        drop(book);
        // Whoever watches does not see what another task asks.
        alarm.iter().for_each(Waker::wake_by_ref);
        Ok(key)
    }

    /// The answer that is recorded for a question that was asked.
    pub(crate) fn poll_answer(
        &self,
        key: &str,
        cx: &mut task::Context<'_>,
    ) -> Poll<Result<Json, AskError>> {
        let mut book = self.lock();
        let round = book
            .entries
            .iter()
            .find(|it| it.key == key)
            .map(|it| it.round);
        let open = round.is_some_and(|round| !book.is_early(round));
        let entry = book.entries.iter_mut().find(|it| it.key == key);
        let Some(entry) = entry else {
            return Poll::Ready(Err(AskError::Ended));
        };
        if open && let Some(answer) = &entry.answer {
            entry.waiter = None;
            return Poll::Ready(Ok(answer.clone()));
        }
        entry.waiter = Some(cx.waker().clone());
        match book.may_go_on() {
            Ok(()) => Poll::Pending,
            Err(error) => Poll::Ready(Err(error)),
        }
    }

    /// The answer to a question of an earlier run, in a legacy session.
    pub(crate) fn answer(&self, key: &str) -> Option<Json> {
        let book = self.lock();
        let entry = book.entries.iter().find(|it| it.key == key);
        entry?.answer.clone()
    }

    /// A legacy client answered.
    pub(crate) fn answered(&self, key: &str, answer: Json) {
        let mut book = self.lock();
        let entry = book.entries.iter_mut().find(|it| it.key == key);
        if let Some(entry) = entry {
            entry.answer = Some(answer);
        }
    }

    /// Nobody waits for that answer any more, so it need not be asked for.
    pub(crate) fn withdraw(&self, key: &str) {
        let mut book = self.lock();
        if !book.over {
            book.entries
                .retain(|it| it.key != key || it.answer.is_some());
        }
    }

    /// What the `once` of that name gave in an earlier run.
    pub(crate) fn recall(&self, name: &str) -> Result<Option<Json>, AskError> {
        let mut book = self.lock();
        book.may_go_on()?;
        check_name(name)?;
        if book.named.iter().any(|used| used == name) {
            return Err(fault(format!("two `once` have the name {name:?}")));
        }
        if book.named.len() >= MAX_QUESTIONS {
            return Err(fault(format!(
                "a request has more than {MAX_QUESTIONS} `once`"
            )));
        }
        book.named.push(name.to_owned());
        Ok(book.kept.get(name).cloned())
    }

    /// Records what the `once` of that name gave.
    pub(crate) fn keep(&self, name: &str, value: Json) {
        self.lock().kept.insert(name, value);
    }

    /// The handler is not what it was; the run cannot go on.
    pub(crate) fn refuse(&self, reason: impl Into<String>) -> AskError {
        self.lock().refuse(reason.into())
    }

    /// A body of a `once` runs for as long as the guard is there.
    pub(crate) fn body(&self) -> Body<'_> {
        self.lock().bodies += 1;
        Body(self)
    }

    /// Who watches over the run.
    pub(crate) fn watch(&self, alarm: &Waker) {
        self.lock().alarm = Some(alarm.clone());
    }

    /// Whether somebody does, and so will end it.
    pub(crate) fn is_watched(&self) -> bool {
        self.lock().alarm.is_some()
    }

    /// How the run stands, when it is not ready.
    pub(crate) fn standing(&self, alarm: &Waker) -> Standing {
        let mut book = self.lock();
        if book.legacy || book.bodies > 0 || book.over || book.changed.is_some() {
            return Standing::Going;
        }
        let mut waiters = book
            .entries
            .iter()
            .filter_map(|it| it.waiter.as_ref())
            .peekable();
        if waiters.peek().is_none() && !book.entries.iter().any(Entry::is_open) {
            return Standing::Going;
        }
        if book.is_incomplete() {
            let held = waiters.filter(|waiter| waiter.will_wake(alarm)).count();
            return Standing::Stuck(held);
        }
        let open = book.entries.iter().filter(|it| it.is_open());
        let due: InputRequests = open
            .filter_map(|it| Some((it.key.as_str(), it.asked.clone()?)))
            .collect();
        if due.is_empty() {
            return Standing::Going;
        }
        book.over = true;
        Standing::Due(due)
    }

    /// The run is over: whoever still waits for an answer hears that.
    pub(crate) fn close(&self) {
        let mut book = self.lock();
        book.over = true;
        book.alarm = None;
        let waiting: Vec<_> = book
            .entries
            .iter_mut()
            .filter_map(|it| it.waiter.take())
            .collect();
        drop(book);
        waiting.into_iter().for_each(Waker::wake);
    }

    fn lock(&self) -> MutexGuard<'_, Book> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A body of a `once` that runs.
pub(crate) struct Body<'a>(&'a Journal);

impl Body<'_> {
    /// Polls the body, in which nothing can be asked.
    pub(crate) fn poll<T>(&self, poll: impl FnOnce() -> Poll<T>) -> Poll<T> {
        /// Leaves, even by a panic.
        struct Inside<'a>(&'a Journal, ThreadId);
        impl Drop for Inside<'_> {
            fn drop(&mut self) {
                let mut book = self.0.lock();
                if let Some(at) = book.inside.iter().position(|id| *id == self.1) {
                    book.inside.swap_remove(at);
                }
            }
        }
        let thread = thread::current().id();
        self.0.lock().inside.push(thread);
        let _inside = Inside(self.0, thread);
        poll()
    }
}

impl Drop for Body<'_> {
    fn drop(&mut self) {
        let mut book = self.0.lock();
        book.bodies -= 1;
        let alarm = book.alarm.clone();
        drop(book);
        alarm.iter().for_each(Waker::wake_by_ref);
    }
}

/// Says nothing of what was asked and answered.
impl fmt::Debug for Journal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let book = self.lock();
        f.debug_struct("Journal")
            .field("round", &book.round)
            .field("questions", &book.entries.len())
            .field("kept", &book.kept.len())
            .field("over", &book.over)
            .finish_non_exhaustive()
    }
}
