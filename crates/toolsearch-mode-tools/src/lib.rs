//! Mode tools: search, describe and call as three tools.
