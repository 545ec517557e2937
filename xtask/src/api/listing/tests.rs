//! Listings of small crates that rustdoc reads on the spot.

use std::fs;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::api::exports;
use crate::process::{self, target};

/// The listing of a crate `a` with the given source.
fn listing(source: &str) -> Listing {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let folder = target().join(format!("api/test-{}-{number}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("a.rs"), source).unwrap();
    let mut rustdoc = Command::new("rustdoc");
    rustdoc
        .current_dir(process::root())
        .env("RUSTC_BOOTSTRAP", "1")
        .args(["--edition=2024", "--crate-type=lib", "--cap-lints=allow"])
        .args(["-Zunstable-options", "--output-format=json"])
        .arg("--out-dir")
        .arg(&folder)
        .arg(folder.join("a.rs"));
    process::run(&mut rustdoc).unwrap();
    let text = fs::read_to_string(folder.join("a.json")).unwrap();
    fs::remove_dir_all(folder).unwrap();
    let krate: Crate = serde_json::from_str(&text).unwrap();
    of(&krate, &exports::names([&krate].into_iter()))
}

#[track_caller]
fn assert_lists(source: &str, items: usize, lines: &[&str]) {
    let listing = listing(source);
    assert_eq!(listing.text.lines().collect::<Vec<_>>(), lines);
    assert_eq!(listing.items, items);
    assert_eq!(listing.faults, [""; 0]);
}

#[test]
fn items_stand_at_their_shortest_paths_and_count_once() {
    assert_lists(
        "pub mod deep { pub struct Public; pub fn f(_: Public) -> super::Moved { loop {} } }
         mod hidden { pub struct Moved { pub x: u8, y: u8 } pub struct Unreachable; }
         pub use deep::Public;
         pub use hidden::Moved;
         #[doc(hidden)] pub fn unseen() {}
         #[macro_export] macro_rules! shout { () => {} }
         pub const MOST: usize = 3;
         pub type Short<T> = Result<T, Moved>;",
        7,
        &[
            "pub const a::MOST: usize",
            "pub struct a::Moved",
            "pub a::Moved::x: u8",
            "pub struct a::Public",
            "pub type a::Short<T> = Result<T, a::Moved>",
            "pub mod a::deep",
            "pub use a::deep::Public = a::Public",
            "pub fn a::deep::f(_: a::Public) -> a::Moved",
            "pub macro a::shout!",
        ],
    );
}

#[test]
fn a_setter_counts_with_its_public_field() {
    assert_lists(
        "pub struct A { pub x: u8, y: u8 }
         impl A {
             pub fn x(mut self, x: u8) -> Self { self.x = x; self }
             pub fn y(mut self, y: u8) -> Self { self.y = y; self }
             pub fn z(self) -> Self { self }
         }
         pub struct B { pub x: u8, pub y: u8 }
         impl B {
             pub fn x(&mut self, x: u8) -> &mut Self { self.x = x; self }
             pub fn y(self) -> u8 { self.y }
         }",
        6,
        &[
            "pub struct a::A",
            "pub a::A::x: u8",
            "pub fn a::A::x(self, x: u8) -> Self",
            "pub fn a::A::y(self, y: u8) -> Self",
            "pub fn a::A::z(self) -> Self",
            "pub struct a::B",
            "pub a::B::x: u8",
            "pub fn a::B::x(&mut self, x: u8) -> &mut Self",
            "pub a::B::y: u8",
            "pub fn a::B::y(self) -> u8",
        ],
    );
}

#[test]
fn variants_and_fields_are_listed_and_not_counted() {
    assert_lists(
        "#[non_exhaustive] pub enum Kind { Plain, Tuple(u8, String), Named { #[deprecated] of: bool } }",
        1,
        &[
            "#[non_exhaustive] pub enum a::Kind",
            "pub variant a::Kind::Named",
            "#[deprecated] pub a::Kind::Named::of: bool",
            "pub variant a::Kind::Plain",
            "pub variant a::Kind::Tuple",
            "pub a::Kind::Tuple::0: u8",
            "pub a::Kind::Tuple::1: String",
        ],
    );
}

#[test]
fn signatures_are_whole() {
    assert_lists(
        "use std::{fmt, io, future::Future};
         pub async fn run(each: &mut (dyn FnMut(&str) -> bool + Send)) -> io::Result<()> {
             loop {}
         }
         pub fn every<'a, T, const N: usize>(of: &'a [T; N]) -> impl Iterator<Item = &'a T> + use<'a, T, N>
         where T: fmt::Debug + 'a, for<'b> &'b T: Into<u8> { [].into_iter() }
         pub fn with(first: impl Fn(&[u8]) -> u8, rest: Option<&dyn fmt::Debug>) {}
         pub const unsafe fn raw(at: *const u8, call: unsafe fn(u8) -> !, pair: (u8,)) {}
         pub fn later() -> Box<dyn Future<Output = Result<(), fmt::Error>>> { loop {} }",
        5,
        &[
            "pub fn a::every<'a, T, const N: usize>(of: &'a [T; N]) -> \
             impl Iterator<Item = &'a T> + use<'a, T, N> \
             where T: Debug + 'a, for<'b> &'b T: Into<u8>",
            "pub fn a::later() -> Box<dyn Future<Output = Result<(), fmt::Error>>>",
            "pub const unsafe fn a::raw(at: *const u8, call: unsafe fn(u8) -> !, pair: (u8,))",
            "pub async fn a::run(each: &mut (dyn FnMut(&str) -> bool + Send)) -> io::Result<()>",
            "pub fn a::with(first: impl Fn(&[u8]) -> u8, rest: Option<&dyn Debug>)",
        ],
    );
}

#[test]
fn methods_stand_under_their_type_with_the_bounds_around_them() {
    assert_lists(
        "pub struct Held<T>(pub T);
         impl<T: Clone> Held<T> {
             pub const ONE: u8 = 1;
             pub fn new(of: T) -> Self { Self(of) }
             pub fn take(&mut self, other: &Self) -> T { loop {} }
             fn private(self) {}
         }
         pub trait Shape: Send {
             const SIDES: u8;
             type Unit: Default;
             fn area(&self) -> Self::Unit;
             fn name(self) -> String where Self: Sized { String::new() }
         }",
        9,
        &[
            "pub struct a::Held<T>",
            "pub a::Held::0: T",
            "pub const a::Held<T>::ONE: u8",
            "pub fn a::Held<T>::new(of: T) -> Self where T: Clone",
            "pub fn a::Held<T>::take(&mut self, other: &Self) -> T where T: Clone",
            "pub trait a::Shape: Send",
            "pub const a::Shape::SIDES: u8",
            "pub type a::Shape::Unit: Default",
            "pub fn a::Shape::area(&self) -> Self::Unit",
            "pub fn a::Shape::name(self) -> String where Self: Sized { .. }",
        ],
    );
}

#[test]
fn impls_under_the_same_conditions_share_a_line() {
    assert_lists(
        "use std::{cell::Cell, ops::Deref};
         #[derive(Clone, PartialEq)] pub struct Plain(Cell<u8>);
         impl From<u8> for Plain { fn from(of: u8) -> Self { Self(Cell::new(of)) } }
         impl Deref for Plain { type Target = Cell<u8>; fn deref(&self) -> &Cell<u8> { &self.0 } }
         pub trait Own {}
         impl Own for Plain {}
         impl Own for str {}
         struct Private; impl Own for Private {}
         mod sealed { pub trait Sealed {} }
         impl sealed::Sealed for Plain {}",
        2,
        &[
            "pub trait a::Own",
            "impl a::Own for str",
            "pub struct a::Plain",
            "impl !Sync + Clone + Deref<Target = Cell<u8>> + From<u8> + PartialEq + a::Own for a::Plain",
        ],
    );
}

#[test]
fn foreign_items_and_globs_are_faults() {
    let listing = listing(
        "extern crate proc_macro;
         pub use proc_macro::Span;
         pub fn f() -> Option<proc_macro::TokenStream> { None }
         fn private(_: proc_macro::Group) {}
         mod inner { pub fn g() {} }
         pub use inner::*;",
    );
    assert_eq!(
        listing.faults,
        [
            "a glob re-export: a: pub use inner::*",
            "proc_macro::Span is foreign:\n  pub use a::Span = proc_macro::Span",
            "proc_macro::TokenStream is foreign:\n  \
             pub fn a::f() -> Option<proc_macro::TokenStream>",
        ]
    );
}
