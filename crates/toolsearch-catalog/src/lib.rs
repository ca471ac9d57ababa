//! Ids, descriptors, calls and outcomes of tools, and the immutable catalog snapshot.
