/** Signs operations of keyed accounts. */

import { secp256k1 } from "@noble/curves/secp256k1.js";
import { viewOf } from "./bytes.js";
import { type Hash, accountHash, transferHash } from "./hash.js";
import { type AccountId, accountId } from "./ids.js";
import { type Operation, PromiseLevel, type PromiseLevelName, SignedOperation } from "./protocol.js";

/** The id that binds a compressed public key: a one, then the first 127 bits of the key's hash. */
export function keyedAccount(publicKey: Uint8Array): AccountId {
  const hash = viewOf(accountHash(publicKey));
  const bits = (hash.getBigUint64(0) << 64n) | hash.getBigUint64(8);
  return accountId((bits >> 1n) | (1n << 127n));
}

function digest(network: Hash, signed: SignedOperation): Hash {
  const bytes = new Uint8Array(SignedOperation.LENGTH);
  SignedOperation.encode(viewOf(bytes), 0, signed);
  return transferHash(network, bytes.subarray(0, SignedOperation.at.signature));
}

/** Whether the signature is the key's, for this operation on this network. */
export function verifySignature(network: Hash, signed: SignedOperation): boolean {
  try {
    const options = { prehash: false, lowS: true };
    return secp256k1.verify(signed.signature, digest(network, signed), signed.publicKey, options);
  } catch {
    return false;
  }
}

/** Signs with one key on one network. */
export class Signer {
  /** The account that the key is bound to. */
  readonly account: AccountId;
  /** The public key, compressed. */
  readonly publicKey: Uint8Array;
  readonly #secret: Uint8Array;
  readonly #network: Hash;
  #nonce = 0;

  /** A signer with a secret key of 32 bytes, for the network with this id. */
  constructor(secret: Uint8Array, network: Hash) {
    if (!secp256k1.utils.isValidSecretKey(secret)) throw new RangeError("the secret key is not valid on secp256k1");
    this.#secret = secret.slice();
    this.#network = network.slice();
    this.publicKey = secp256k1.getPublicKey(secret, true);
    this.account = keyedAccount(this.publicKey);
  }

  /** Signs an operation as of now. */
  sign(operation: Operation, promise: PromiseLevelName = "default"): SignedOperation {
    this.#nonce = (this.#nonce + 1) >>> 0;
    return this.signAt(operation, BigInt(Date.now()) * 1000n, this.#nonce, promise);
  }

  /** Signs an operation as of a time in microseconds since the Unix epoch. */
  signAt(operation: Operation, timestamp: bigint, nonce: number, promise: PromiseLevelName): SignedOperation {
    const { publicKey } = this;
    const unsigned = { operation, timestamp, nonce, promise: PromiseLevel[promise], publicKey };
    const signed: SignedOperation = { ...unsigned, signature: new Uint8Array(64) };
    signed.signature = secp256k1.sign(digest(this.#network, signed), this.#secret, { prehash: false, lowS: true });
    return signed;
  }
}
