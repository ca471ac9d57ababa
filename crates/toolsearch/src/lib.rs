//! Tool search for LLM agents: the recommended parts in one place.
