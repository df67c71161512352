"""The application block by its own ports, with one port of the card, between the models of Corundum's testbenches:
cocotbext-axi's streams and AXI4-Lite, which know nothing of Turnpike."""

import os
import random
from pathlib import Path

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, with_timeout
from cocotbext.axi import AxiLiteBus, AxiLiteMaster, AxiResp, AxiStreamBus, AxiStreamFrame, AxiStreamSink, AxiStreamSource
from cocotbext.axi.stream import define_stream

CompletionBus, Completion, CompletionSource, CompletionSink, _ = define_stream("Completion", signals=["ts", "tag", "valid", "ready"])

# Registers: docs/rtl-csr.md and docs/mqnic.md.
ID, CONTROL, ADDRESS, UDP_PORT, PROMISE, TRUSTED_ADDRESS, TRUSTED_MASK, LIMIT = 0x0, 0x10, 0x14, 0x18, 0x1c, 0x20, 0x24, 0x28
RECEIVED = 0x1000
RUN, COMPACT = 1, 2
NODE, CLIENT = (bytes([10, 0, 0, 1]), 7400), (bytes([10, 1, 0, 7]), 4000)
NODE_MAC, CLIENT_MAC = bytes.fromhex("02000000aa01"), bytes.fromhex("02000000bb02")
TIMESTAMP_WIDTH = 96
# The upper bit marks Corundum's own frames, of at most 32 descriptors.
HOST_TAG = 32


def checksum(data):
    total = sum(int.from_bytes(data[at:at + 2].ljust(2, b"\0"), "big") for at in range(0, len(data), 2))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return total ^ 0xffff


def datagram(macs, source, destination, frame):
    """An Ethernet frame with a UDP datagram between two pairs of address and port."""
    length = 8 + len(frame)
    udp = b"".join(number.to_bytes(2, "big") for number in (source[1], destination[1], length))
    pseudo = source[0] + destination[0] + bytes([0, 17]) + length.to_bytes(2, "big")
    udp += (checksum(pseudo + udp + b"\0\0" + frame) or 0xffff).to_bytes(2, "big")
    head = bytes([0x45, 0]) + (20 + length).to_bytes(2, "big") + bytes([0, 0, 0, 0, 64, 17])
    addresses = source[0] + destination[0]
    return macs + b"\x08\x00" + head + checksum(head + b"\0\0" + addresses).to_bytes(2, "big") + addresses + udp + frame


def vectors(name):
    lines = (Path(os.environ["VECTORS"]) / "ledger" / name).read_text().splitlines()
    return [bytes.fromhex(line) for line in lines if line and not line.startswith("//")]


def other_frame():
    """A frame of IPv6, which is not the block's."""
    body = bytearray(random.randbytes(random.randint(60, 9214) if random.random() < 0.1 else random.randint(60, 1514)))
    body[12:14] = b"\x86\xdd"
    return bytes(body)


class Corundum:
    """The surroundings of the block."""

    def __init__(self, dut):
        self.dut = dut
        cocotb.start_soon(Clock(dut.clk, 4, "ns").start())

        def model(of, bus, prefix):
            return of(bus.from_prefix(dut, prefix), dut.clk, dut.rst)

        self.net_rx, self.host_rx = model(AxiStreamSource, AxiStreamBus, "s_axis_sync_rx"), model(AxiStreamSink, AxiStreamBus, "m_axis_sync_rx")
        self.host_tx, self.net_tx = model(AxiStreamSource, AxiStreamBus, "s_axis_sync_tx"), model(AxiStreamSink, AxiStreamBus, "m_axis_sync_tx")
        self.net_cpl, self.host_cpl = model(CompletionSource, CompletionBus, "s_axis_sync_tx_cpl"), model(CompletionSink, CompletionBus, "m_axis_sync_tx_cpl")
        self.registers = model(AxiLiteMaster, AxiLiteBus, "s_axil_app_ctrl")

    async def start(self, pause):
        """Resets the block and configures it; then every channel pauses at random."""
        self.dut.rst.value = 1
        await ClockCycles(self.dut.clk, 4)
        self.dut.rst.value = 0
        for address, value in ((ADDRESS, int.from_bytes(NODE[0], "big")), (UDP_PORT, NODE[1]), (PROMISE, 1), (TRUSTED_ADDRESS, 0x0a010000),
                               (TRUSTED_MASK, 0xffff0000), (LIMIT, 1 << 21), (CONTROL, RUN | COMPACT)):
            await soon(self.registers.write_dword(address, value))
        write, read = self.registers.write_if, self.registers.read_if
        for channel in (self.net_rx, self.host_rx, self.host_tx, self.net_tx, self.net_cpl, self.host_cpl,
                        write.aw_channel, write.w_channel, write.b_channel, read.ar_channel, read.r_channel):
            channel.set_pause_generator(random.random() < pause for _ in iter(int, 1))


