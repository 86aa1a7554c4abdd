"""An S3 server on loopback that counts what it is asked and answers like a store far away.

server.py    the program: connections, latency, bandwidth
objects.py   what it serves: keys, sizes, listings
counts.py    from the log of requests to requests, bytes and depth
handle.py    how a benchmark starts it, sets it and takes its counts
"""
