use std::sync::atomic::{AtomicBool, Ordering};

use verify::sha256::{sha256_rows_on, sha256d_nodes_on, sha256d_rows_on};

use crate::call::rows;
use crate::items::check_count;
use crate::{Call, Digest, Error, Tag};

/// Digests per work unit: at most a quarter of a millisecond, and at least ten times the cost of distributing them.
const PIECE: (usize, usize) = (1024, 8192);

/// A hash function.
#[derive(Clone, Debug)]
pub enum Function {
    /// SHA-256.
    Sha256,
    /// SHA-256 of SHA-256, Bitcoin's hash.
    Sha256d,
    /// BIP340's tagged hash.
    Tagged(Tag),
}

/// The root of a Bitcoin Merkle tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Root {
    /// The root.
    pub hash: Digest,
    /// Whether two adjacent nodes are equal. If so, a shorter list of leaves has the same root (CVE-2012-2459).
    pub ambiguous: bool,
}

impl Call<'_> {
    /// The hash of each message; they are contiguous and have `length` bytes each.
    pub fn hash(
        &mut self,
        function: &Function,
        messages: &[u8],
        length: usize,
        digests: &mut [Digest],
    ) -> Result<(), Error> {
        let engine = self.backends().sha256()?;
        let count = digests.len();
        if length.checked_mul(count) != Some(messages.len()) {
            return Err(Error::Length { count, width: length, length: messages.len() });
        }
        let piece = rows(length, self.piece(count, PIECE.0, PIECE.1));
        self.each(digests.chunks_mut(piece).enumerate(), |(number, digests)| {
            let messages = &messages[number * piece * length..][..digests.len() * length];
            match function {
                Function::Sha256 => sha256_rows_on(engine, messages, length, digests),
                Function::Sha256d => sha256d_rows_on(engine, messages, length, digests),
                Function::Tagged(tag) => tag.hash_rows_on(engine, messages, length, digests),
            }
        })
    }

    /// One level of a Bitcoin Merkle tree: each parent is the double hash of left ‖ right; a missing right child is
    /// replaced by the left one. There are half as many parents as children, rounded up.
    pub fn merkle_parents(&mut self, children: &[Digest], parents: &mut [Digest]) -> Result<(), Error> {
        let engine = self.backends().sha256()?;
        check_count("parents", parents.len(), children.len().div_ceil(2))?;
        self.level(children, parents, |children, parents| sha256d_nodes_on(engine, children, parents))
    }

    fn level(
        &mut self,
        children: &[Digest],
        parents: &mut [Digest],
        work: impl Fn(&[Digest], &mut [Digest]) + Sync,
    ) -> Result<(), Error> {
        let piece = self.piece(parents.len(), PIECE.0, PIECE.1);
        let pieces = children.chunks(2 * piece).zip(parents.chunks_mut(piece));
        self.each(pieces, |(children, parents)| work(children, parents))
    }

    /// The root of a Bitcoin Merkle tree.
    pub fn merkle_root(&mut self, leaves: &[Digest]) -> Result<Root, Error> {
        if leaves.is_empty() {
            return Err(Error::NoLeaves);
        }
        let engine = self.backends().sha256()?;
        let ambiguous = AtomicBool::new(false);
        let work = |children: &[Digest], parents: &mut [Digest]| {
            if children.as_chunks::<2>().0.iter().any(|[left, right]| left == right) {
                ambiguous.store(true, Ordering::Relaxed);
            }
            sha256d_nodes_on(engine, children, parents);
        };
        // Room for two levels, each computed from the other. Bytes, so that the system provides zero pages lazily.
        let mut parents = vec![0; 32 * leaves.len().div_ceil(2)];
        let mut children = vec![0; 32 * leaves.len().div_ceil(4)];
        let mut level = leaves;
        while level.len() > 1 {
            parents.truncate(32 * level.len().div_ceil(2));
            self.level(level, parents.as_chunks_mut().0, work)?;
            std::mem::swap(&mut parents, &mut children);
            level = children.as_chunks().0;
        }
        Ok(Root { hash: level[0], ambiguous: ambiguous.load(Ordering::Relaxed) })
    }
}
