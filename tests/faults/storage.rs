//! Faults of files: damage, full disks, deleted data.
