//! The composer: plans a session and dispatches every call one way.
