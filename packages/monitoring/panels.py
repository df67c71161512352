"""The table of the dashboard: rows of panels, and the metrics that no panel shows.

An expression names metrics without the selectors of the dashboard's variables; `generate.py` inserts them.
"""

from dataclasses import dataclass


@dataclass
class Panel:
    """A graph, or one value (`kind` is "stat"). `queries` are pairs of an expression and a legend."""

    title: str
    unit: str
    queries: list
    about: str = ""
    kind: str = "timeseries"
    width: int = 8
    # Lower bounds of colours, from green on: for values that a person must see.
    thresholds: tuple = ()


@dataclass
class Row:
    title: str
    panels: list
    collapsed: bool = False


def rate(metric, *labels):
    """Increase per second, summed over all labels but these."""
    return f"sum by ({', '.join(('instance', *labels))}) (rate({metric}[$__rate_interval]))"


def rates(**metrics):
    """A query for each metric, with its legend."""
    return [(rate(metric), "{{instance}} " + legend.replace("_", " ")) for legend, metric in metrics.items()]


def growth(metric):
    """Increase per second of a gauge that only grows."""
    return f"deriv({metric}[$__rate_interval])"


def quantiles(metric, *labels):
    """Median and 99th percentile of a histogram."""
    legend = "".join(f"{{{{{label}}}}} " for label in labels)
    by = f"sum by ({', '.join(('instance', 'le', *labels))}) (rate({metric}_bucket[$__rate_interval]))"
    return [(f"histogram_quantile({quantile}, {by})", f"{{{{instance}}}} {legend}{name}")
            for quantile, name in ((0.5, "p50"), (0.99, "p99"))]


def values(**metrics):
    """Metrics as they are, each with its legend."""
    return [(metric, "{{instance}} " + legend.replace("_", " ")) for legend, metric in metrics.items()]


def alarm(title, expression, legend="{{instance}}", about=""):
    """A value that is red above 0."""
    return Panel(title, "short", [(expression, legend)], about, "stat", 3, (1,))


HEALTH = Row("Health", [
    Panel("Not scraped", "short", [("count(up == 0) or vector(0)", "nodes")], "Nodes whose metrics cannot be read.", "stat", 3,
          (1,)),
    alarm("Reads only", "max by (instance) (turnpike_reads_only)", about="1 while operations are refused."),
    alarm("Storage failed", "max by (instance, reason) (turnpike_storage_failed)", "{{instance}} {{reason}}",
          "`full` ends once the disk has room; `error` lasts until a restart."),
    alarm("Blocks stopped", "max by (instance) (turnpike_builder_failed + turnpike_sealer_failed)",
          about="1 if the block builder has stopped or sealing fails."),
    alarm("Damaged blocks", "max by (instance) (turnpike_damaged_blocks)", about="`/health` lists the pieces of damage."),
    alarm("Evidence", "max by (instance) (turnpike_order_evidence)", about="Proof that a replica broke the protocol."),
    Panel("Uptime", "s", [("turnpike_uptime_seconds", "{{instance}}")], kind="stat", width=3),
    Panel("Version", "short", [("turnpike_build_info", "{{instance}} {{version}} {{architecture}}")], kind="version", width=3),
])

