//! Faults of the program as a process: signals, open files, sockets.
