"""What bitfold is to reach beside its peers, and where it does not."""

KIB, MIB = 1 << 10, 1 << 20

# (up to so many bytes, times as fast as the peer at least)
INTEGERS = [(4 * KIB, 1.3), (MIB, 2.2), (4 * MIB, 1.8), (16 * MIB, 1.5), (64 * MIB, 1.1),
            (256 * MIB, 1.03), (None, 1.0)]
FLOATS = [(4 * KIB, 1.0), (MIB, 1.6), (4 * MIB, 1.4), (16 * MIB, 1.3), (64 * MIB, 1.05),
          (256 * MIB, 1.0), (None, 0.97)]
PRODUCTS = [(4 * KIB, 1.0), (MIB, 1.6), (16 * MIB, 1.2), (None, 0.98)]

# Items are counted here. On the CPU, one thread is measured beside the best of these peers.
CPU = {
    ("julia", "f32", "shifted"): (12, ["loop"]),
    ("table", "u32", "insert"): (1.0, ["boost", "absl"]),
    ("table", "u32", "reserved"): (1.0, ["boost", "absl"]),
    ("table", "u32", "find"): (1.5, ["boost", "absl"]),
    ("group", "u32", "2^10"): (1.0, ["absl"]),
    ("group", "u32", "2^16"): (1.0, ["absl"]),
    ("group", "u32", "2^22"): (1.3, ["boost", "absl", "numpy"]),
}
# Two threads are measured beside one of our own.
TWO_THREADS = {
    ("julia", "f32", "shifted"): 1.9,
    ("table", "u32", "insert"): 1.8,
    ("table", "u32", "find"): 1.8,
}
# A GPU is measured with at least so many items, beside each of these peers.
GPU = {
    ("julia", "f32", "shifted"): (256000000, {"tiles": 1.9}),
    ("julia", "f32", "centred"): (256000000, {"tiles": 3.5, "block": 60}),
    ("table", "u32", "insert-0.5"): (1 << 26, {"cuco": 3.5}),
    ("table", "u32", "insert-0.8"): (1 << 26, {"cuco": 3.5}),
    ("table", "u32", "twice-0.5"): (1 << 26, {"cuco": 2.5}),
    ("table", "u32", "twice-0.8"): (1 << 26, {"cuco": 2.5}),
    ("table", "u32", "find-0.5"): (1 << 26, {"cuco": 1.35}),
    ("table", "u32", "find-0.8"): (1 << 26, {"cuco": 1.5}),
    ("table", "u32", "half-0.5"): (1 << 26, {"cuco": 1.25}),
    ("table", "u32", "half-0.8"): (1 << 26, {"cuco": 2.3}),
    ("group", "u32", "2^8"): (1 << 28, {"cuco": 5}),
    ("group", "u32", "2^12"): (1 << 28, {"cuco": 18}),
    ("group", "u32", "2^16"): (1 << 28, {"cuco": 6.5}),
    ("group", "u32", "2^20"): (1 << 28, {"cuco": 6.5}),
    ("group", "u32", "2^24"): (1 << 28, {"cuco": 8}),
}
SMALL, SMALL_TABLE = 1 << 21, 1.7  # the L2 cache holds so many keys


def steps_of(r):
    """The peers that a GPU's point is held against, the best of them counts, and the steps."""
    if r["mode"] == "pageable":
        return [], []
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


def best(r, peers):
    """How many times as fast as the best of these peers; None if none of them is there."""
    return min((r["peers"][name]["ratio"] for name in peers if name in r["peers"]), default=None)


def kinds(r, name):
    """The peers that are this one, maybe in several forms: cuco1, cuco4."""
    return [peer for peer in r["peers"] if peer.startswith(name)]


def of_bytes(r):
    if "gpu" not in r:
        return
    peers, steps = steps_of(r)
    for most, least in steps:
        if most is None or r["bytes"] <= most:
            yield "", best(r, peers), least
            return


def of_items_on_cpu(r, others):
    key = (r["work"], r["dtype"], r["data"])
    if r["work"] != "julia" and r["n"] < 1 << 24:
        return
    if r["threads"] == 1 and key in CPU:
        least, peers = CPU[key]
        yield " beside " + " and ".join(peers), best(r, peers), least
    if r["threads"] == 2 and key in TWO_THREADS:
        one = others.get((*key, r["n"], 1))
        yield " beside one thread", one and r["per_second"] / one["per_second"], TWO_THREADS[key]


def of_items_on_gpu(r, others):
    key = (r["work"], r["dtype"], r["data"])
    least_items, peers = GPU.get(key, (0, {}))
    for name, least in peers.items():
        if r["n"] >= least_items:
            yield " beside " + name, best(r, kinds(r, name)), least
        elif r["work"] == "table" and r["n"] == SMALL:
            yield " beside " + name, best(r, kinds(r, name)), SMALL_TABLE
    if r["work"] == "group":
        yield from of_groups_on_gpu(r, others)


def of_groups_on_gpu(r, others):
    """Zipf's keys beside even ones; exact sums beside the peer's counts of the same groups."""
    if r["data"] == "zipf":
        even = others.get(("group", r["dtype"], "2^20", r["n"], r["threads"]))
        yield " beside 2^20", even and r["per_second"] / even["per_second"], 0.5
    elif r["dtype"] != "u32":
        count = others.get(("group", "u32", r["data"], r["n"], r["threads"]), {"peers": {}})
        peer = max((count["peers"][p]["per_second"] for p in kinds(count, "cuco")), default=None)
        ratio = peer and r["per_second"] / peer
        yield " beside cuco's count", ratio, 1 if r["data"] == "2^8" else 2


def of_all(points):
    """For each goal: the point, beside what, the ratio reached, and the least that is to be."""
    others = {(r["work"], r["dtype"], r["data"], r["n"], r["threads"]): r for r in points}
    for r in points:
        if "item" not in r:
            found = of_bytes(r)
        else:
            found = (of_items_on_gpu if "gpu" in r else of_items_on_cpu)(r, others)
        for beside, ratio, least in found:
            if ratio is not None:
                yield r, beside, ratio, least
