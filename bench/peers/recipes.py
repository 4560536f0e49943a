"""Ten tasks on a table of orders (docs/guide/recipes.md), by bitfold and by whichever of pandas, Polars and
DuckDB are installed: whether the answers agree, and the seconds that each takes from the file to them.

    python3 bench/peers/recipes.py [BITFOLD [ROUNDS [ROWS [TASK...]]]]

All take turns, with one thread and with two; pandas has one. Each reads the file anew; the peers' times are
without the start of their interpreters. Printed is a table of medians, with the best peer's over bitfold's. There
are fewer rounds where they would take more than four minutes. Answers are compared field by field, of many rows each
101st: numbers to nine digits, for the peers' sums are rounded on the way. Exit code 1: an answer differs.
"""
import concurrent.futures
import csv
import hashlib
import importlib.util
import io
import multiprocessing
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time

THREADS = 1, 2
SECONDS = 225  # no round begins that would end later
MANY, STEP = 100_000, 101  # rows of an answer that are compared

TOTAL = "quantity*price"

# A task: bitfold's arguments, DuckDB's query of the table t, and functions of pandas and of Polars, which
# give a frame.
TASKS = {
    "monthly totals": (
        ["group", "--by", "month(date)=month", "--sum", TOTAL + "=total", "--count"],
        "select month(date), sum(quantity*price), count(*) from t group by 1 order by 1",
        lambda pd, t: t.assign(month=t.date.dt.month, total=t.quantity * t.price).groupby("month").total.agg(["sum", "size"]).reset_index(),
        lambda pl, t: t.group_by(pl.col("date").dt.month().alias("m")).agg((pl.col("quantity") * pl.col("price")).sum(), pl.len()).sort("m")),
    "best customers": (
        ["group", "--by", "customer", "--sum", TOTAL + "=total", "--sort", "-total", "-n", "10"],
        "select customer, sum(quantity*price) s from t group by 1 order by s desc, 1 limit 10",
        lambda pd, t: t.assign(total=t.quantity * t.price).groupby("customer").total.sum().reset_index().sort_values(["total", "customer"], ascending=[False, True]).head(10),
        lambda pl, t: t.group_by("customer").agg((pl.col("quantity") * pl.col("price")).sum().alias("s")).sort("s", "customer", descending=[True, False]).head(10)),
    "largest orders": (
        ["top", "--by", TOTAL, "-n", "10", "--take", "customer,item,quantity,price"],
        "select customer, item, quantity, price from t order by quantity*price desc, rowid limit 10",
        lambda pd, t: t.assign(total=t.quantity * t.price).sort_values("total", ascending=False, kind="stable").head(10)[["customer", "item", "quantity", "price"]],
        lambda pl, t: t.sort(pl.col("quantity") * pl.col("price"), descending=True, maintain_order=True).head(10).select("customer", "item", "quantity", "price")),
    "some rows": (
        ["group", "--by", "city", "--sum", "price", "--where", "date >= \"2025-07-01\" && item == 'desk'"],
        "select city, sum(price) from t where date >= date '2025-07-01' and item = 'desk' group by 1 order by 1",
        lambda pd, t: t[(t.date >= "2025-07-01") & (t.item == "desk")].groupby("city").price.sum().reset_index(),
        lambda pl, t: t.filter((pl.col("date") >= pl.date(2025, 7, 1)) & (pl.col("item") == "desk")).group_by("city").agg(pl.col("price").sum()).sort("city")),
    "medians": (
        ["group", "--by", "item", "--median", "price"],
        "select item, median(price) from t group by 1 order by 1",
        lambda pd, t: t.groupby("item").price.median().reset_index(),
        lambda pl, t: t.group_by("item").agg(pl.col("price").median()).sort("item")),
    "95th percentiles": (
        ["group", "--by", "city", "--quantile", "95:price"],
        "select city, quantile_cont(price, 0.95) from t group by 1 order by 1",
        lambda pd, t: t.groupby("city").price.quantile(0.95).reset_index(),
        lambda pl, t: t.group_by("city").agg(pl.col("price").quantile(0.95, "linear")).sort("city")),
    "different customers": (
        ["group", "--by", "month(date)=month", "--distinct", "customer"],
        "select month(date), count(distinct customer) from t group by 1 order by 1",
        lambda pd, t: t.assign(month=t.date.dt.month).groupby("month").customer.nunique().reset_index(),
        lambda pl, t: t.group_by(pl.col("date").dt.month().alias("m")).agg(pl.col("customer").n_unique()).sort("m")),
    "one sum": (
        ["sum", "-e", TOTAL, "--where", "city == 'Oslo'"],
        "select sum(quantity*price) from t where city = 'Oslo'",
        lambda pd, t: (lambda o: pd.DataFrame([[(o.quantity * o.price).sum()]]))(t[t.city == "Oslo"]),
        lambda pl, t: t.filter(pl.col("city") == "Oslo").select((pl.col("quantity") * pl.col("price")).sum())),
    "counts by quarter and city": (
        ["count", "--by", 'trunc(date, "quarter")=quarter,city', "--sort", "key"],
        "select date_trunc('quarter', date)::date, city, count(*) from t group by 1, 2 order by 1, 2",
        lambda pd, t: t.assign(q=t.date.dt.to_period("Q").dt.start_time.dt.date).groupby(["q", "city"]).size().reset_index(),
        lambda pl, t: t.group_by(pl.col("date").dt.truncate("1q"), "city").agg(pl.len()).sort("date", "city")),
    "sorted rows": (
        ["sort", "--by", "city,-price"],
        "select * from t order by city, price desc, rowid",
        lambda pd, t: t.assign(date=t.date.dt.date).sort_values(["city", "price"], ascending=[True, False], kind="stable"),
        lambda pl, t: t.sort("city", "price", descending=[False, True], maintain_order=True)),
}  # fmt: skip


