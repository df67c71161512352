//! Faults of a cluster: clocks, disk use, strangers.
