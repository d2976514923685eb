//! Limit on the expansion of aliases.

use crate::diagnostic::{Code, Diagnostic};
use crate::error::{Error, Result};
use crate::position::Position;

/// Number of bytes that may still be copied.
///
/// An alias costs three bytes and can represent a megabyte, which can itself contain aliases. Code
/// that copies anchored nodes subtracts each copy.
///
/// ```
/// use copyist::{position::Position, yaml::read::Budget};
/// let mut budget = Budget::for_input(10);
/// assert!(budget.spend(1 << 20, Position::default()).is_ok());
/// assert!(budget.spend(1 << 31, Position::default()).is_err());
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Budget(u64);

impl Budget {
    /// Makes a budget of this number of bytes, independent of the input.
    pub fn of(bytes: u64) -> Self {
        Self(bytes)
    }

    /// Makes the budget for an input of this number of bytes: 200 times its size and 1 GiB.
    pub fn for_input(bytes: u64) -> Self {
        Self(bytes.saturating_mul(200).saturating_add(1 << 30))
    }

    /// Subtracts a copy of this number of bytes at an alias.
    ///
    /// # Errors
    /// [`Code::YamlLimit`] if the budget is spent.
    pub fn spend(&mut self, bytes: u64, at: Position) -> Result<()> {
        match self.0.checked_sub(bytes) {
            Some(left) => {
                self.0 = left;
                Ok(())
            }
            None => {
                let message = "aliases that expand to more than the limit";
                Err(Error::damaged(Diagnostic::new(Code::YamlLimit, message).at(at)))
            }
        }
    }
}
