#!/usr/bin/env python3
"""A Markdown table of what scripts/bench measured: GB/s of bitfold, and the ratio to the others.
For a GPU also where bitfold does not reach what it should beside them."""
import json
import sys

KIB, MIB = 1 << 10, 1 << 20

# (up to so many bytes, times as fast as the peer at least)
INTEGERS = [(4 * KIB, 1.3), (MIB, 2.2), (4 * MIB, 1.8), (16 * MIB, 1.5), (64 * MIB, 1.1),
            (256 * MIB, 1.03), (None, 1.0)]
FLOATS = [(4 * KIB, 1.0), (MIB, 1.6), (4 * MIB, 1.4), (16 * MIB, 1.3), (64 * MIB, 1.05),
          (256 * MIB, 1.0), (None, 0.97)]
PRODUCTS = [(4 * KIB, 1.0), (MIB, 1.6), (16 * MIB, 1.2), (None, 0.98)]


def goal(r):
    """The peers that a GPU's point is held against, the best of them counts, and the steps."""
    spread = r["data"] in ("wide", "full")
    if r["mode"] == "host":
        return (["cub"], [(None, 2.0)]) if r["work"] == "sum" and not spread else ([], [])
    if spread:
        return ["cub"], [(None, 0.80 if r["data"] == "wide" else 0.30)]
    if r["work"] == "sum":
        return ["cub"], FLOATS if r["dtype"][0] == "f" else INTEGERS
    return {"min": (["cub"], INTEGERS), "max": (["cub"], INTEGERS), "dot": (["cublas"], PRODUCTS),
            "add": (["thrust", "transform", "float4"], [(None, 1.0)]),
            "var": (["thrust"], [(None, 0.9)])}.get(r["work"], ([], []))


def judge(points):
    reached, missed = 0, []
    for r in points:
        peers, steps = goal(r)
        ratios = [r["peers"][name]["ratio"] for name in peers if name in r["peers"]]
        if not ratios:
            continue
        least = next(ratio for most, ratio in steps if most is None or r["bytes"] <= most)
        if min(ratios) >= least:
            reached += 1
        else:
            missed.append((min(ratios) / least, r, min(ratios), least))
    print(f"\nGoals reached: {reached} of {reached + len(missed)}")
    for _, r, ratio, least in sorted(missed, key=lambda m: m[0]):
        print(f"- {r['work']} {r['dtype']} {r['data']} {size(r['bytes'])} {r['mode']}: "
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
            number(r.get("read_ratio"))]


def gpu_columns(r):
    return [r["mode"], r["cache"], f"{r['seconds'] * 1e6:.2f}", f"{r['gbps']:.0f}",
            f"{r['peak_share'] * 100:.0f} %"]


def print_table(points, columns, head):
    peers = list(dict.fromkeys(name for r in points for name in r["peers"]))
    row(["work", "dtype", "data", "size"] + head + ["/ " + name for name in peers])
    row(["---"] * 3 + ["---:"] * (1 + len(head) + len(peers)))
    for r in points:
        row([r["work"], r["dtype"], r["data"], size(r["bytes"])] + columns(r)
            + [number(r["peers"].get(name, {}).get("ratio")) for name in peers])


def main(path):
    about, *results = (json.loads(line) for line in open(path))
    points = [r for r in results if "bytes" in r]
    if "gpu" in about:
        print(f"{about['gpu']}, driver {about['driver']}, CUDA {about['cuda']}; {about['date']}, "
              f"{about['commit']}\n")
        print_table(points, gpu_columns, ["mode", "cache", "us", "GB/s", "of the peak"])
        judge(points)
        return
    print(f"{about['cpu']}, {about['threads']} threads; {about['date']}, {about['commit']}\n")
    print_table(points, cpu_columns, ["threads", "GB/s", "/ plain", "/ read"])
    for r in results:
        if r["work"] == "start":
            print(f"\nStart-up, `bitfold sum` of {r['n']} elements: {r['seconds'] * 1e3:.2f} ms")


if __name__ == "__main__":
    main(sys.argv[1])
