//! The customers and their orders.

use std::sync::{Mutex, MutexGuard, PoisonError};

use turnbuckle::prelude::*;

/// The most orders that are kept.
const MAX_ORDERS: usize = 1_000;

/// The keys of the customers.
const KEYS: [(&str, Customer); 2] = [
    ("bakery-key", Customer { name: "bakery" }),
    ("florist-key", Customer { name: "florist" }),
];

/// A customer of the shop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Customer {
    pub(crate) name: &'static str,
}

impl Customer {
    /// Returns the customer with a key.
    pub(crate) fn of_key(key: &str) -> Option<Self> {
        let found = KEYS.iter().find(|(known, _)| *known == key);
        found.map(|(_, customer)| *customer)
    }
}

/// An order.
#[data]
#[derive(Clone)]
pub(crate) struct Order {
    pub(crate) number: usize,
    pub(crate) article: String,
    pub(crate) amount: u32,
}

/// The orders of all customers, in memory.
#[derive(Default)]
pub(crate) struct Orders(Mutex<Vec<(Customer, Order)>>);

impl Orders {
    /// Adds an order, unless there are [`MAX_ORDERS`].
    pub(crate) fn add(&self, customer: Customer, article: String, amount: u32) -> Option<Order> {
        let mut orders = self.lock();
        let number = orders.len() + 1;
        let order = Order {
            number,
            article,
            amount,
        };
        (number <= MAX_ORDERS).then(|| orders.push((customer, order.clone())))?;
        Some(order)
    }

    /// Returns the orders of a customer, the newest last.
    pub(crate) fn of_customer(&self, customer: Customer) -> Vec<Order> {
        let orders = self.lock();
        let orders = orders.iter().filter(|(of, _)| *of == customer);
        orders.map(|(_, order)| order.clone()).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(Customer, Order)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
