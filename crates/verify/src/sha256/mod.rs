//! SHA-256 for Merkle trees: BIP340's tagged hashes and Bitcoin's double hash, many messages at once.
//!
//! A tag's first block is compressed once, when the tag is created (at compile time for a `const`). The second block of
//! a 64-byte message is padding only, so its message schedule is a constant, and only its rounds remain.

#[cfg(target_arch = "aarch64")]
mod aarch64;
mod engine;
mod hash_batch;
mod kernel;
mod plan;
mod portable;
mod scalar;
#[cfg(target_arch = "x86_64")]
mod x86;

pub use engine::{Backend, Engine};

use hash_batch::{Each, Many, Rows};
use plan::Function;

/// A SHA-256 digest.
pub type Digest = [u8; 32];

/// A BIP340 tag, which defines a hash function: SHA-256(SHA-256(name) ‖ SHA-256(name) ‖ message).
///
/// Make it a `const`, so that the compiler compresses its first block.
#[derive(Clone, Debug)]
pub struct Tag(Function);

impl Tag {
    /// The tag with this name.
    pub const fn new(name: &str) -> Self {
        Self(Function::tagged(name.as_bytes()))
    }

    /// The hash of one message.
    pub fn hash(&self, message: &[u8]) -> Digest {
        Engine::fastest().hash(&self.0, message)
    }

    /// Hashes the concatenation of parts.
    pub fn hash_parts(&self, parts: &[&[u8]]) -> Digest {
        engine::hash_parts(&self.0, parts)
    }

    /// Hashes messages of one length.
    ///
    /// # Panics
    ///
    /// If the numbers of messages and digests differ.
    pub fn hash_many<const N: usize>(&self, messages: &[[u8; N]], digests: &mut [Digest]) {
        self.hash_many_on(Engine::fastest(), messages, digests);
    }

    /// As [`Tag::hash_many`], on an engine of the caller's choice.
    pub fn hash_many_on<const N: usize>(&self, engine: &Engine, messages: &[[u8; N]], digests: &mut [Digest]) {
        assert_eq!(messages.len(), digests.len(), "one digest for each message");
        engine.run(&self.0, N, messages.len(), &mut Many { messages, digests });
    }

    /// As [`Tag::hash_many_on`], for concatenated messages whose length is only known at run time.
    ///
    /// # Panics
    ///
    /// If `messages` does not have `length` bytes per digest.
    pub fn hash_rows_on(&self, engine: &Engine, messages: &[u8], length: usize, digests: &mut [Digest]) {
        rows(engine, &self.0, messages, length, digests);
    }

    /// Hashes messages of any lengths. Messages of the same length share the lanes, so a few different lengths among
    /// many messages cost no more than one length.
    ///
    /// # Panics
    ///
    /// If the numbers of messages and digests differ.
    pub fn hash_each(&self, messages: &[&[u8]], digests: &mut [Digest]) {
        self.hash_each_on(Engine::fastest(), messages, digests);
    }

    /// As [`Tag::hash_each`], on an engine of the caller's choice.
    pub fn hash_each_on(&self, engine: &Engine, messages: &[&[u8]], digests: &mut [Digest]) {
        assert_eq!(messages.len(), digests.len(), "one digest for each message");
        let mut order: Vec<usize> = (0..messages.len()).collect();
        order.sort_by_key(|&index| messages[index].len());
        for group in order.chunk_by(|&a, &b| messages[a].len() == messages[b].len()) {
            let length = messages[group[0]].len();
            engine.run(&self.0, length, group.len(), &mut Each { messages, digests, order: group });
        }
    }

    /// Computes one level of a Merkle tree of our own chain: each parent is the hash of left ‖ right, where a missing
    /// right child is 32 zero bytes.
    ///
    /// # Panics
    ///
    /// If the number of parents is not half the number of children, rounded up.
    pub fn nodes(&self, children: &[Digest], parents: &mut [Digest]) {
        self.nodes_on(Engine::fastest(), children, parents);
    }

    /// As [`Tag::nodes`], on an engine of the caller's choice.
    pub fn nodes_on(&self, engine: &Engine, children: &[Digest], parents: &mut [Digest]) {
        nodes(engine, &self.0, children, [0; 32], parents);
    }
}

/// SHA-256(SHA-256(message)), Bitcoin's hash.
pub fn sha256d(message: &[u8]) -> Digest {
    Engine::fastest().hash(&Function::DOUBLE, message)
}

/// Double hashes of messages of one length, for instance of headers (80 bytes).
///
/// # Panics
///
/// If the numbers of messages and digests differ.
pub fn sha256d_many<const N: usize>(messages: &[[u8; N]], digests: &mut [Digest]) {
    sha256d_many_on(Engine::fastest(), messages, digests);
}

/// As [`sha256d_many`], on an engine of the caller's choice.
pub fn sha256d_many_on<const N: usize>(engine: &Engine, messages: &[[u8; N]], digests: &mut [Digest]) {
    assert_eq!(messages.len(), digests.len(), "one digest for each message");
    engine.run(&Function::DOUBLE, N, messages.len(), &mut Many { messages, digests });
}

/// As [`sha256d_many_on`], for concatenated messages whose length is only known at run time.
///
/// # Panics
///
/// If `messages` does not have `length` bytes per digest.
pub fn sha256d_rows_on(engine: &Engine, messages: &[u8], length: usize, digests: &mut [Digest]) {
    rows(engine, &Function::DOUBLE, messages, length, digests);
}

/// As [`sha256d_rows_on`], with plain SHA-256.
///
/// # Panics
///
/// If `messages` does not have `length` bytes per digest.
pub fn sha256_rows_on(engine: &Engine, messages: &[u8], length: usize, digests: &mut [Digest]) {
    rows(engine, &Function::SINGLE, messages, length, digests);
}

fn rows(engine: &Engine, function: &Function, messages: &[u8], length: usize, digests: &mut [Digest]) {
    assert_eq!(length.checked_mul(digests.len()), Some(messages.len()), "one digest for each message");
    engine.run(function, length, digests.len(), &mut Rows { messages, length, digests });
}

/// Computes one level of a Bitcoin Merkle tree: each parent is the double hash of left ‖ right, where the left child
/// replaces a missing right one.
///
/// # Panics
///
/// If the number of parents is not half the number of children, rounded up.
pub fn sha256d_nodes(children: &[Digest], parents: &mut [Digest]) {
    sha256d_nodes_on(Engine::fastest(), children, parents);
}

/// As [`sha256d_nodes`], on an engine of the caller's choice.
pub fn sha256d_nodes_on(engine: &Engine, children: &[Digest], parents: &mut [Digest]) {
    let last = children.last().copied().unwrap_or_default();
    nodes(engine, &Function::DOUBLE, children, last, parents);
}

/// One level of a tree in which `missing` replaces a missing right child.
fn nodes(engine: &Engine, function: &Function, children: &[Digest], missing: Digest, parents: &mut [Digest]) {
    assert_eq!(children.len().div_ceil(2), parents.len(), "one parent for each pair of children");
    let (pairs, odd) = children.as_chunks::<2>();
    let (whole, rest) = parents.split_at_mut(pairs.len());
    engine.run(function, 64, pairs.len(), &mut Many { messages: pairs, digests: whole });
    if let ([left], [parent]) = (odd, rest) {
        *parent = engine.hash(function, [*left, missing].as_flattened());
    }
}

#[cfg(test)]
mod tests;
