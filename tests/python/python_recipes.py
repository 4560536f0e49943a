"""What the recipes show is what pandas says of the same files, where pandas is installed. cli.guides runs them.
Builds: release (full)."""

import csv
import io
import os
import tempfile
import unittest

from documents import ROOT, fences, read, session, shell

try:
    import pandas as pd
except ImportError:
    raise unittest.SkipTest("pandas is not installed") from None

DATA = os.path.join(ROOT, "examples/data")


def orders():
    table = pd.read_csv(os.path.join(DATA, "orders.csv"), parse_dates=["date"])
    return table.assign(total=table.quantity * table.price)


def totals(t, by, n=None):
    """The totals of groups, the greatest first."""
    found = t.groupby(by).total.sum().reset_index()
    return found.sort_values("total", ascending=False, kind="stable").head(n)


def whole(t, by, ascending, n=2):
    rows = t.sort_values(by, ascending=ascending, kind="stable").head(n)
    return rows.drop(columns="total").assign(date=rows.date.dt.strftime("%Y-%m-%d"))


def by_month(t, _):
    return t.groupby(t.date.dt.month).total.agg(["sum", "size"]).reset_index().head(4)


def by_quarter(t, _):
    quarter = t.date.dt.to_period("Q").dt.start_time.dt.strftime("%Y-%m-%d")
    return totals(t.assign(quarter=quarter), ["quarter", "city"], 2)


def best_customers(t, _):
    found = t.groupby("customer").total.agg(["sum", "size"]).reset_index()
    return found.sort_values("sum", ascending=False).head(3)


def of_oslo(t, _):
    return t[(t.city == "Oslo") & (t.date >= "2025-07-01")].total.sum()


def of_paths(_, log):
    by_path = log.groupby("path").ms
    return pd.concat([by_path.size(), *(by_path.quantile(q) for q in (0.5, 0.95, 0.99))], axis=1).reset_index()


def worst_hours(_, log):
    failed = log[log.status >= 500]
    counts = failed.groupby(failed.time.dt.floor("h")).size().reset_index(name="n")
    found = counts.sort_values("n", ascending=False, kind="stable").head(2)
    return found.assign(time=found.time.dt.strftime("%Y-%m-%dT%H:%M:%SZ"))


def rain(t, _):
    weather, stations = (pd.read_csv(os.path.join(DATA, name), na_values="NA") for name in ("weather.csv", "stations.csv"))
    both = weather.merge(stations, left_on="station", right_on="code")
    return both.groupby("country").rain.sum().reset_index().sort_values("rain", ascending=False).head(3)


def correlations(t, _):
    columns = ["temperature", "rain", "wind"]
    found = pd.read_csv(os.path.join(DATA, "weather.csv"), na_values="NA")[columns].corr()
    return [columns, *found.values.tolist()]


def kinds(t, _):
    """What describe says of each column: its dtype, and how many values there are and are missing."""
    names = {"datetime64": "time", "str": "string", "object": "string", "int64": "i64", "float64": "decimal"}
    return [[name, names[str(t[name].dtype).split("[")[0]], t[name].count(), t[name].isna().sum()] for name in t.drop(columns="total")]


# A line begins with this; what pandas says. None: it makes what others read, or what pandas does not have.
ANSWERS = [
    ("bitfold group --by 'month(date)=month'", by_month),
    ("bitfold group --by 'trunc(date, \"quarter\")=quarter,city'", by_quarter),
    ("bitfold group --by customer --sum", best_customers),
    ("bitfold top --by 'quantity*price'", lambda t, _: whole(t, "total", False)),
    ("bitfold sort --by -date,customer", lambda t, _: whole(t, ["date", "customer"], [False, True])),
    ("bitfold sum -e 'quantity*price' --where 'city ==", of_oslo),
    ("bitfold median --column price --where 'item =~", lambda t, _: t[t.item.isin(["desk", "chair"])].price.median()),
    ("seq ", None),
    ("(echo ", None),
    ("bitfold group --by path", of_paths),
    ("bitfold group --by 'trunc(time, \"hour\")=hour'", worst_hours),
    ("bitfold sample", None),
    ("bitfold describe --infer", kinds),
    ("bitfold corr --column temperature,rain,wind", correlations),
    ("bitfold fit --column quantity,price", None),
    ("bitfold mean --column price --weights quantity", lambda t, _: t.total.sum() / t.quantity.sum()),
    ("bitfold join", None),
    ("bitfold group --by country", rain),
    ("bitfold sum -e 'quantity*price' --save total.bfs", lambda t, _: t.total.sum()),
    ("bitfold merge total.bfs --json", None),
    ("bitfold group --memory 64M --by customer,item", lambda t, _: totals(t, ["customer", "item"], 2)),
    ("bitfold sort --memory 64M --by city,-price", lambda t, _: whole(t, ["city", "price"], [True, False])),
    ("bitfold sum -e 'quantity*price' --where 'date <", lambda t, _: t[t.date < "2025-07-01"].total.sum()),
    ("bitfold sum -e 'quantity*price' --where 'date >=", lambda t, _: t[t.date >= "2025-07-01"].total.sum()),
    ("bitfold merge first.bfs second.bfs", lambda t, _: t.total.sum()),
    ("bitfold merge total.bfs --minus first.bfs", lambda t, _: t[t.date >= "2025-07-01"].total.sum()),
]


def fields(shown, answer):
    """The rows that a recipe shows, as far as pandas has them."""
    if not hasattr(answer, "__len__"):
        return [[shown.strip()]]
    if isinstance(answer, list):
        return [line.split("\t")[1:5] for line in shown.splitlines()]
    return list(csv.reader(io.StringIO(shown)))[1:]


def rows(answer):
    if not hasattr(answer, "__len__"):
        return [[answer]]
    return answer if isinstance(answer, list) else answer.values.tolist()


def plain(field):
    """Numbers to twelve digits: sums of pandas are rounded on the way."""
    try:
        return f"{float(field):.12g}"
    except ValueError:
        return field


class Recipes(unittest.TestCase):
    def log(self, lines):
        """The table that the recipes make first."""
        with tempfile.TemporaryDirectory() as folder:
            for line in lines:
                self.assertEqual(shell(line, folder).returncode, 0, line)
            return pd.read_csv(os.path.join(folder, "requests.csv"), parse_dates=["time"])

    def test_they_show_what_pandas_says(self):
        lines = [each for _, block in fences(read("docs/guide/recipes.md"), "console") for each in session(block)]
        self.assertEqual(len(lines), len(ANSWERS))
        table, log = orders(), self.log([line for line, _ in lines if line.startswith(("seq ", "(echo "))])
        for (line, shown), (begins, find) in zip(lines, ANSWERS):
            self.assertTrue(line.startswith(begins), line)
            if find:
                answer = find(table, log)
                expected, found = ([list(map(plain, row)) for row in each] for each in (rows(answer), fields(shown, answer)))
                self.assertEqual(found, expected, line)
