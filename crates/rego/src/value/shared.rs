//! A shared pointer to a collection.
//!
//! Owns what `Arc` alone can't do: dropping a value nested a million levels deep without a call for
//! each level.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use super::{Array, Object, Set};

/// The number of levels that are dropped by recursive calls.
const MAX_RECURSION: u32 = 64;

/// The contents of a [`Shared`] that are to be dropped later.
#[derive(Debug)]
pub enum Garbage {
    /// The elements of an array.
    Array(Array),
    /// The members of an object.
    Object(Object),
    /// The elements of a set.
    Set(Set),
}

/// A collection that a [`Shared`] can hold.
pub trait Collection: Default {
    /// Converts the collection into garbage, to be dropped later.
    fn into_garbage(self) -> Garbage;
    /// Returns `true` if the collection is empty.
    fn has_nothing(&self) -> bool;
}

macro_rules! collection {
    ($($name:ident),+) => {
        $(impl Collection for $name {
            fn into_garbage(self) -> Garbage {
                Garbage::$name(self)
            }

            fn has_nothing(&self) -> bool {
                self.is_empty()
            }
        })+
    };
}

collection!(Array, Object, Set);

/// A shared collection of values; cheap to clone.
pub struct Shared<T: Collection>(Arc<T>);

impl<T: Collection> Shared<T> {
    /// Moves `value` behind a shared pointer.
    pub fn new(value: T) -> Self {
        Self(Arc::new(value))
    }

    /// Returns `true` if both point to the same collection.
    #[inline]
    pub fn ptr_eq(a: &Self, b: &Self) -> bool {
        Arc::ptr_eq(&a.0, &b.0)
    }

    /// Returns the collection for modification; copies it first if it is shared.
    pub fn make_mut(this: &mut Self) -> &mut T
    where
        T: Clone,
    {
        Arc::make_mut(&mut this.0)
    }

    /// Returns the collection itself, or a copy if it is shared.
    pub fn unwrap_or_clone(mut this: Self) -> T
    where
        T: Clone,
    {
        match Arc::get_mut(&mut this.0) {
            Some(inner) => std::mem::take(inner),
            None => T::clone(&this.0),
        }
    }

    /// Returns the address, which is the same for all clones of a collection while one of them
    /// lives.
    pub fn address(this: &Self) -> usize {
        Arc::as_ptr(&this.0).addr()
    }
}

impl<T: Collection> Clone for Shared<T> {
    #[inline]
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T: Collection> Default for Shared<T> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<T: Collection> Deref for Shared<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Collection> AsRef<T> for Shared<T> {
    fn as_ref(&self) -> &T {
        &self.0
    }
}

impl<T: Collection> From<T> for Shared<T> {
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

impl<T: Collection> From<Arc<T>> for Shared<T> {
    fn from(value: Arc<T>) -> Self {
        Self(value)
    }
}

impl<T: Collection + fmt::Debug> fmt::Debug for Shared<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        T::fmt(&self.0, f)
    }
}

thread_local! {
    static DEPTH: Cell<u32> = const { Cell::new(0) };
    static PENDING: RefCell<Vec<Garbage>> = const { RefCell::new(Vec::new()) };
}

impl<T: Collection> Drop for Shared<T> {
    #[inline]
    fn drop(&mut self) {
        if Arc::strong_count(&self.0) == 1
            && let Some(inner) = Arc::get_mut(&mut self.0)
            && !inner.has_nothing()
        {
            drop_iteratively(std::mem::take(inner));
        }
    }
}

/// Drops a collection: the first levels by recursive calls, deeper ones from a list.
fn drop_iteratively<T: Collection>(value: T) {
    let mut value = Some(value);
    let known = DEPTH.try_with(|depth| {
        let level = depth.get();
        if level >= MAX_RECURSION {
            let Some(value) = value.take() else { return };
            // If the list is gone because the thread is ending, recursion continues.
            let garbage = value.into_garbage();
            let _ = PENDING.try_with(|pending| pending.borrow_mut().push(garbage));
            return;
        }
        depth.set(level + 1);
        drop(value.take());
        if level == 0 {
            while let Ok(Some(garbage)) = PENDING.try_with(|pending| pending.borrow_mut().pop()) {
                drop(garbage);
            }
        }
        depth.set(level);
    });
    if known.is_err() {
        drop(value);
    }
}
