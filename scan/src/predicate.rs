//! What the pruner understands of a filter.
