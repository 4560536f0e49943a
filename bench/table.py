#!/usr/bin/env python3
"""A Markdown table of what scripts/bench measured: GB/s of bitfold, and the ratio to the others."""
import json
import sys


def size(n):
    for unit in ("B", "KiB", "MiB", "GiB"):
        if n < 1024 or n % 1024 or unit == "GiB":
            return f"{n:g} {unit}"
        n //= 1024


def row(cells):
    print("| " + " | ".join(cells) + " |")


def main(path):
    about, *results = (json.loads(line) for line in open(path))
    points = [r for r in results if "bytes" in r]
    peers = list(dict.fromkeys(name for r in points for name in r["peers"]))
    print(f"{about['cpu']}, {about['threads']} threads; {about['date']}, {about['commit']}\n")
    row(["work", "dtype", "data", "size", "threads", "GB/s", "/ plain", "/ read"]
        + ["/ " + name for name in peers])
    row(["---"] * 3 + ["---:"] * (5 + len(peers)))
    for r in points:
        ratios = [r.get("plain_ratio"), r.get("read_ratio")]
        ratios += [r["peers"].get(name, {}).get("ratio") for name in peers]
        row([r["work"], r["dtype"], r["data"], size(r["bytes"]), str(r["threads"]),
             f"{r['gbps']:.1f}"] + ["" if x is None else f"{x:.2f}" for x in ratios])
    for r in results:
        if r["work"] == "start":
            print(f"\nStart-up, `bitfold sum` of {r['n']} elements: {r['seconds'] * 1e3:.2f} ms")


if __name__ == "__main__":
    main(sys.argv[1])