LEDGER = Row("Ledger", [
    Panel("Operations, by command", "ops", [(rate("turnpike_operations_total", "command"), "{{instance}} {{command}}")],
          "Operations executed or refused one by one."),
    Panel("Latency, by promise", "s", quantiles("turnpike_request_duration_seconds", "promise"),
          "From the receipt of a request with operations to its reply. Replies of a NIC tier are not included."),
    Panel("Journal sync", "s", quantiles("turnpike_journal_sync_duration_seconds"),
          "Time to write and sync a batch of the journal; on a replica, a block."),
    Panel("Builder lag", "short", values(behind="turnpike_builder_behind"), "Durable operations that are in no block yet."),
    Panel("Durable and built", "ops", [(growth("turnpike_durable_sequence"), "{{instance}} durable"),
                                       (growth("turnpike_built_sequence"), "{{instance}} built")],
          "Operations a second that became durable, and that the block builder read."),
    Panel("Executed and settled", "ops", [*rates(executed="turnpike_executed_total"),
                                          (growth("turnpike_transactions"), "{{instance}} settled")],
          "Operations executed and journalled, and transactions that entered a block."),
    Panel("Refused, by status", "ops", [(rate("turnpike_refused_total", "status"), "{{instance}} {{status}}")],
          "Frames refused as a whole."),
    Panel("Full queues, by class", "ops", [(rate("turnpike_busy_total", "class"), "{{instance}} {{class}}")],
          "Frames answered BUSY because the queue of the workers was full."),
    Panel("Not answered", "ops", rates(dropped="turnpike_dropped_total", reply_lost="turnpike_lost_total"),
          "Datagrams without an answer, and replies that could not be sent."),
    Panel("Messages", "ops", rates(messages="turnpike_messages_total", datagrams="turnpike_datagrams_total",
                                   replies="turnpike_replies_total")),
    Panel("Received", "Bps", rates(received="turnpike_bytes_total")),
    Panel("Blocks", "short", [(f"60 * {growth('turnpike_height')}", "{{instance}} per minute")]),
    Panel("First retained block", "short", [("turnpike_first_retained_block", "{{instance}}")],
          "Transactions of earlier blocks are pruned; 0 if none are."),
    Panel("Blocks after the last index root", "short", [("turnpike_height - turnpike_index_height", "{{instance}}")],
          "Balance proofs are as of the last block that states the index root."),
    Panel("Accounts", "short", values(accounts="turnpike_accounts", for_everybody="turnpike_accounts_unreserved",
                                      frozen="turnpike_frozen_accounts", holds="turnpike_holds",
                                      other_assets="turnpike_asset_accounts",
                                      limit="turnpike_accounts_limit"),
          "Above the second line only trusted senders open accounts. The limit is that of accounts, and that of open "
          "holds (TABLE_FULL)."),
    Panel("Memory of retries in use", "percentunit", [("turnpike_retry_operations / (turnpike_retry_capacity > 0)",
                                                       "{{instance}} {{kind}}")],
          "At 100 % new operations are answered BUSY."),
    Panel("Oldest retry", "s", [("turnpike_retry_age_seconds", "{{instance}} {{kind}}")],
          "Age of the oldest operation that is remembered for retries."),
    Panel("Signatures and verify frames", "ops", rates(signatures="turnpike_verified_total",
                                                       verify_messages="turnpike_verifications_total")),
    Panel("Workers, by work", "percentunit", [(rate("turnpike_work_seconds_total", "work"), "{{instance}} {{work}}")],
          "Processors busy with signatures and verify frames."),
    Panel("Charged to prefixes", "ops", rates(charged="turnpike_charged_total"),
          "Cost charged to prefixes with a rate, in operations."),
    Panel("TCP connections", "short", [("sum by (instance) (turnpike_connections_total)"
                                        " - sum by (instance) (turnpike_connections_closed_total)", "{{instance}} open")]),
    Panel("Connections closed, by reason", "ops", [(rate("turnpike_connections_closed_total", "reason"),
                                                    "{{instance}} {{reason}}")],
          "If `room` and `refused` grow, some client holds many connections."),
    Panel("Feeds", "short", values(feeds="turnpike_feeds")),
    Panel("Lag of the slowest feed", "short", values(operations="turnpike_feed_behind"), "Durable operations that it has not been sent."),
    Panel("Operations sent to feeds", "ops", rates(operations="turnpike_feed_operations_total")),
    Panel("Feeds ended, by reason", "ops", [(rate("turnpike_feeds_ended_total", "reason"), "{{instance}} {{reason}}")],
          "`too_slow`: a client reads more slowly than the ledger writes."),
    Panel("Journal segments", "short", values(segments="turnpike_journal_segments"), "Each has 64 MiB."),
])

