"""Groups ten million rows of a CSV, by bitfold and by whichever of its peers are installed: DuckDB
and Polars. All take turns; each reads the file, and writes its lines to /dev/null. Printed is the
median of the seconds, of the peers without the start of the interpreter, and the peer's time over
bitfold's.

    python3 bench/peers/csv_peers.py [BITFOLD [ROUNDS [ROWS]]]
"""
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time

PEERS = {
    "duckdb": """
import duckdb, sys, time
file, threads = sys.argv[1], int(sys.argv[2])
connection = duckdb.connect()
connection.execute("set threads = %d" % threads)
began = time.perf_counter()
connection.execute("copy (select id, sum(price), avg(price) from read_csv('%s') group by id) "
                   "to '/dev/null' (format csv, delimiter '\t')" % file)
print(time.perf_counter() - began)
""",
    "polars": """
import os, sys, time
file, threads = sys.argv[1], sys.argv[2]
os.environ["POLARS_MAX_THREADS"] = threads
import polars as pl
began = time.perf_counter()
price = pl.col("price")
table = pl.scan_csv(file).group_by("id").agg(price.sum(), price.mean().alias("mean")).collect()
table.write_csv("/dev/null", separator="\t")
print(time.perf_counter() - began)
"""}


def write_table(name, rows, ids):
    r = random.Random(ids)
    with open(name, "w") as f:
        f.write("id,city,price\n")
        for first in range(0, rows, 100_000):
            f.write("".join("%d,%s,%.2f\n" % (r.randrange(ids), r.choice(CITIES),
                                              r.randrange(100_000) / 100)
                            for _ in range(min(100_000, rows - first))))


CITIES = ["Lagos", "Tokyo", "Paris", "Lima", "Quito"]


def run_bitfold(bitfold, file, threads):
    began = time.perf_counter()
    subprocess.run([bitfold, "group", "-j", threads, "--column", "id", "--sum", "price", "--mean",
                    "price", file], stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - began


def run_peer(peer, file, threads):
    done = subprocess.run([sys.executable, "-c", PEERS[peer], file, threads],
                          stdout=subprocess.PIPE, check=True)
    return float(done.stdout)


def main(bitfold="build/release/bitfold", rounds="5", rows="10000000"):
    peers = [peer for peer in PEERS if not subprocess.run(
        [sys.executable, "-c", "import " + peer], stderr=subprocess.DEVNULL).returncode]
    threads = ["1", str(os.cpu_count())]
    with tempfile.TemporaryDirectory() as scratch:
        for ids in [1000, 100_000, 1_000_000]:
            file = os.path.join(scratch, "table.csv")
            write_table(file, int(rows), ids)
            for count in threads:
                seconds = {name: [] for name in ["bitfold"] + peers}
                for _ in range(int(rounds)):
                    seconds["bitfold"].append(run_bitfold(bitfold, file, count))
                    for peer in peers:
                        seconds[peer].append(run_peer(peer, file, count))
                middle = {name: statistics.median(all_of) for name, all_of in seconds.items()}
                print("%8d ids, %s threads: " % (ids, count) + "  ".join(
                    "%s %.3f s (%.2f)" % (name, value, value / middle["bitfold"])
                    for name, value in middle.items()), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
