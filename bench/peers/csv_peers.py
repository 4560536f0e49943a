"""Groups ten million rows of a CSV, by bitfold and by whichever of its peers are installed: DuckDB,
Polars, datamash and Miller (with as many threads as they take). All take turns; each reads the file, and writes its
lines to /dev/null. Printed is the median of the seconds, of DuckDB and Polars without the start of
the interpreter, and the peer's time over bitfold's; then the same of the processor's seconds, which
other work on the machine changes less. datamash and Miller run once.

    python3 bench/peers/csv_peers.py [BITFOLD [ROUNDS [ROWS [CASE...]]]]
"""
import os
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

PEERS = {
    "duckdb": """
import duckdb, sys, time
file, threads, keys = sys.argv[1], int(sys.argv[2]), sys.argv[3]
connection = duckdb.connect()
connection.execute("set threads = %d" % threads)
connection.execute("set enable_progress_bar = false")
began, used = time.perf_counter(), time.process_time()
connection.execute("copy (select %s, sum(price), avg(price) from read_csv('%s') group by %s) "
                   "to '/dev/null' (format csv, delimiter '\t')" % (keys, file, keys))
print(time.perf_counter() - began, time.process_time() - used)
""",
    "polars": """
import os, sys, time
file, threads, keys = sys.argv[1], sys.argv[2], sys.argv[3].split(",")
os.environ["POLARS_MAX_THREADS"] = threads
import polars as pl
began, used = time.perf_counter(), time.process_time()
price = pl.col("price")
table = pl.scan_csv(file).group_by(keys).agg(price.sum(), price.mean().alias("mean")).collect()
table.write_csv("/dev/null", separator="\t")
print(time.perf_counter() - began, time.process_time() - used)
"""}

# On one thread, and from process start to exit.
PROGRAMS = {
    "datamash": lambda file, keys: ["sh", "-c", "datamash -t, --header-in -s -g %s sum price "
                                    "mean price < %s" % (keys, file)],
    "mlr": lambda file, keys: ["mlr", "--icsv", "--otsv", "stats1", "-a", "sum,mean", "-f",
                               "price", "-g", keys, file]}

CITIES = ["Lagos", "Tokyo", "Paris", "Lima", "Quito"]

# Each case has the keys, and how many different ids there are, as numbers or as strings.
CASES = {"1000 numbers": ("id", 1000, "%d"), "10^5 numbers": ("id", 100_000, "%d"),
         "10^6 numbers": ("id", 1_000_000, "%d"), "5 cities": ("city", 1000, "%d"),
         "10^6 strings": ("id", 1_000_000, "user%d"), "two keys": ("id,city", 1000, "%d")}


def write_table(name, rows, ids, form):
    r = random.Random(ids)
    line = form + ",%s,%.2f\n"
    with open(name, "w") as f:
        f.write("id,city,price\n")
        for first in range(0, rows, 100_000):
            f.write("".join(line % (r.randrange(ids), r.choice(CITIES), r.randrange(100_000) / 100)
                            for _ in range(min(100_000, rows - first))))


def run_program(command):
    """Returns the seconds from start to exit, and the processor's."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    seconds = time.perf_counter() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def run_bitfold(bitfold, file, threads, keys):
    return run_program([bitfold, "group", "-j", threads, "--by", keys, "--sum", "price", "--mean",
                        "price", file])


def run_peer(peer, file, threads, keys):
    done = subprocess.run([sys.executable, "-c", PEERS[peer], file, threads, keys],
                          stdout=subprocess.PIPE, check=True)
    return tuple(map(float, done.stdout.split()))


def main(bitfold="build/release/bitfold", rounds="5", rows="10000000", *cases):
    peers = [peer for peer in PEERS if not subprocess.run(
        [sys.executable, "-c", "import " + peer], stderr=subprocess.DEVNULL).returncode]
    with tempfile.TemporaryDirectory() as scratch:
        written = None
        for case in cases or CASES:
            keys, ids, form = CASES[case]
            file = os.path.join(scratch, "table.csv")
            if written != (ids, form):
                write_table(file, int(rows), ids, form)
            written = ids, form
            for threads in ["1", "2"]:
                compare(case, file, threads, keys, bitfold, peers, int(rounds))


def compare(case, file, threads, keys, bitfold, peers, rounds):
    taken = {name: [] for name in ["bitfold"] + peers}
    for _ in range(rounds):
        taken["bitfold"].append(run_bitfold(bitfold, file, threads, keys))
        for peer in peers:
            taken[peer].append(run_peer(peer, file, threads, keys))
    for name, command in PROGRAMS.items():
        if threads == "1" and shutil.which(name):
            taken[name] = [run_program(command(file, keys))]
    for which, what in enumerate(["seconds", "processor"]):
        middle = {name: statistics.median(pair[which] for pair in all_of)
                  for name, all_of in taken.items()}
        print("%-12s %s threads, %s: " % (case, threads, what) + "  ".join(
            "%s %.3f (%.2f)" % (name, value, value / middle["bitfold"])
            for name, value in middle.items()), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
