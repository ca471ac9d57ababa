//! Events of a session, counters and recorders.
