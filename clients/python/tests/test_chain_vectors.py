"""The golden vectors of the chain: what must hold holds, and what must be refused is."""

import pytest
from coincurve import PrivateKey

from turnpike import (
    BlockHeader,
    Certificate,
    HeaderChain,
    IndexProof,
    Operation,
    Promise,
    Reconfiguration,
    ReplicaSet,
    Signer,
    TransactionProof,
    Vouched,
    _hash,
    is_signed,
    keyed_account,
)
from turnpike import _protocol as protocol
from turnpike._chain import hash_of
from turnpike._signer import is_sealed
from turnpike.errors import Error, Fork, InvalidCertificate, InvalidHeader, InvalidProof, WrongNetwork

from .golden import octets, records

SECRET = bytes(range(1, 33))


def cases(name: str) -> list[list[str]]:
    return list(records(f"chain/{name}.txt"))


def keys(field: str) -> tuple[bytes, ...]:
    data = octets(field)
    return tuple(data[at : at + 32] for at in range(0, len(data), 32))


@pytest.mark.parametrize(("name", "given", "expected"), cases("definitions"))
def test_definitions(name: str, given: str, expected: str) -> None:
    data, result = octets(given), octets(expected)
    match name:
        case "header":
            assert hash_of(data) == result
        case "account":
            assert keyed_account(data).to_bytes(16, "big") == result
        case "path":
            assert _hash.account_path(data) == int.from_bytes(result, "big")
        case "transaction" | "node" | "index_node" | "index_leaf":
            assert getattr(_hash, name)(data) == result
        case "sealed":
            assert is_sealed(Signer(SECRET, bytes(32)).public_key[1:], _hash.seal(hash_of(result)), result[128:])
        case "genesis":
            assert _hash.tagged(protocol.NETWORK_TAG)(data) == BlockHeader.unpack(result).previous
        case _:
            pytest.fail(f"unknown definition {name}")


@pytest.mark.parametrize(("name", "verdict", "network", "entry"), cases("signatures"))
def test_signatures(name: str, verdict: str, network: str, entry: str) -> None:
    signed = octets(entry)
    assert is_signed(signed, octets(network)) == (verdict == "good")
    if verdict == "good":
        fixed = protocol.SignedOperation.unpack(signed)
        signer = Signer(SECRET, octets(network))
        operation = Operation.unpack(signed)
        again = signer.sign(operation, Promise(fixed.promise), timestamp=fixed.timestamp, nonce=fixed.nonce)
        assert again.pack() == signed
        assert not any(is_signed(flip(signed, at), octets(network)) for at in range(0, len(signed), 7))


