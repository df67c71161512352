//! The cache of the FPGA-NIC paper (HEART 2017, section 3.2), as a baseline for benchmarks only.
//!
//! Its frame is 32 bytes of UDP payload, 74 bytes with the headers: the address in the request, the Merkle root of the
//! address's latest transaction in the reply. 24 bits of the address index the memory. The whole address is never
//! compared, so two addresses with the same 24 bits get each other's answer; nothing is ever invalidated; and a bare
//! root proves nothing. No node serves this.

/// Bytes of the payload, in both directions.
pub const FRAME: usize = 32;

/// Bits of the address that form the index.
const INDEX_BITS: u32 = 24;

/// Roots indexed by 24 bits of the address: 512 MiB, of which only the used part is touched.
#[derive(Debug)]
pub struct PaperCache {
    /// All zeros where the paper's valid flag is zero.
    roots: Vec<[u8; FRAME]>,
}

impl Default for PaperCache {
    fn default() -> Self {
        Self::new()
    }
}

impl PaperCache {
    /// An empty cache.
    pub fn new() -> Self {
        Self { roots: vec![[0; FRAME]; 1 << INDEX_BITS] }
    }

    /// "Get": replaces the address in a frame by the root; returns false, with the frame unchanged, if the full node
    /// has to answer.
    #[inline]
    pub fn answer(&self, frame: &mut [u8; FRAME]) -> bool {
        let root = &self.roots[index(frame)];
        let hit = *root != [0; FRAME];
        if hit {
            *frame = *root;
        }
        hit
    }

    /// "Set": stores the root that the full node returned for an address.
    #[inline]
    pub fn set(&mut self, address: &[u8; FRAME], root: &[u8; FRAME]) {
        self.roots[index(address)] = *root;
    }
}

fn index(address: &[u8; FRAME]) -> usize {
    usize::from(address[0]) << 16 | usize::from(address[1]) << 8 | usize::from(address[2])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misses_are_left_for_the_node_and_hits_are_answered() {
        let mut cache = PaperCache::new();
        let mut frame = [7; FRAME];
        assert!(!cache.answer(&mut frame));
        assert_eq!(frame, [7; FRAME]);
        cache.set(&[7; FRAME], &[9; FRAME]);
        assert!(cache.answer(&mut frame));
        assert_eq!(frame, [9; FRAME]);
    }

    #[test]
    fn addresses_that_begin_otherwise_are_apart() {
        let mut cache = PaperCache::new();
        let mut addresses = vec![[7; FRAME]];
        for byte in 0..3 {
            for bit in 0..8 {
                let mut address = [7; FRAME];
                address[byte] ^= 1 << bit;
                addresses.push(address);
            }
        }
        for (number, address) in (1..).zip(&addresses) {
            cache.set(address, &[number; FRAME]);
        }
        for (number, address) in (1..).zip(&addresses) {
            let mut frame = *address;
            assert!(cache.answer(&mut frame));
            assert_eq!(frame, [number; FRAME]);
        }
    }

    #[test]
    fn addresses_that_begin_alike_get_each_others_answer() {
        let mut cache = PaperCache::new();
        cache.set(&[7; FRAME], &[9; FRAME]);
        let mut frame = [7; FRAME];
        frame[3] = 8;
        assert!(cache.answer(&mut frame));
        assert_eq!(frame, [9; FRAME]);
    }
}
