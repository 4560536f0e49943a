#!/usr/bin/env bash
# Sums ten million numbers in text, by bitfold and by whichever of its peers are installed. They take
# turns; what is printed is the median of the seconds, process start-up and all, and the ratio.
set -euo pipefail
cd "$(dirname "$0")/../.."

case ${1:-} in
-h | --help)
    echo "usage: bench/peers/text_peers.sh [BITFOLD [ROUNDS [PYTHON]]]"
    echo "PYTHON is one that has the module duckdb, for the comparison with DuckDB."
    exit 0
    ;;
esac
bitfold=${1:-build/release/bitfold} rounds=${2:-5} python=${3:-python3}
threads=$(nproc)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

${CXX:-c++} -std=c++17 -O3 -march=native bench/peers/text_from_chars.cpp -o "$scratch/from_chars"
awk 'BEGIN { srand(1); for (i = 0; i < 10000000; i++) printf "%.6f\n", 1000 * rand() }' \
    >"$scratch/floats"
awk 'BEGIN { srand(2); for (i = 0; i < 10000000; i++) printf "%d\n", 1e9 * rand() - 1e6 }' \
    >"$scratch/integers"

# duckdb_sum FILE TYPE THREADS
duckdb_sum() {
    "$python" - "$@" <<'END'
import sys
import time

import duckdb
file, dtype, threads = sys.argv[1:]
connection = duckdb.connect()
connection.execute(f"set threads = {threads}")
began = time.perf_counter()
connection.execute(f"select sum(x) from read_csv('{file}', header = false, "
                   f"columns = {{'x': '{dtype}'}})").fetchall()
print(time.perf_counter() - began)  # without the interpreter's start
END
}

# seconds COMMAND...
seconds() {
    if [ "$1" = duckdb_sum ]; then
        "$@"
        return
    fi
    local TIMEFORMAT=%R
    { time "$@" >/dev/null; } 2>&1
}

median() { sort -n | awk '{ x[NR] = $1 } END { print x[int((NR + 1) / 2)] }'; }

# measure NAME COMMAND...
measure() { seconds "${@:2}" >>"$scratch/$data.$1"; }

for data in floats integers; do
    file=$scratch/$data
    [ "$data" = floats ] && type=DOUBLE || type=BIGINT
    for ((round = 0; round < rounds; round++)); do
        measure bitfold-1 "$bitfold" sum -j 1 "$file"
        measure "bitfold-$threads" "$bitfold" sum -j "$threads" "$file"
        measure from_chars "$scratch/from_chars" "$file"
        command -v datamash >/dev/null && measure datamash datamash sum 1 <"$file"
        command -v mawk >/dev/null && measure mawk mawk '{ s += $1 } END { print s }' "$file"
        command -v gawk >/dev/null && measure gawk gawk '{ s += $1 } END { print s }' "$file"
        if "$python" -c 'import duckdb' 2>/dev/null; then
            measure duckdb-1 duckdb_sum "$file" "$type" 1
            measure "duckdb-$threads" duckdb_sum "$file" "$type" "$threads"
        fi
    done
    own=$(median <"$file.bitfold-1")
    for times in "$file".*; do
        median <"$times" | awk -v data="$data" -v name="${times##*.}" -v own="$own" \
            '{ printf "%-9s %-12s %6.3f s  %5.1f x bitfold on one thread\n", data, name, $1, $1 / own }'
    done
done
