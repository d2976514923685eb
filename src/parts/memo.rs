//! Results of earlier readings of a session, for later ones.

use std::any::Any;
use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;

/// Values that were found in a session, at most one of each type. A copy of it is empty.
#[derive(Default)]
pub struct Memo(RefCell<Vec<Rc<dyn Any>>>);

impl Memo {
    /// Returns the value of a type.
    #[must_use]
    pub fn get<T: Any>(&self) -> Option<Rc<T>> {
        self.0.borrow().iter().find_map(|value| Rc::clone(value).downcast().ok())
    }

    /// Keeps a value in the place of another one of its type.
    pub fn keep<T: Any>(&self, value: Rc<T>) {
        let mut values = self.0.borrow_mut();
        values.retain(|value| !value.is::<T>());
        values.push(value);
    }
}

impl Clone for Memo {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl fmt::Debug for Memo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Memo").field(&self.0.borrow().len()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memo_has_one_value_of_each_type() {
        let memo = Memo::default();
        memo.keep(Rc::new(1_u8));
        memo.keep(Rc::new(2_u8));
        memo.keep(Rc::new("text"));
        assert_eq!(memo.get::<u8>().as_deref(), Some(&2));
        assert_eq!(memo.get::<&str>().as_deref(), Some(&"text"));
        assert_eq!(memo.get::<u16>(), None);
        assert_eq!(memo.clone().get::<u8>(), None);
    }
}
