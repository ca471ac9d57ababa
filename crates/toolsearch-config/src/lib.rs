//! The configuration file: strict reading, editing in place, import from other clients.