def write_orders(name, rows):
    r = random.Random(rows)
    cities, items = ["Bergen", "Lagos", "Lima", "Osaka", "Oslo", "Rome"], ["book", "chair", "cup", "desk", "lamp", "pen"]
    days = ["2025-%02d-%02d" % (m, d) for m in range(1, 13) for d in range(1, 29)]
    with open(name, "w") as f:
        f.write("date,customer,city,item,quantity,price\n")
        for first in range(0, rows, 100_000):
            f.write("".join("%s,C%05d,%s,%s,%d,%d.%02d\n" % (
                r.choice(days), r.randrange(50_000), r.choice(cities), r.choice(items), r.randint(1, 5),
                r.randrange(300), r.randrange(100)) for _ in range(min(100_000, rows - first))))


# Each gives its answer in a form of its own, and what makes every so many rows of that, which is not timed.


def by_bitfold(task, file, threads, bitfold):
    done = subprocess.run([bitfold, *TASKS[task][0], "--csv", "-j", str(threads), file], stdout=subprocess.PIPE,
                          check=True, text=True)
    fields = slice(None, 1) if TASKS[task][0][0] == "sum" else slice(None)  # the file follows a sum
    lines = done.stdout.splitlines()[1:]
    return lines, lambda step: [row[fields] for row in csv.reader(lines[::step])]


def by_duckdb(task, file, threads, _):
    import duckdb
    c = duckdb.connect()
    c.execute("set threads = %d" % threads)
    source, query = "read_csv('%s')" % file, TASKS[task][1]
    if "rowid" in query:  # the order of equal rows is that of the file
        c.execute("create temp table t as select * from " + source)
    else:
        query = query.replace("from t", "from " + source)
    table = c.sql(query).to_arrow_table()
    return table, lambda step: list(zip(*table.take(list(range(0, len(table), step))).to_pydict().values()))


def by_pandas(task, file, _, __):
    import pandas as pd
    frame = TASKS[task][2](pd, pd.read_csv(file, parse_dates=["date"]))
    return frame, lambda step: frame[::step].values.tolist()


