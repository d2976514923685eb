//! Places in a session.

/// A place in one part of a session.
///
/// `line` counts from 1, `byte` from 0 and from the start of the part (not of the line), `record`
/// from 0 over the parsed records of the part (blank lines are not counted).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// Index of the part in the order in which the session names its parts.
    pub part: u32,
    /// Line number, from 1; 0 when the place is the part as a whole.
    pub line: u64,
    /// Byte offset from the start of the part.
    pub byte: u64,
    /// Ordinal of the record, from 0.
    pub record: u64,
}

impl Position {
    /// Returns a position in the same line, `offset` bytes further on.
    ///
    /// ```
    /// use copyist::position::Position;
    /// let line = Position { line: 3, byte: 100, ..Position::default() };
    /// assert_eq!(line.plus(7).byte, 107);
    /// ```
    #[must_use]
    pub fn plus(self, offset: usize) -> Self {
        Self { byte: self.byte + offset as u64, ..self }
    }
}

/// A value and the place that it was read from.
#[derive(Clone, Debug, PartialEq)]
pub struct Located<T> {
    /// The value.
    pub value: T,
    /// Place at which the value begins.
    pub at: Position,
}
