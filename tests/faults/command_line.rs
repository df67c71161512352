//! Faults of commands, their options and their messages.
