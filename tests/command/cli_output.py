"""Where results go: files of every ending, pipes that nobody reads, full disks, terminals."""
import os
import signal
import subprocess
import unittest

import numpy as np

from command import BITFOLD, CommandTest, run


class Pipes(CommandTest):
    def commands(self):
        x, out = self.save("x.npy", np.arange(300_000)), self.save("k.npy", np.arange(300_000) % 7)
        return [["sum", x], ["sort", x], ["sort", "--memory", "64M", "-j2", x], ["group", x, "--count"],
                ["count", x], ["join", x, x], ["unique", x], ["top", "-n", 200_000, x], ["quantile", x],
                ["hist", x], ["describe", x], ["map", "neg", x, "-o", "-"], ["sum", "--axis", 0, x],
                ["julia", "--help"], ["help"], ["devices"], ["completion", "bash"], ["sort", "--json", x],
                ["bench", "--quick", "--sizes", "4KiB", "sum"]]

    def started(self, command, **more):
        return subprocess.Popen([BITFOLD, *map(str, command)], stdin=subprocess.DEVNULL,
                                stderr=subprocess.PIPE, **more)

    def test_a_pipe_that_nobody_reads_ends_quietly(self):
        for command in self.commands():
            read_end, write_end = os.pipe()
            os.close(read_end)
            child = self.started(command, stdout=write_end)
            os.close(write_end)
            error = child.communicate(timeout=60)[1]
            self.assertEqual((child.returncode, error), (-signal.SIGPIPE, b""), command)

    def test_what_is_half_written_is_removed(self):
        read_end, write_end = os.pipe()
        os.close(read_end)
        x = self.save("x.npy", np.arange(3))
        child = self.started(["sum", "--save", self.path("s.bfs"), x], stdout=write_end)
        os.close(write_end)
        self.assertEqual(child.communicate(timeout=60)[1], b"")
        self.assertEqual(os.listdir(self.dir), ["x.npy"])

    def test_who_ignores_the_signal_is_told(self):
        read_end, write_end = os.pipe()
        os.close(read_end)
        ignore = lambda: signal.signal(signal.SIGPIPE, signal.SIG_IGN)
        child = self.started(["sum", self.save("x.npy", np.arange(3))], stdout=write_end,
                             preexec_fn=ignore, restore_signals=False)
        os.close(write_end)
        self.assertIn(b"standard output: cannot write: Broken pipe", child.communicate(timeout=60)[1])
        self.assertEqual(child.returncode, 1)

    @unittest.skipUnless(os.path.exists("/dev/full"), "needs /dev/full")
    def test_a_full_disk_is_an_error(self):
        for command in self.commands():
            with open("/dev/full", "wb") as full:
                child = self.started(command, stdout=full)
                error = child.communicate(timeout=60)[1]
            self.assertEqual(child.returncode, 1, command)
            self.assertIn(b"cannot write: No space left on device", error, command)


class Nothing(CommandTest):
    NOTE = "standard input: empty input"

    def test_standard_input_that_nothing_named_and_holds_nothing_is_told(self):
        for command in [["sum"], ["sum", "--format", "raw", "--dtype", "f32"], ["hist"], ["sort"],
                        ["describe"], ["count"], ["unique"]]:
            want = "bitfold %s: %s\n" % (command[0], self.NOTE)
            done = run(*command, stdin=b"")
            self.assertEqual((done.returncode, done.stderr.decode()), (0, want), command)
            with open(os.devnull, "rb") as nothing, open(self.write("e", b""), "rb") as empty:
                for stream in [nothing, empty]:
                    child = subprocess.run([BITFOLD, *command], stdin=stream, stdout=subprocess.PIPE,
                                           stderr=subprocess.PIPE)
                    self.assertEqual((child.returncode, child.stderr.decode()), (0, want), command)
            self.result(*command, "-q", stdin=b"")
            self.result(*command, "-", stdin=b"")
        self.result("sum", stdin=b"\n")
        self.result("hist", stdin=b"1\n2\n")
        self.refused(3, "the input is empty", "max", stdin=b"")


if __name__ == "__main__":
    unittest.main()
