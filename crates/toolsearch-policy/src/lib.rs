//! Who may use which tool: decisions that only narrow, rules with explanations, approvals.
