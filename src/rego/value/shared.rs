//! The pointer that collections are shared by.
//!
//! Owns the one thing that `Arc` can't do: giving back a value nested a million levels deep
//! without a call for each level.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use super::{Array, Object, Set};

/// Levels that are given back by ordinary calls.
const CALLS: u32 = 64;

/// What a [`Shared`] may hold.
#[derive(Debug)]
pub enum Garbage {
    /// Elements of an array.
    Array(Array),
    /// Members of an object.
    Object(Object),
    /// Elements of a set.
    Set(Set),
}

/// A collection of values.
pub trait Collection: Default {
    /// The collection as something to be dropped later.
    fn into_garbage(self) -> Garbage;
    /// True if there is nothing in it.
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

/// A collection that several values may share; cheap to clone.
pub struct Shared<T: Collection>(Arc<T>);

impl<T: Collection> Shared<T> {
    /// A pointer to `value`.
    pub fn new(value: T) -> Self {
        Self(Arc::new(value))
    }

    /// True if both point to the same collection.
    #[inline]
    pub fn ptr_eq(a: &Self, b: &Self) -> bool {
        Arc::ptr_eq(&a.0, &b.0)
    }

    /// The collection, to be changed; copied first where it is shared.
    pub fn make_mut(this: &mut Self) -> &mut T
    where
        T: Clone,
    {
        Arc::make_mut(&mut this.0)
    }

    /// The collection itself; copied where it is shared.
    pub fn unwrap_or_clone(mut this: Self) -> T
    where
        T: Clone,
    {
        match Arc::get_mut(&mut this.0) {
            Some(inner) => std::mem::take(inner),
            None => T::clone(&this.0),
        }
    }

    /// The address: the same for clones of one collection, as long as one lives.
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
    static WAITING: RefCell<Vec<Garbage>> = const { RefCell::new(Vec::new()) };
}

impl<T: Collection> Drop for Shared<T> {
    #[inline]
    fn drop(&mut self) {
        if Arc::strong_count(&self.0) == 1
            && let Some(inner) = Arc::get_mut(&mut self.0)
            && !inner.has_nothing()
        {
            give_back(std::mem::take(inner));
        }
    }
}

/// Drops a collection: by calls as far as they are few, then by a list.
fn give_back<T: Collection>(value: T) {
    let mut value = Some(value);
    let known = DEPTH.try_with(|depth| {
        let level = depth.get();
        if level >= CALLS {
            let Some(value) = value.take() else { return };
            // Where the list is gone (the thread is ending), the calls go on.
            let garbage = value.into_garbage();
            let _ = WAITING.try_with(|waiting| waiting.borrow_mut().push(garbage));
            return;
        }
        depth.set(level + 1);
        drop(value.take());
        if level == 0 {
            while let Ok(Some(garbage)) = WAITING.try_with(|waiting| waiting.borrow_mut().pop()) {
                drop(garbage);
            }
        }
        depth.set(level);
    });
    if known.is_err() {
        drop(value);
    }
}
