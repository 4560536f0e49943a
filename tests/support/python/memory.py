"""What the tests of --memory share: running the command within a limit, and seeing that it kept to
it."""
import subprocess
import sys

from command import BITFOLD, SANITIZED, SHORT, THREADS_ALONE, CommandTest, least_memory

MIB = 1 << 20
LEAST = least_memory() # MiB, of one thread
LIMIT = 2 * LEAST - 18 # two threads leave half of it
LIMITED = ["-j2", "--memory", "%dM" % LIMIT]

# Runs a command and writes its peak of resident memory, in KiB, to a file: VmHWM begins anew with a
# program, while the peak that wait4 tells may be this interpreter's.
PEAK = """
import os, resource, sys
child = os.fork()
if child == 0:
    os.execv(sys.argv[2], sys.argv[2:])
status = os.wait4(child, 0)
open(sys.argv[1], "w").write(str(status[2].ru_maxrss))
sys.exit(os.waitstatus_to_exitcode(status[1]))
"""

# A sanitizer's own memory is not counted; it makes all slow, so inputs are a quarter as large, as they
# are in the short form.
SHARE = 4 if SHORT else 1


class MemoryTest(CommandTest):
    def limited(self, *arguments, stdin=None, limit=LIMIT, threads=2):
        """What a command writes to standard output, having kept to the limit."""
        peak = self.path("peak")
        watch = [] if SANITIZED else [sys.executable, "-S", "-c", PEAK, peak]
        command = [BITFOLD, *map(str, arguments), "-j%d" % threads, "--memory", "%dM" % limit]
        done = subprocess.run(watch + command, input=stdin, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=60)
        self.assertEqual((done.returncode, done.stderr), (0, b""), arguments)
        if watch:
            with open(peak) as f:
                self.assertLess(int(f.read()), limit * 1024, arguments)
        return done.stdout.decode().rstrip("\n")

    def same(self, *arguments, **more):
        """With a limit and without one, from a file; returns that output."""
        found = self.limited(*arguments, **more)
        if not THREADS_ALONE:
            self.assertEqual(found, self.result(*arguments), arguments)
        return found