def flip(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


@pytest.mark.parametrize(("name", "verdict", "key", "sealed"), cases("seals"))
def test_seals(name: str, verdict: str, key: str, sealed: str) -> None:
    data = octets(sealed)
    assert is_sealed(octets(key), _hash.seal(hash_of(data)), data[128:]) == (verdict == "good")


@pytest.mark.parametrize(("name", "verdict", "network", "chain"), cases("header_chains"))
def test_header_chains(name: str, verdict: str, network: str, chain: str) -> None:
    data = octets(chain)
    headers = [data[at : at + 192] for at in range(0, len(data), 192)]

    def extend() -> HeaderChain:
        made = HeaderChain(octets(network), headers[0])
        made.extend(headers[1:])
        return made

    for build in (extend, lambda: HeaderChain.restore(octets(network), headers)):
        if verdict == "good":
            assert build().height == len(headers) - 1
        else:
            with pytest.raises(InvalidHeader):
                build()


@pytest.mark.parametrize(("name", "verdict", "account", "header", "reply"), cases("index_proofs"))
def test_index_proofs(name: str, verdict: str, account: str, header: str, reply: str) -> None:
    def verify(data: bytes) -> object:
        return IndexProof.parse(data).verify_in(int(account, 16), BlockHeader.unpack(octets(header)))

    if verdict == "bad":
        with pytest.raises(Error):
            verify(octets(reply))
        return
    entry = verify(octets(reply))
    assert (entry is not None) == (verdict == "entry")


@pytest.mark.parametrize(("name", "verdict", "header", "reply"), cases("transaction_proofs"))
def test_transaction_proofs(name: str, verdict: str, header: str, reply: str) -> None:
    def verify() -> None:
        TransactionProof.parse(octets(reply)).verify_in(BlockHeader.unpack(octets(header)))

    if verdict == "bad":
        with pytest.raises(Error):
            verify()
    else:
        verify()


@pytest.mark.parametrize(("name", "verdict", "network", "replicas", "certificate"), cases("certificates"))
def test_certificates(name: str, verdict: str, network: str, replicas: str, certificate: str) -> None:
    def verify() -> None:
        Certificate.unpack(octets(certificate)).verify(octets(network), ReplicaSet(keys(replicas)))

    if verdict == "bad":
        with pytest.raises(InvalidCertificate):
            verify()
    else:
        verify()


@pytest.mark.parametrize(("name", "verdict", "network", "before", "change", "after"), cases("reconfigurations"))
def test_reconfigurations(name: str, verdict: str, network: str, before: str, change: str, after: str) -> None:
    def verify() -> ReplicaSet:
        return Reconfiguration.unpack(octets(change)).verify(octets(network), ReplicaSet(keys(before)), 0)

    if verdict == "bad":
        with pytest.raises(InvalidCertificate):
            verify()
    else:
        assert verify().keys == keys(after)


@pytest.mark.parametrize(("name", "verdict", "network", "kept", "present"), cases("vouched"))
def test_vouched(name: str, verdict: str, network: str, kept: str, present: str) -> None:
    def verify() -> ReplicaSet:
        return Vouched.unpack(octets(kept)).replicas(octets(network))

    if verdict == "bad":
        with pytest.raises(InvalidCertificate):
            verify()
    else:
        assert verify().keys == keys(present)


def test_a_chain_begins_with_the_pinned_genesis_and_takes_only_successors() -> None:
    genesis, following = (octets(result) for name, _, result in cases("definitions") if name == "sealed")
    network = hash_of(genesis)
    chain = HeaderChain(network, genesis)
    chain.extend([following])
    assert (chain.height, chain.trusted) == (1, 1)
    assert HeaderChain.restore(network, chain.headers).tip_hash == chain.tip_hash
    for at in range(len(genesis)):
        with pytest.raises((WrongNetwork, InvalidHeader)):
            HeaderChain(network, flip(genesis, at))
        other = HeaderChain(network, genesis)
        with pytest.raises(InvalidHeader):
            other.extend([flip(following, at)])
        assert other.height == 0
        if at < 128:
            with pytest.raises(InvalidHeader):
                chain.check_same(flip(following, at))
        with pytest.raises(InvalidHeader):
            HeaderChain.restore(network, [genesis, flip(following, at)])
    with pytest.raises(WrongNetwork):
        HeaderChain(bytes(32), genesis)


def test_two_sealed_headers_of_a_height_are_evidence() -> None:
    genesis, following = (octets(result) for name, _, result in cases("definitions") if name == "sealed")
    later = int.from_bytes(following[16:24], "big") + 1
    other = following[:16] + later.to_bytes(8, "big") + following[24:128]
    other += PrivateKey(SECRET).sign_schnorr(_hash.seal(hash_of(other)))
    chain = HeaderChain(hash_of(genesis), genesis)
    chain.extend([following])
    chain.check_same(following)
    with pytest.raises(Fork) as caught:
        chain.check_same(other)
    assert caught.value.evidence == (following, other)


def test_every_flipped_byte_of_a_proof_is_refused() -> None:
    for name, verdict, account, header, reply in cases("index_proofs"):
        if verdict != "entry" or name not in ("5_of_17", "5_of_100", "0_of_1"):
            continue
        data, root = octets(reply), BlockHeader.unpack(octets(header))
        start = protocol.INDEX_REPLY.size
        for at in range(start, len(data)):
            with pytest.raises(InvalidProof):
                IndexProof.parse(flip(data, at)).verify_in(int(account, 16), root)
