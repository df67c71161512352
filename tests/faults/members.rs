//! Faults of a change of a cluster's members.
