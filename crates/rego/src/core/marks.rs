//! The expressions whose being undefined may hide a violation, as a set of flags.

/// The kinds of expressions whose definedness a verdict may depend on; also the kinds that an evaluation
/// found undefined.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Marks(u16);

impl Marks {
    /// No mark.
    pub const NONE: Self = Self(0);
    /// An operand of a call from which a call site is reached.
    pub const CALL: Self = Self(1);
    /// An operand of a negated call or look-up.
    pub const NEGATION: Self = Self(2);
    /// An operand of a comparison.
    pub const COMPARISON: Self = Self(4);
    /// A part of the message that a verdict rule reports, which no condition of the rule uses.
    pub const MESSAGE: Self = Self(8);
    /// A part of a message that a function of the policy computes: undefined, it may be a condition.
    pub const FUNCTION_MESSAGE: Self = Self(16);
    /// A part of either kind of message.
    pub const ANY_MESSAGE: Self = Self(8 | 16);
    /// A negated equality, which holds for lack of an operand.
    pub const EQUALITY: Self = Self(32);
    /// A reference to a member that an object doesn't have, of one whose members are all known.
    pub const CLOSED: Self = Self(64);
    /// A part of the head of a rule or comprehension, which none of its conditions uses.
    pub const HEAD: Self = Self(128);
    /// A definition that the rule index left out for lack of a value, although a call site is reached from it.
    pub const LEFT_OUT: Self = Self(256);

    /// Returns `true` if there is no mark.
    pub fn is_none(self) -> bool {
        self.0 == 0
    }

    /// Returns `true` if both have a mark.
    pub fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Returns the marks of both.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Adds marks.
    pub fn add(&mut self, other: Self) {
        self.0 |= other.0;
    }
}
