#!/usr/bin/env python3
"""A Markdown table of what scripts/bench measured: GB/s of bitfold, and the ratio to the others.
Also where bitfold does not reach what it should beside them."""
import json
import sys

import goals


def judge(points):
    found = list(goals.of_all(points))
    missed = [goal for goal in found if goal[2] < goal[3]]
    if found:
        print(f"Goals reached: {len(found) - len(missed)} of {len(found)}")
    for r, beside, ratio, least in sorted(missed, key=lambda goal: goal[2] / goal[3]):
        much = f"{r['n']} {r['item']}" if "item" in r else size(r["bytes"])
        how = r.get("mode") or f"{r['threads']} threads"
        print(f"- {r['work']} {r['dtype']} {r['data']} {much} {how}{beside}: "
              f"{ratio:.2f} of {least:g}")


def size(n):
    for unit in ("B", "KiB", "MiB", "GiB"):
        if n < 1024 or n % 1024 or unit == "GiB":
            return f"{n:g} {unit}"
        n //= 1024


def row(cells):
    print("| " + " | ".join(cells) + " |")


def number(x):
    return "" if x is None else f"{x:.2f}"


def cpu_columns(r):
    return [str(r["threads"]), f"{r['gbps']:.1f}", number(r.get("plain_ratio")),
            number(r.get("read_ratio")), number(r.get("dot_ratio"))]


def gpu_columns(r):
    return [r["mode"], r["cache"], f"{r['seconds'] * 1e6:.2f}", f"{r['gbps']:.0f}",
            f"{r['peak_share'] * 100:.0f} %", number(r.get("dot_ratio"))]


def item_columns(r):
    how = [r["mode"], f"{r['seconds'] * 1e6:.0f}"] if "gpu" in r else [str(r["threads"])]
    return how + [f"{r['per_second'] * 1e-6:.1f}"]


def print_table(points, columns, head):
    if not points:
        return
    peers = list(dict.fromkeys(name for r in points for name in r["peers"]))
    row(["work", "dtype", "data", points[0].get("item", "size")] + head
        + ["/ " + name for name in peers])
    row(["---"] * 3 + ["---:"] * (1 + len(head) + len(peers)))
    for r in points:
        row([r["work"], r["dtype"], r["data"], str(r["n"]) if "item" in r else size(r["bytes"])]
            + columns(r) + [number(r["peers"].get(name, {}).get("ratio")) for name in peers])
    print()


def print_tables(points, columns, head):
    """One of what is counted in bytes, and one for each work that is counted in items."""
    print_table([r for r in points if "item" not in r], columns, head)
    for work in dict.fromkeys(r["work"] for r in points if "item" in r):
        of_work = [r for r in points if r["work"] == work]
        how = ["mode", "us"] if "gpu" in of_work[0] else ["threads"]
        print_table(of_work, item_columns, how + ["M/s"])


def main(path):
    about, *results = (json.loads(line) for line in open(path))
    points = [r for r in results if "bytes" in r]
    if "gpu" in about:
        print(f"{about['gpu']}, driver {about['driver']}, CUDA {about['cuda']}; {about['date']}, "
              f"{about['commit']}\n")
        print_tables(points, gpu_columns, ["mode", "cache", "us", "GB/s", "of the peak", "/ dot"])
        judge(points)
        return
    print(f"{about['cpu']}, {about['threads']} threads; {about['date']}, {about['commit']}\n")
    print_tables(points, cpu_columns, ["threads", "GB/s", "/ plain", "/ read", "/ dot"])
    judge(points)
    for r in results:
        if r["work"] == "start":
            print(f"Start-up, `bitfold sum` of {r['n']} elements: {r['seconds'] * 1e3:.2f} ms")


if __name__ == "__main__":
    main(sys.argv[1])
