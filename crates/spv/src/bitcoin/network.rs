//! The Bitcoin networks, and how they differ.
use super::header::BlockHeader;
use super::target::Compact;
use super::uint::U256;

/// Blocks between two changes of the difficulty.
pub const RETARGET_INTERVAL: u32 = 2016;

/// A Bitcoin network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Network {
    /// The main network, whose coins have value.
    Mainnet,
    /// The third test network.
    Testnet,
    /// The fourth test network (BIP94).
    Testnet4,
    /// A private network with next to no proof of work.
    Regtest,
    /// The test network of signed blocks. The proof of work is checked, the signatures are not.
    Signet,
}

impl Network {
    /// All networks.
    pub const ALL: [Self; 5] = [Self::Mainnet, Self::Testnet, Self::Testnet4, Self::Regtest, Self::Signet];

    /// The name, as in Bitcoin Core's `-chain`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mainnet => "main",
            Self::Testnet => "test",
            Self::Testnet4 => "testnet4",
            Self::Regtest => "regtest",
            Self::Signet => "signet",
        }
    }

    /// The four bytes before each message, and before each block in a file.
    pub fn magic(self) -> [u8; 4] {
        match self {
            Self::Mainnet => [0xf9, 0xbe, 0xb4, 0xd9],
            Self::Testnet => [0x0b, 0x11, 0x09, 0x07],
            Self::Testnet4 => [0x1c, 0x16, 0x3f, 0x28],
            Self::Regtest => [0xfa, 0xbf, 0xb5, 0xda],
            Self::Signet => [0x0a, 0x03, 0xcf, 0x40],
        }
    }

    /// The network whose messages begin with these bytes.
    pub fn of_magic(magic: [u8; 4]) -> Option<Self> {
        Self::ALL.into_iter().find(|network| network.magic() == magic)
    }

    /// The first block's header.
    pub fn genesis(self) -> BlockHeader {
        let (time, bits, nonce) = match self {
            Self::Mainnet => (1_231_006_505, 0x1d00_ffff, 2_083_236_893),
            Self::Testnet => (1_296_688_602, 0x1d00_ffff, 414_098_458),
            Self::Testnet4 => (1_714_777_860, 0x1d00_ffff, 393_743_547),
            Self::Regtest => (1_296_688_602, 0x207f_ffff, 2),
            Self::Signet => (1_598_918_400, 0x1e03_77ae, 52_613_770),
        };
        // The others share one genesis transaction, and therefore one root.
        let merkle_root = match self {
            Self::Testnet4 => [
                0x4e, 0x7b, 0x2b, 0x91, 0x28, 0xfe, 0x02, 0x91, 0xdb, 0x06, 0x93, 0xaf, 0x2a, 0xe4, 0x18, 0xb7, 0x67,
                0xe6, 0x57, 0xcd, 0x40, 0x7e, 0x80, 0xcb, 0x14, 0x34, 0x22, 0x1e, 0xae, 0xa7, 0xa0, 0x7a,
            ],
            Self::Mainnet | Self::Testnet | Self::Regtest | Self::Signet => [
                0x3b, 0xa3, 0xed, 0xfd, 0x7a, 0x7b, 0x12, 0xb2, 0x7a, 0xc7, 0x2c, 0x3e, 0x67, 0x76, 0x8f, 0x61, 0x7f,
                0xc8, 0x1b, 0xc3, 0x88, 0x8a, 0x51, 0x32, 0x3a, 0x9f, 0xb8, 0xaa, 0x4b, 0x1e, 0x5e, 0x4a,
            ],
        };
        BlockHeader {
            version: 1.into(),
            previous: [0; 32],
            merkle_root,
            time: time.into(),
            bits: bits.into(),
            nonce: nonce.into(),
        }
    }

    /// The easiest target, in compact form.
    pub fn easiest(self) -> Compact {
        Compact(self.genesis().bits.get())
    }

    /// The easiest target. More precise than its compact form, except on signet.
    pub fn proof_of_work_limit(self) -> U256 {
        match self {
            Self::Mainnet | Self::Testnet | Self::Testnet4 => U256::MAX.shift_right(32),
            Self::Regtest => U256::MAX.shift_right(1),
            Self::Signet => U256::from(0x0003_77ae).shift_left(8 * 27),
        }
    }

    /// Whether a block may be easy if it took more than twenty minutes.
    pub(super) fn allows_easy_blocks(self) -> bool {
        matches!(self, Self::Testnet | Self::Testnet4 | Self::Regtest)
    }

    /// Whether BIP94 applies: an interval's difficulty follows from its first block, which cannot be easy and whose
    /// time cannot be far back.
    pub(super) fn has_bip94(self) -> bool {
        self == Self::Testnet4
    }

    /// Whether the difficulty ever changes.
    pub(super) fn retargets(self) -> bool {
        self != Self::Regtest
    }

    /// The lowest version of a header at a height: BIP34, BIP66 and BIP65 each retired one.
    ///
    /// On regtest there is no minimum, as nodes differ in when they start to require one.
    pub(super) fn least_version(self, height: u32) -> i32 {
        let retired = match self {
            Self::Mainnet => [227_931, 363_725, 388_381],
            Self::Testnet => [21_111, 330_776, 581_885],
            Self::Testnet4 | Self::Signet => [1, 1, 1],
            Self::Regtest => return i32::MIN,
        };
        match retired.iter().filter(|from| height >= **from).count() {
            0 => i32::MIN,
            n => n as i32 + 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::hash::display;
    use super::*;

    #[test]
    fn genesis_hashes() {
        let hashes = Network::ALL.map(|network| display(&network.genesis().hash()).to_string());
        assert_eq!(hashes[0], "000000000019d6689c085ae165831e934ff763ae46a2a6c172b3f1b60a8ce26f");
        assert_eq!(hashes[1], "000000000933ea01ad0ee984209779baaec3ced90fa3f408719526f8d77f4943");
        assert_eq!(hashes[2], "00000000da84f2bafbbc53dee25a72ae507ff4914b867c565be350b0da8bf043");
        assert_eq!(hashes[3], "0f9188f13cb7b2c71f2a335e3a4fc328bf5beb436012afca590b1a11466e2206");
        assert_eq!(hashes[4], "00000008819873e925422c1ff0f99f7cc9bbb232af63a077a480a3633bee1ef6");
    }

    #[test]
    fn names_are_those_of_bitcoin_core() {
        assert_eq!(Network::ALL.map(Network::name), ["main", "test", "testnet4", "regtest", "signet"]);
    }

    #[test]
    fn limits_have_the_compact_form_of_genesis() {
        for network in Network::ALL {
            assert_eq!(Compact::from_target(network.proof_of_work_limit()), network.easiest());
            assert_eq!(Network::of_magic(network.magic()), Some(network));
        }
        assert_eq!(Network::of_magic([0; 4]), None);
    }

    #[test]
    fn versions() {
        assert_eq!(Network::Mainnet.least_version(227_930), i32::MIN);
        assert_eq!(Network::Mainnet.least_version(227_931), 2);
        assert_eq!(Network::Mainnet.least_version(363_725), 3);
        assert_eq!(Network::Mainnet.least_version(800_000), 4);
        assert_eq!(Network::Testnet.least_version(330_776), 3);
    }
}