REPLICAS = Row("Replicas", [
    Panel("Final height", "short", values(height="turnpike_order_height"), "Height of the last final block that was executed."),
    Panel("Lag", "short", [("max by (job) (turnpike_order_height) - on (job) group_right turnpike_order_height", "{{instance}}")],
          "Blocks that the first replica of the job has executed and this one has not."),
    Panel("Final blocks", "ops", [(growth("turnpike_order_height"), "{{instance}}")]),
    Panel("View", "s", values(seconds="turnpike_order_view_seconds"),
          "Time in the current view with work to do. It grows if no quorum can be reached."),
    Panel("Views abandoned", "ops", rates(abandoned="turnpike_order_abandoned_total"), "Turns of absent or idle leaders."),
    Panel("Timeout factor", "short", values(factor="turnpike_order_timeout_factor"),
          "Multiples of `cluster.patience`. If it is not 1 most of the time, raise the patience."),
    Panel("Votes", "ops", rates(votes="turnpike_order_votes_total")),
    Panel("Leader", "short", values(leader="turnpike_order_leader"), "Replicas disagree for as long as one of them lags."),
    Panel("Epoch", "short", values(epoch="turnpike_order_epoch", generation="turnpike_order_generation")),
    Panel("Membership", "short", values(member="turnpike_order_member", replicas="turnpike_order_replicas"),
          "1 on a member of the voting set, and the size of the set."),
    Panel("Clock differences", "s", values(this_clock_ahead="turnpike_order_clock_ahead_seconds",
                                           proposals_ahead="turnpike_order_clock_behind_seconds",
                                           blocks_ahead="turnpike_order_time_ahead_seconds"), "All are 0 up to 2 s."),
    Panel("Resting or ended", "short", values(resting="turnpike_order_resting", ended="turnpike_order_ended"),
          "Resting: nothing to order. Ended: the engine cannot continue without a restart."),
])

GETS = 'memcached_commands_total{command="get"}'
GET_HITS = 'memcached_commands_total{command="get", status="hit"}'

FOLLOWERS = Row("Followers", [
    alarm("Not followed", "max by (instance) (1 - turnpike_follow_up)", about="1 while the followed node does not answer."),
    alarm("Stopped", "max by (instance) (turnpike_follow_stopped)", about="1 once a person must act: see /status."),
    alarm("Diverged", "max by (instance) (turnpike_follow_diverged)", about="1 if the followed node contradicted itself."),
    Panel("Operations to go", "short", values(behind="turnpike_follow_behind_operations"),
          "Durable operations of the followed node that are not executed here."),
    Panel("Lag", "s", values(behind="turnpike_follow_behind_seconds"),
          "Time since the follower had all that the node reported."),
    Panel("Reconnections", "ops", rates(reconnections="turnpike_follow_reconnections_total")),
], collapsed=True)

STORE = Row("Key-value store", [
    Panel("Requests, by command", "ops", [(rate("memcached_commands_total", "command", "status"),
                                           "{{instance}} {{command}} {{status}}")]),
    Panel("Hit rate of get", "percentunit", [
        (f"{rate(GET_HITS)} / {rate(GETS)}", "{{instance}}")]),
    Panel("Memory of items", "bytes", values(used="memcached_current_bytes", limit="memcached_limit_bytes")),
    Panel("Items", "short", values(items="memcached_current_items")),
    Panel("Items stored and removed", "ops", rates(stored="memcached_items_total", evicted="memcached_items_evicted_total",
                                                   expired="memcached_items_reclaimed_total"),
          "The store evicts items that have not expired to make room."),
    Panel("Values refused", "ops", rates(no_memory="memcached_item_no_memory_total", too_large="memcached_item_too_large_total")),
    Panel("Connections", "short", values(open="memcached_current_connections", limit="memcached_max_connections")),
    Panel("Connections refused and closed", "ops", [
        *rates(accepted="memcached_connections_total", rejected="memcached_connections_rejected_total"),
        (rate("memcached_connections_closed_total", "reason"), "{{instance}} closed: {{reason}}")]),
    Panel("Traffic", "Bps", rates(received="memcached_read_bytes_total", sent="memcached_written_bytes_total")),
])

PROOFS = Row("Proofs and Electrum", [
    Panel("Queries", "ops", rates(queries="turnpike_queries_total"), "Proof, headers, info and verify frames."),
    Panel("Proof cache", "ops", rates(hits="turnpike_proof_hits_total", misses="turnpike_proof_misses_total",
                                      invalidated="turnpike_proof_invalidations_total",
                                      evicted="turnpike_proof_evictions_total")),
    Panel("Hit rate of the proof cache", "percentunit", [
        (f"{rate('turnpike_proof_hits_total')} / ({rate('turnpike_proof_hits_total')} + {rate('turnpike_proof_misses_total')})",
         "{{instance}}")]),
    Panel("Electrum requests", "ops", rates(requests="turnpike_electrum_requests_total", errors="turnpike_electrum_errors_total",
                                            notifications="turnpike_electrum_notifications_total")),
    Panel("Electrum clients", "short", [*values(connections="turnpike_electrum_connections",
                                                subscriptions="turnpike_electrum_subscriptions"),
                                        *rates(accepted_per_second="turnpike_electrum_connections_total")]),
    Panel("Electrum limits", "ops", [(rate("turnpike_electrum_limited_total", "limit"), "{{instance}} {{limit}}")],
          "Times that a limit delayed or refused a client."),
    Panel("Electrum traffic", "Bps", rates(received="turnpike_electrum_read_bytes_total",
                                           sent="turnpike_electrum_written_bytes_total")),
    Panel("Electrum buffers", "bytes", values(buffered="turnpike_electrum_buffered_bytes"),
          "Incomplete requests, and replies that clients have not read."),
    Panel("Mempool", "short", values(transactions="turnpike_electrum_mempool_transactions")),
    Panel("Bitcoin blocks", "short", values(imported="turnpike_bitcoin_height", node="turnpike_bitcoin_node_height")),
    Panel("Bitcoin node", "short", [*values(answers="turnpike_bitcoin_node_up"),
                                    *rates(failed_polls_per_second="turnpike_bitcoin_node_failures_total")]),
])

