//! How many tickets run at once. Knows nothing of what they do.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::config::TicketLimits;
use crate::error::FlightServerError;

/// What a refused ticket is told to wait.
const RETRY_MS: u128 = 1_000;

/// Lets so many tickets in at once, the others after them, in the order in which they came.
#[derive(Debug)]
pub(crate) struct Gate {
    limits: TicketLimits,
    running: Arc<Semaphore>,
    /// Places beside, for tickets whose clients take nothing.
    stopped: Arc<Semaphore>,
    waiting: AtomicUsize,
}

impl Gate {
    pub(crate) fn new(limits: TicketLimits) -> Self {
        let places = |count: usize| Arc::new(Semaphore::new(count.min(Semaphore::MAX_PERMITS)));
        Self {
            limits,
            running: places(limits.running),
            stopped: places(limits.stopped()),
            waiting: AtomicUsize::new(0),
        }
    }

    /// Waits for a place.
    ///
    /// # Errors
    /// When too many wait already, or no place came free in time.
    pub(crate) async fn enter(&self) -> Result<Place, FlightServerError> {
        let place = |permit| Place {
            running: Arc::clone(&self.running),
            stopped: Arc::clone(&self.stopped),
            permit: Permit::Running(permit),
            idle: self.limits.idle,
        };
        if let Ok(permit) = Arc::clone(&self.running).try_acquire_owned() {
            return Ok(place(permit));
        }
        let began = Instant::now();
        let busy = || FlightServerError::Busy {
            running: self.limits.running,
            waited_ms: began.elapsed().as_millis(),
            retry_ms: RETRY_MS,
        };
        let queued = Waiting::begin(&self.waiting);
        if queued.number >= self.limits.waiting {
            return Err(busy());
        }
        let permit = Arc::clone(&self.running).acquire_owned();
        match tokio::time::timeout(self.limits.wait, permit).await {
            Ok(Ok(permit)) => Ok(place(permit)),
            Ok(Err(_)) | Err(_) => Err(busy()),
        }
    }
}

/// A place among the tickets that are scanned; free again when it is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    running: Arc<Semaphore>,
    stopped: Arc<Semaphore>,
    permit: Permit,
    idle: Duration,
}

#[derive(Debug)]
enum Permit {
    Running(#[allow(dead_code)] OwnedSemaphorePermit),
    Stopped(#[allow(dead_code)] OwnedSemaphorePermit),
}

impl Place {
    /// How long it may be kept while nothing is scanned.
    pub(crate) fn idle(&self) -> Duration {
        self.idle
    }

    /// Lets another ticket have it for now, unless too many have left theirs: each of them takes memory too.
    pub(crate) fn leave(&mut self) {
        if let Permit::Running(_) = self.permit
            && let Ok(stopped) = Arc::clone(&self.stopped).try_acquire_owned()
        {
            self.permit = Permit::Stopped(stopped);
        }
    }

    /// Waits for a place again, behind those that came meanwhile and for as long as it takes: a scan that
    /// has begun is not refused any more.
    pub(crate) async fn regain(&mut self) {
        if let Permit::Stopped(_) = self.permit
            // Only a closed semaphore gives none, and this one is never closed.
            && let Ok(running) = Arc::clone(&self.running).acquire_owned().await
        {
            self.permit = Permit::Running(running);
        }
    }
}

/// A ticket in the queue; a client that goes away leaves it, too.
struct Waiting<'a> {
    all: &'a AtomicUsize,
    number: usize,
}

impl<'a> Waiting<'a> {
    fn begin(all: &'a AtomicUsize) -> Self {
        Self {
            number: all.fetch_add(1, Ordering::Relaxed),
            all,
        }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.all.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use wire::{Categorized, Category};

    use super::*;
    use crate::config::LEAST_STOPPED;

    fn gate(running: usize, waiting: usize, wait: Duration) -> Arc<Gate> {
        Arc::new(Gate::new(TicketLimits {
            running,
            waiting,
            wait,
            ..TicketLimits::default()
        }))
    }

    #[tokio::test]
    async fn a_ticket_waits_until_another_ends() {
        let gate = gate(1, 1, Duration::from_mins(1));
        let first = gate.enter().await.unwrap();
        let second = tokio::spawn({
            let gate = Arc::clone(&gate);
            async move { gate.enter().await.map(drop) }
        });
        while gate.waiting.load(Ordering::Relaxed) == 0 {
            tokio::task::yield_now().await;
        }
        drop(first);
        second.await.unwrap().unwrap();
        assert_eq!(gate.waiting.load(Ordering::Relaxed), 0);
    }

    #[tokio::test]
    async fn a_ticket_that_waited_too_long_or_too_far_back_is_told_when_to_come_again() {
        for (waiting, wait) in [(1, Duration::from_millis(1)), (0, Duration::from_mins(1))] {
            let gate = gate(1, waiting, wait);
            let _first = gate.enter().await.unwrap();
            let error = gate.enter().await.unwrap_err();
            assert_eq!(error.category(), Category::Exhausted);
            assert!(
                error.to_string().contains("try again in 1000 ms"),
                "{error}"
            );
            assert_eq!(error.retry_after(), Some(Duration::from_secs(1)));
        }
    }

    #[tokio::test]
    async fn a_client_that_stops_waiting_makes_room_for_another() {
        let gate = gate(1, 1, Duration::from_mins(1));
        let _first = gate.enter().await.unwrap();
        let gone = tokio::time::timeout(Duration::from_millis(1), gate.enter()).await;
        assert!(gone.is_err());
        assert_eq!(gate.waiting.load(Ordering::Relaxed), 0);
    }

    #[tokio::test]
    async fn a_place_that_was_left_is_regained_after_those_that_took_it() {
        let gate = gate(1, 1, Duration::from_mins(1));
        let mut first = gate.enter().await.unwrap();
        first.leave();
        let second = gate.enter().await.unwrap();
        let again = tokio::time::timeout(Duration::from_millis(1), first.regain()).await;
        assert!(again.is_err());
        drop(second);
        first.regain().await;
        assert!(gate.running.try_acquire().is_err());
        assert_eq!(gate.stopped.available_permits(), LEAST_STOPPED);
        drop(first);
        assert_eq!(gate.running.available_permits(), 1);
    }

    #[tokio::test]
    async fn only_so_many_tickets_leave_their_places() {
        let gate = gate(2, 1, Duration::from_millis(1));
        let mut stopped = Vec::new();
        for _ in 0..LEAST_STOPPED {
            let mut place = gate.enter().await.unwrap();
            place.leave();
            stopped.push(place);
        }
        let mut third = gate.enter().await.unwrap();
        let _fourth = gate.enter().await.unwrap();
        third.leave();
        assert!(gate.enter().await.is_err());
        stopped.pop();
        third.leave();
        gate.enter().await.unwrap();
    }
}
