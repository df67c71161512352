// Made by rtl/nic/csr.py of rtl/nic/csr.yml; change that.
#pragma once

// "TPNI": that this is the NIC
#define TURNPIKE_NIC_ID 0x000u
// version of this map; another one means that the software is for another NIC
#define TURNPIKE_NIC_VERSION 0x004u
// number of network ports
#define TURNPIKE_NIC_PORTS 0x008u
// operations that the transfer engine remembers for their retries, at most
#define TURNPIKE_NIC_RETRIES 0x00cu
#define TURNPIKE_NIC_CONTROL 0x010u
#define TURNPIKE_NIC_CONTROL_RUN (1u << 0)  // 0: the data path is in reset and takes nothing. Written after all other registers
#define TURNPIKE_NIC_CONTROL_COMPACT (1u << 1)  // the transfer engine takes compact frames
#define TURNPIKE_NIC_CONTROL_BATCH (1u << 2)  // the transfer engine takes batches of compact entries
#define TURNPIKE_NIC_CONTROL_PROOF (1u << 3)  // the proof cache takes proof frames
#define TURNPIKE_NIC_CONTROL_RECORD (1u << 4)  // the host is told every operation that was executed
#define TURNPIKE_NIC_CONTROL_HOLD (1u << 5)  // replies to operations go to the host
#define TURNPIKE_NIC_CONTROL_DROP (1u << 6)  // no port is ever held up: packets for which there is no room are dropped and counted. 0: they wait
#define TURNPIKE_NIC_CONTROL_VERIFY (1u << 7)  // the verification engines take verify frames from the trusted prefix
// IPv4 address of this node
#define TURNPIKE_NIC_ADDRESS 0x014u
// UDP port of this node
#define TURNPIKE_NIC_UDP_PORT 0x018u
// promise under which operations are answered; batches that ask for another one go to the host
#define TURNPIKE_NIC_PROMISE 0x01cu
// prefix from which operations are taken
#define TURNPIKE_NIC_TRUSTED_ADDRESS 0x020u
// the bits of an address that have to agree with the prefix
#define TURNPIKE_NIC_TRUSTED_MASK 0x024u
// the most accounts to create
#define TURNPIKE_NIC_ACCOUNT_LIMIT 0x028u
// each change tells that a seventh of the retry time has passed; nothing is forgotten before eight of them
#define TURNPIKE_NIC_RETRY_TICK 0x02cu
// verification engines that were built in, by bits: 0 signatures, 1 Merkle roots, 2 headers with Equihash solutions
#define TURNPIKE_NIC_VERIFY_ENGINES 0x030u
// 128 random bits for the hashes of the transfer engine
#define TURNPIKE_NIC_SECRET 0x040u
#define TURNPIKE_NIC_SECRET_COUNT 4u
// 512 random bits for the hash of the proof cache
#define TURNPIKE_NIC_PROOF_SECRET 0x080u
#define TURNPIKE_NIC_PROOF_SECRET_COUNT 16u
// packets from a port, those dropped among them
#define TURNPIKE_NIC_RX_PACKETS 0x100u
#define TURNPIKE_NIC_RX_PACKETS_COUNT 8u
// packets to a port
#define TURNPIKE_NIC_TX_PACKETS 0x140u
#define TURNPIKE_NIC_TX_PACKETS_COUNT 8u
// compact frames answered
#define TURNPIKE_NIC_COMPACT_PACKETS 0x180u
// batches answered
#define TURNPIKE_NIC_BATCH_PACKETS 0x188u
// operations answered, those of batches among them
#define TURNPIKE_NIC_OPERATIONS 0x190u
// proof frames answered
#define TURNPIKE_NIC_PROOF_HITS 0x198u
// proof frames that went to the host
#define TURNPIKE_NIC_PROOF_MISSES 0x1a0u
// replies taken into the proof cache
#define TURNPIKE_NIC_FILLS 0x1a8u
// replies not taken, as they were late, too long or none
#define TURNPIKE_NIC_FILLS_REFUSED 0x1b0u
// packets that no engine took, those dropped among them
#define TURNPIKE_NIC_HOST_PACKETS 0x1b8u
// packets from the host
#define TURNPIKE_NIC_SENT_PACKETS 0x1c0u
// packets and misses for the host that were dropped
#define TURNPIKE_NIC_HOST_DROPPED 0x1c8u
// packets from a port that were dropped
#define TURNPIKE_NIC_RX_DROPPED 0x1d0u
#define TURNPIKE_NIC_RX_DROPPED_COUNT 8u
// verify frames answered
#define TURNPIKE_NIC_VERIFY_PACKETS 0x210u
// verify frames that went to the host, as no engine takes one of their messages
#define TURNPIKE_NIC_VERIFY_PASSED 0x218u
// signatures that an engine has verified, ECDSA and BIP340
#define TURNPIKE_NIC_VERIFY_SIGNATURES 0x220u
// Merkle roots that an engine has verified
#define TURNPIKE_NIC_VERIFY_ROOTS 0x228u
// headers with Equihash solutions that an engine has verified
#define TURNPIKE_NIC_VERIFY_HEADERS 0x230u

