module turnpike.example/turnpike

go 1.22

require github.com/btcsuite/btcd/btcec/v2 v2.3.5

require (
	github.com/btcsuite/btcd/chaincfg/chainhash v1.0.1 // indirect
	github.com/decred/dcrd/crypto/blake256 v1.1.0 // indirect
	github.com/decred/dcrd/dcrec/secp256k1/v4 v4.4.0 // indirect
)
