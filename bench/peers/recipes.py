"""Ten tasks on a table of orders (docs/guide/recipes.md), by bitfold and by whichever of pandas, Polars and
DuckDB are installed: whether the answers agree, and the seconds that each takes from the file to them.

    python3 bench/peers/recipes.py [BITFOLD [ROUNDS [ROWS [TASK...]]]]

All take turns, with two threads where they have threads. Each reads the file anew; the peers' times are
without the start of their interpreter. Printed is the median, and the peer's over bitfold's. Answers are
compared field by field: numbers to nine digits, for the peers' sums are rounded on the way.
"""
import csv
import importlib.util
import io
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time

THREADS = 2
os.environ["POLARS_MAX_THREADS"] = str(THREADS)

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


# Each gives its answer in a form of its own, and what makes rows of that, which is not timed.

def by_bitfold(bitfold, task, file):
    done = subprocess.run([bitfold, *TASKS[task][0], "--csv", "-j", str(THREADS), file], stdout=subprocess.PIPE,
                          check=True, text=True)
    lines = slice(None, 1) if TASKS[task][0][0] == "sum" else slice(None)  # the file follows a sum
    return done.stdout, lambda text: [row[lines] for row in csv.reader(io.StringIO(text))][1:]


def by_duckdb(task, file):
    import duckdb
    c = duckdb.connect()
    c.execute("set threads = %d" % THREADS)
    source, query = "read_csv('%s')" % file, TASKS[task][1]
    if "rowid" in query:  # the order of equal rows is that of the file
        c.execute("create temp table t as select * from " + source)
    else:
        query = query.replace("from t", "from " + source)
    return c.sql(query).to_arrow_table(), lambda table: list(zip(*table.to_pydict().values()))


def by_pandas(task, file):
    import pandas as pd
    return TASKS[task][2](pd, pd.read_csv(file, parse_dates=["date"])), lambda frame: frame.values.tolist()


def by_polars(task, file):
    import polars as pl
    return TASKS[task][3](pl, pl.scan_csv(file, try_parse_dates=True)).collect(), lambda frame: frame.rows()


def plain(value):
    try:
        return "%.9g" % float(str(value))
    except ValueError:
        return str(value)


def same(a, b):
    return len(a) == len(b) and all(list(map(plain, x)) == list(map(plain, y)) for x, y in zip(a, b))


def timed(work, *arguments):
    began = time.perf_counter()
    answer, rows = work(*arguments)
    seconds = time.perf_counter() - began
    return seconds, rows(answer)


def main(bitfold="build/release/bitfold", rounds="3", rows="1000000", *tasks):
    found = {name: work for name, work in (("pandas", by_pandas), ("polars", by_polars), ("duckdb", by_duckdb))
             if importlib.util.find_spec(name)}
    failed = False
    with tempfile.TemporaryDirectory() as scratch:
        file = os.path.join(scratch, "orders.csv")
        write_orders(file, int(rows))
        for task in tasks or TASKS:
            seconds, answers = {}, {}
            for _ in range(int(rounds)):
                for name, call in {"bitfold": (by_bitfold, bitfold, task, file), **{n: (w, task, file) for n, w in found.items()}}.items():
                    took, answers[name] = timed(*call)
                    seconds.setdefault(name, []).append(took)
            ours = statistics.median(seconds["bitfold"])
            wrong = [name for name in found if not same(answers[name], answers["bitfold"])]
            failed = failed or bool(wrong)
            print("%-27s" % task + "  ".join("%s %.3f (%.1f)" % (n, statistics.median(s), statistics.median(s) / ours)
                                             for n, s in seconds.items()) + ("  DIFFERENT: " + ", ".join(wrong) if wrong else ""), flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