async def soon(awaitable):
    """Nothing here takes 200 us."""
    return await with_timeout(cocotb.start_soon(awaitable), 200, "us")


async def expect(sink, data, user):
    """The next frame of a sink, whose words all have the same `tuser`."""
    frame = await soon(sink.recv())
    assert bytes(frame.tdata) == data
    assert frame.tuser == user


@cocotb.test()
async def registers_answer(dut):
    corundum = Corundum(dut)
    await corundum.start(pause=0.3)
    registers, address = corundum.registers, int.from_bytes(NODE[0], "big")
    assert await soon(registers.read_dword(ID)) == 0x54504e49
    assert await soon(registers.read_dword(ADDRESS)) == address
    assert (await soon(registers.read(0x2000, 4))).resp == AxiResp.DECERR
    assert (await soon(registers.write(0x2000, bytes(4)))).resp == AxiResp.DECERR
    assert (await soon(registers.write(ADDRESS + 1, b"\xff"))).resp == AxiResp.SLVERR
    assert await soon(registers.read_dword(ADDRESS)) == address


@cocotb.test()
async def frames_pass(dut):
    corundum = Corundum(dut)
    await corundum.start(pause=0.3)
    received = [(other_frame(), random.getrandbits(TIMESTAMP_WIDTH) << 1) for _ in range(50)]
    sent = [(other_frame(), (HOST_TAG | at % 32) << 1) for at in range(50)]
    for data, user in received:
        await corundum.net_rx.send(AxiStreamFrame(data, tuser=user))
    for data, user in sent:
        await corundum.host_tx.send(AxiStreamFrame(data, tuser=user))
    for data, user in received:
        await expect(corundum.host_rx, data, user)
    for data, user in sent:
        await expect(corundum.net_tx, data, user)
        time = random.getrandbits(TIMESTAMP_WIDTH)
        await corundum.net_cpl.send(Completion(ts=time, tag=user >> 1))
        done = await soon(corundum.host_cpl.recv())
        assert (int(done.ts), int(done.tag)) == (time, user >> 1)
    assert corundum.host_rx.empty() and corundum.net_tx.empty() and corundum.host_cpl.empty()


@cocotb.test()
async def operations_are_answered(dut):
    corundum = Corundum(dut)
    await corundum.start(pause=0.2)
    pairs = list(zip(vectors("compact_requests.hex"), vectors("compact_replies.hex"), strict=True))
    for request, reply in pairs:
        await corundum.net_rx.send(AxiStreamFrame(datagram(NODE_MAC + CLIENT_MAC, CLIENT, NODE, request), tuser=random.getrandbits(TIMESTAMP_WIDTH) << 1))
        await expect(corundum.net_tx, datagram(CLIENT_MAC + NODE_MAC, NODE, CLIENT, reply), 0)
        await corundum.net_cpl.send(Completion(ts=random.getrandbits(TIMESTAMP_WIDTH), tag=0))
    # The first completion at the host is the host's own.
    await corundum.net_cpl.send(Completion(ts=5, tag=HOST_TAG))
    assert int((await soon(corundum.host_cpl.recv())).tag) == HOST_TAG
    assert corundum.host_cpl.empty() and corundum.host_rx.empty()
    assert await soon(corundum.registers.read_dword(RECEIVED)) == len(pairs)
