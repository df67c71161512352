"""Clients of a Turnpike node: durable transfers, batches without objects, proofs that the client verifies.

`Client` blocks, `AsyncClient` is for asyncio. `Feed` and `AsyncFeed` deliver what a node journals. `errors` has an
error for every status of the protocol.
"""

from . import errors as errors
from ._async_client import AsyncClient as AsyncClient
from ._chain import BlockHeader as BlockHeader
from ._chain import HeaderChain as HeaderChain
from ._client import Client as Client
from ._core import Options as Options
from ._feed import AsyncFeed as AsyncFeed
from ._feed import Feed as Feed
from ._feed import FeedEntry as FeedEntry
from ._feed import FeedPart as FeedPart
from ._finality import Certificate as Certificate
from ._finality import Finality as Finality
from ._finality import Reconfiguration as Reconfiguration
from ._finality import ReplicaSet as ReplicaSet
from ._finality import Vouched as Vouched
from ._history import AssetPage as AssetPage
from ._history import HistoryFilter as HistoryFilter
from ._history import HistoryPage as HistoryPage
from ._history import PastTransaction as PastTransaction
from ._history import Role as Role
from ._ids import transaction_id as transaction_id
from ._operations import Operation as Operation
from ._operations import Receipt as Receipt
from ._operations import Results as Results
from ._proofs import IndexEntry as IndexEntry
from ._proofs import IndexProof as IndexProof
from ._proofs import TransactionProof as TransactionProof
from ._proofs import asset_id as asset_id
from ._protocol import BatchFormat as BatchFormat
from ._protocol import Command as Command
from ._protocol import InfoFrame as InfoFrame
from ._protocol import Promise as Promise
from ._protocol import Status as Status
from ._signer import SignedOperation as SignedOperation
from ._signer import Signer as Signer
from ._signer import is_signed as is_signed
from ._signer import keyed_account as keyed_account
