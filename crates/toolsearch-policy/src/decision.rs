//! Decisions and the contract of whoever makes them.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;
use toolsearch_catalog::ToolDescriptor;

use crate::fault::RuleFault;
use crate::subject::Subject;

/// Why a decision is not a plain yes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[non_exhaustive]
pub struct Reason {
    /// The layer that decided, such as `global` or `agent support`.
    pub layer: String,
    /// The rule of that layer, such as `deny mcp:*:delete_*`.
    pub rule: String,
}

impl Reason {
    /// Names the deciding rule.
    #[must_use]
    pub fn new(layer: impl Into<String>, rule: impl Into<String>) -> Self {
        Self {
            layer: layer.into(),
            rule: rule.into(),
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.rule, self.layer)
    }
}

/// What policy says about one tool and one subject.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(tag = "decision", content = "reason", rename_all = "lowercase")]
#[expect(
    clippy::exhaustive_enums,
    reason = "a fourth answer would change what every caller must do"
)]
pub enum Decision {
    /// May be used.
    Allow,
    /// May be used when a person agrees to the single call.
    Ask(Reason),
    /// May not be used, found, described or counted.
    Deny(Reason),
}

impl Decision {
    /// Both decisions together: the stricter one. Commutative, associative and idempotent; of two
    /// equally strict ones the reason that sorts first stays.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        match (&self, &other) {
            (Self::Deny(a), Self::Deny(b)) | (Self::Ask(a), Self::Ask(b)) => {
                if a <= b {
                    self
                } else {
                    other
                }
            }
            (Self::Deny(_), _) | (_, Self::Allow) => self,
            (_, Self::Deny(_)) | (Self::Allow, _) => other,
        }
    }

    /// Whether the tool may not be used at all.
    #[must_use]
    pub const fn is_deny(&self) -> bool {
        matches!(self, Self::Deny(_))
    }
}

/// Decides who may use what. Pure and quick: it is asked for every tool of a catalog.
pub trait Policy: fmt::Debug + Send + Sync {
    /// Decides about one tool.
    fn decide(&self, subject: &Subject, tool: &ToolDescriptor) -> Decision;

    /// Looks for rules that cannot be meant, given everything that is listed: an allow list that
    /// covers nothing would otherwise show up as an empty catalog.
    ///
    /// # Errors
    /// [`RuleFault`] for the first such rule.
    fn check(&self, subject: &Subject, tools: &[&ToolDescriptor]) -> Result<(), RuleFault> {
        let _ = (subject, tools);
        Ok(())
    }
}

impl<T: Policy + ?Sized> Policy for Arc<T> {
    fn decide(&self, subject: &Subject, tool: &ToolDescriptor) -> Decision {
        T::decide(self, subject, tool)
    }

    fn check(&self, subject: &Subject, tools: &[&ToolDescriptor]) -> Result<(), RuleFault> {
        T::check(self, subject, tools)
    }
}

impl<T: Policy + ?Sized> Policy for Box<T> {
    fn decide(&self, subject: &Subject, tool: &ToolDescriptor) -> Decision {
        T::decide(self, subject, tool)
    }

    fn check(&self, subject: &Subject, tools: &[&ToolDescriptor]) -> Result<(), RuleFault> {
        T::check(self, subject, tools)
    }
}

/// Allows everything.
#[derive(Debug, Clone, Copy, Default)]
pub struct AllowAll;

impl Policy for AllowAll {
    fn decide(&self, _: &Subject, _: &ToolDescriptor) -> Decision {
        Decision::Allow
    }
}
