"""The thirteen queries over an object store.

bench.py     the benchmark: flags, what can run, the report
queries.py   what is asked
tables.py    over which files, and the values that are looked up in them
peers.py     how each other engine is asked
once.py      the program of one run: one engine, one query, cold
fulmar.py    cold services on a warm catalog for one run of Fulmar
answers.py   whether the engines agree
measure.py   the repetitions and their medians
report.py    tables of the results
"""
