"""Benchmarks of the whole system beside other engines. `cargo xtask bench` prepares what they need and starts them.

    scan/      the thirteen queries over an object store: requests, bytes, round trips, time
    flight/    servers of Arrow Flight: throughput, memory, latency
    local.py   one query over local files, everything warm
    store/     the object store that counts
    the rest   what these share

`python -m benches scan --help` in the root of the repository runs one by hand.
"""
