//! Files and directories behind a trait: the real ones, and simulated ones that fail.
