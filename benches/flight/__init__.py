"""Servers of Arrow Flight on loopback: throughput and memory of a full scan, latency of small statements.

bench.py     the benchmark: flags, the order of servers, what is kept of each
servers.py   how each server is started, and how it is asked
fulmar.py    the three services by hand
bare.py      a program that serves a table from memory: what gRPC and Arrow can do here
client.py    the program that asks one server, in a process of its own
report.py    tables of the results
"""
