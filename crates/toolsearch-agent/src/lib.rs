//! The turn loop between a model and a session.