NIC = Row("NIC tier", [
    Panel("Datagrams seen by XDP, by answer", "ops", [(rate("turnpike_xdp_total", "answer"), "{{instance}} {{answer}}"),
                                                      (rate("memcached_xdp_total", "answer"), "{{instance}} kv {{answer}}")]),
    Panel("Simulated NIC of the key-value store", "ops", [(rate("memcached_nic_total", "event"), "{{instance}} {{event}}")]),
    Panel("Frames past the network stack", "ops", [*rates(received="turnpike_frames_total"),
                                                   (rate("turnpike_frames_lost_total", "reason"), "{{instance}} lost: {{reason}}")],
          "`full`: the io thread does not keep up. `invalid`: the driver or the kernel misbehaves."),
    Panel("In-NIC ledger: operations", "ops", [
        (rate("turnpike_in_nic_executed_total", "command", "status"), "{{instance}} {{command}} {{status}}"),
        (rate("turnpike_in_nic_answered_total", "command"), "{{instance}} answered {{command}}")]),
    Panel("In-NIC ledger: passed to the host", "ops", [(rate("turnpike_in_nic_passed_total", "reason"), "{{instance}} {{reason}}")]),
    Panel("In-NIC ledger: waits", "ops", rates(lock_held="turnpike_in_nic_waited_total", retries_full="turnpike_in_nic_full_total")),
    Panel("In-NIC ledger: ring", "bytes", values(unread="turnpike_in_nic_ring_bytes", size="turnpike_in_nic_ring_limit_bytes")),
    Panel("In-NIC ledger: not in the journal", "short", values(operations="turnpike_in_nic_unwritten"),
          "A crash loses these operations."),
], collapsed=True)

PROCESS = Row("Process and disk", [
    Panel("Processor", "percentunit", rates(processors="process_cpu_seconds_total"), "100 % is one processor."),
    Panel("Memory", "bytes", values(resident="process_resident_memory_bytes")),
    Panel("Threads", "short", values(threads="process_threads")),
    Panel("Open files", "short", values(open="process_open_fds", limit="process_max_fds")),
    Panel("Disk", "bytes", values(free="turnpike_disk_free_bytes", size="turnpike_disk_size_bytes"),
          "The data directory's file system."),
    Panel("Disk free in a day", "bytes", [("predict_linear(turnpike_disk_free_bytes[6h], 86400)", "{{instance}}")],
          "At the growth of the last six hours. Below 0 the disk fills within a day."),
])

ROWS = [HEALTH, LEDGER, REPLICAS, FOLLOWERS, STORE, PROOFS, PROCESS, NIC]

# Metrics without a panel, and why.
NOT_SHOWN = {
    "memcached_accepting_connections": "0 only while the store stops",
    "memcached_connections_yielded_total": "a detail of scheduling between connections",
    "memcached_up": "always 1; the dashboard lists instances by it",
    "memcached_uptime_seconds": "restarts are annotations",
    "memcached_version": "the version reported to clients of memcached's protocols, which is constant",
    "process_start_time_seconds": "the uptime shows it",
    "process_virtual_memory_bytes": "mostly reserved address space, which is not memory",
    "turnpike_order_view": "the epoch and the time in the view show progress",
    "turnpike_price_seconds": "the cost of a unit of work, which changes with the machine only",
    "turnpike_rtl_total": "events of the simulated NIC, and of a board on the cable",
}