// What a packet to the host is.
#define TURNPIKE_NIC_TO_HOST_PACKET 0u  // as it came from `port`
#define TURNPIKE_NIC_TO_HOST_MISS 1u  // the same, a proof frame: to be answered once by a fill, or none, with this `id`
#define TURNPIKE_NIC_TO_HOST_REPLY 2u  // with `hold`: the reply of an operation, to be sent out of `port` once it is durable; replies to port 255 as well
#define TURNPIKE_NIC_TO_HOST_RECORD 3u  // with `record`: an operation that was executed

// What a packet from the host is.
#define TURNPIKE_NIC_FROM_HOST_SEND 0u  // a packet to send out of `port`
#define TURNPIKE_NIC_FROM_HOST_INJECT 1u  // a packet to take as if it came from `port`; from 255, all that comes of it goes to the host
#define TURNPIKE_NIC_FROM_HOST_FILL 2u  // the body of a proof reply, from its byte 48 on, for the miss `id`
#define TURNPIKE_NIC_FROM_HOST_NONE 3u  // the miss `id` gets no fill; one byte that does not matter
#define TURNPIKE_NIC_FROM_HOST_ANNOUNCE 4u  // a change of a chain

// What an announcement tells of a chain.
#define TURNPIKE_NIC_CHANGE_FORGET 1u  // a new block touches the address of the key
#define TURNPIKE_NIC_CHANGE_EXTEND 2u  // the new block, on its parent: the tip is another one
#define TURNPIKE_NIC_CHANGE_REORGANISE 3u  // the chain has another tip, and all replies of it are stale

// Ports that are none of the network's.
#define TURNPIKE_NIC_PORT_HOST 255u  // the host itself

// An operation that was executed: its bytes, and the offsets of what is in it.
#define TURNPIKE_NIC_RECORD_BYTES 32u
#define TURNPIKE_NIC_RECORD_FRAME 0u  // the operation's request, with the status of its result
#define TURNPIKE_NIC_RECORD_IN_BATCH 22u  // 1 if it came in a batch
#define TURNPIKE_NIC_RECORD_PORT 23u  // the port that it came from
#define TURNPIKE_NIC_RECORD_VALUE 24u  // the source's balance, in full

// A change of a chain: its bytes, and the offsets of what is in it.
#define TURNPIKE_NIC_ANNOUNCEMENT_BYTES 106u
#define TURNPIKE_NIC_ANNOUNCEMENT_OPERATION 0u  // what changes: forget, extend or reorganise
#define TURNPIKE_NIC_ANNOUNCEMENT_PLACE 1u  // the chain in the upper four bits; with forget the query 1 in the lower
#define TURNPIKE_NIC_ANNOUNCEMENT_ADDRESS 2u  // with forget: the address that a new block touches
#define TURNPIKE_NIC_ANNOUNCEMENT_HASH 34u  // with extend and reorganise: hash of the new tip
#define TURNPIKE_NIC_ANNOUNCEMENT_HEIGHT 66u  // height of the new tip
#define TURNPIKE_NIC_ANNOUNCEMENT_PARENT 74u  // with extend: hash of the tip before
