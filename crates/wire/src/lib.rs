//! Frames of the Turnpike protocol: layouts, parsing, building.