def by_polars(task, file, _, __):
    import polars as pl
    frame = TASKS[task][3](pl, pl.scan_csv(file, try_parse_dates=True)).collect()
    return frame, lambda step: frame.gather_every(step).rows()


BY = {"bitfold": by_bitfold, "pandas": by_pandas, "polars": by_polars, "duckdb": by_duckdb}


def plain(value):
    try:
        return "%.9g" % float(str(value))
    except ValueError:
        return str(value)


def digest(answer, rows):
    """What equal answers have in common."""
    taken = rows(STEP if len(answer) > MANY else 1)
    return len(answer), hashlib.sha256(repr([list(map(plain, row)) for row in taken]).encode()).hexdigest()


def timed(name, compared, *arguments):
    began = time.perf_counter()
    answer, rows = BY[name](*arguments)
    return time.perf_counter() - began, digest(answer, rows) if compared else None


def begin(name, threads):
    """Begins a process that does the tasks by one of these, with so many threads."""
    os.environ["POLARS_MAX_THREADS"] = str(threads)
    if name != "bitfold":
        __import__(name)


class Worker:
    """One of these with so many threads, in a process of its own: its seconds and its answers, by task."""

    def __init__(self, name, threads):
        self.name, self.threads, self.seconds, self.answers = name, threads, {}, {}
        self.process = concurrent.futures.ProcessPoolExecutor(
            1, multiprocessing.get_context("spawn"), begin, (name, threads))

    def do(self, task, file, bitfold):
        call = timed, self.name, task not in self.answers, task, file, self.threads, bitfold
        seconds, answer = self.process.submit(*call).result()
        self.seconds.setdefault(task, []).append(seconds)
        self.answers.setdefault(task, answer)

    def median(self, task):
        return statistics.median(self.seconds[task])


def best_over_bitfold(workers, task, threads):
    peers = [w.median(task) for w in workers if w.name != "bitfold" and (w.threads == threads or w.name == "pandas")]
    ours = next(w.median(task) for w in workers if (w.name, w.threads) == ("bitfold", threads))
    return min(peers) / ours if peers else float("nan")


def show(workers, tasks):
    """Prints the table. Returns whether all answers agree."""
    row = "| %-26s |" + " %s |" * (len(workers) + len(THREADS))
    print(row % ("task, seconds", *("%s %d" % (w.name, w.threads) for w in workers),
                 *("best peer / bitfold %d" % n for n in THREADS)))
    print("|---|" + "---:|" * (len(workers) + len(THREADS)))
    wrong = []
    for task in tasks:
        wrong += ["%s %d: %s" % (w.name, w.threads, task) for w in workers if w.answers[task] != workers[0].answers[task]]
        print(row % (task, *("%.3f" % w.median(task) for w in workers),
                     *("%.2f" % best_over_bitfold(workers, task, n) for n in THREADS)))
    for each in wrong:
        print("DIFFERENT from bitfold: " + each)
    return not wrong


def main(bitfold="build/release/bitfold", rounds="3", rows="2000000", *tasks):
    began, tasks = time.monotonic(), tasks or tuple(TASKS)
    found = [name for name in BY if name == "bitfold" or importlib.util.find_spec(name)]
    workers = [Worker(name, n) for name in found for n in THREADS if name != "pandas" or n == 1]
    with tempfile.TemporaryDirectory() as scratch:
        file = os.path.join(scratch, "orders.csv")
        write_orders(file, int(rows))
        done = longest = 0
        while done < int(rounds) and (done == 0 or time.monotonic() - began + longest < SECONDS):
            start = time.monotonic()
            for task in tasks:
                for worker in workers:
                    worker.do(task, file, bitfold)
            done, longest = done + 1, max(longest, time.monotonic() - start)
    for worker in workers:
        worker.process.shutdown()
    print("%s rows, medians of %d rounds, in %.0f s" % (rows, done, time.monotonic() - began))
    return 0 if show(workers, tasks) else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
