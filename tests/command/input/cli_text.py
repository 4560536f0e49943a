"""Text: numbers against Python's int() and float(), columns, dtypes, and everything refused.
Builds: release, asan (full)."""
import os
import random
import struct
import subprocess
import threading
from fractions import Fraction

import numpy as np

from command import BITFOLD, OPERATIONS, SHORT, CommandTest, exact

CASES = int(os.environ.get("BITFOLD_CASES", "300"))
I64, U64 = range(-2**63, 2**63), range(2**64)
SPECIAL = ["0", "-0", "+5", "007", "1.", ".5", "-.5e1", "1e3", "1E+3", "1e-3", "0e99999999999",
           "1e400", "-1e400", "1e-400", "4.9e-324", "2.4703282292062327e-324",
           "2.4703282292062328e-324", "1.7976931348623157e308", "1.7976931348623159e308",
           "9007199254740993", "9007199254740993.0", "9007199254740992.999999999999999999999",
           "123456789012345678901234567890", "0." + "0" * 400 + "1e401", "1" + "0" * 400 + "e-400",
           "9" * 800, "0x1.8p3", "-0X.8P-1", "0x10", "18446744073709551615", "-9223372036854775808",
           "0.1000000000000000055511151231257827021181583404541015625",
           "0.500000000000000166533453693773481063544750213623046875",
           "0.5000000000000001665334536937734810635447502136230468750000000000000000000000001"]
NOT_NUMBERS = ["abc", "1abc", "12,5", "1.2.3", "1e", "1e+", "--1", "+-1", "0x", "0x1p", "1_000",
               "nan(1)", "infinite", ".", "-", "e5", "1 2", "\xe9", "1\v", "0x1.2.3"]


def random_token(r):
    digits = lambda most, least=0: "".join(r.choices("0123456789", k=r.randint(least, most)))
    sign = r.choice(["", "", "-", "+"])
    kind = r.randrange(6)
    if kind == 0:
        return sign + digits(22, 1)
    if kind == 1:
        return sign + digits(20, 1) + "." + digits(20)
    if kind == 2:
        return "%s%s.%se%d" % (sign, digits(3), digits(25, 1), r.randint(-340, 320))
    if kind == 3:
        return repr(struct.unpack("d", struct.pack("Q", r.getrandbits(64)))[0])
    if kind == 4:
        return "%.6f" % r.uniform(-1000, 1000)
    return r.choice(SPECIAL)


def midpoint(r):
    """A decimal that stands exactly between two doubles, or next to there."""
    x = abs(struct.unpack("d", struct.pack("Q", r.getrandbits(62)))[0])
    middle = (Fraction(x) + Fraction(float(np.nextafter(x, np.inf)))) / 2
    scale = 10 ** (middle.denominator.bit_length() - 1)
    digits = middle.numerator * scale // middle.denominator
    return "%de-%d" % (digits * 10 + r.choice([-1, 0, 1]), middle.denominator.bit_length())


def dtype_of(tokens):
    whole = all(t.lstrip("+-").isdigit() for t in tokens)
    values = [int(t) for t in tokens] if whole else []
    if whole and all(v in I64 for v in values):
        return "i64"
    return "u64" if whole and all(v in U64 for v in values) else "f64"


def value(token):
    return float.fromhex(token) if "x" in token.lower() else float(token)


class Numbers(CommandTest):
    def one(self, token, *options):
        return self.result("max", "--hex", *options, stdin=(token + "\n").encode())

    def test_random_tokens_read_as_python_reads_them(self):
        r = random.Random(1)
        for i in range(CASES):
            token = midpoint(r) if i % 4 == 0 else random_token(r)
            if dtype_of([token]) == "f64":
                got = float.fromhex(self.one(token, "--dtype", "f64"))
                self.assertEqual(struct.pack("d", got), struct.pack("d", value(token)), token)
            else:
                self.assertEqual(self.result("max", stdin=token.encode()), str(int(token)))

    def test_special_tokens(self):
        for token in SPECIAL:
            got = float.fromhex(self.one(token, "--dtype", "f64"))
            self.assertEqual(struct.pack("d", got), struct.pack("d", value(token)), token)
        for token in ["inf", "-Infinity", "INF", "+inf"]:
            self.assertEqual(self.result("sum", stdin=token.encode()), str(float(token)))
        for token in ["nan", "NaN", "-nan"]:
            self.assertEqual(self.result("sum", stdin=token.encode()), "nan")

    def test_narrow_floats_are_rounded_once(self):
        r = random.Random(2)
        formats = {"f32": (24, -126), "f16": (11, -14), "bf16": (8, -126)}
        for name, (bits, least) in formats.items():
            for _ in range(CASES // 10 + 20):
                x = Fraction(r.getrandbits(bits + 1) * 2 + 1, 4 * 2**r.randint(0, 1 - least))
                x += r.choice([0, 0, 1, -1]) * Fraction(1, 2**900)
                digits = x.numerator * 10**x.denominator.bit_length() // x.denominator
                text = "%de-%d" % (digits, x.denominator.bit_length())
                x = Fraction(digits, 10**x.denominator.bit_length())
                unit = Fraction(2) ** (max(least, self.exponent(x)) - bits + 1)
                want = round(x / unit) * unit
                if want < 2 ** (1 - least):
                    got = float.fromhex(self.one(text, "--dtype", name))
                    self.assertEqual(Fraction(got), want, (name, text))

    @staticmethod
    def exponent(x):
        e = x.numerator.bit_length() - x.denominator.bit_length()
        return e if Fraction(2)**e <= x else e - 1

    def test_what_is_no_number_is_refused_with_its_line(self):
        for token in NOT_NUMBERS:
            data = ("1\n2\n\n%s\n3\n" % token).encode("latin-1")
            for options in [[], ["--delimiter", ";"]]:
                self.refused(3, "x:4: ", "sum", *options, self.write("x", data))
            self.refused(3, "-:4: ", "sum", stdin=data)

    def test_the_acceptance_sum(self):
        self.assertEqual(self.result("sum", stdin=b"1e20\n1\n-1e20\n"), "1")


class Dtypes(CommandTest):
    def json_dtype(self, data):
        out = self.result("sum", "-q", "--json", stdin=data)
        return out.split('"dtype":"')[1].split('"')[0]

    def test_the_most_exact_dtype_that_holds_the_column(self):
        for tokens, want in [("1 -2", "i64"), ("9223372036854775807", "i64"), ("", "i64"),
                             ("9223372036854775808 1", "u64"), ("18446744073709551615 0", "u64"),
                             ("18446744073709551616", "i128"),
                             ("18446744073709551615 -1", "i128"),
                             ("9" * 38, "i128"), ("1" + "0" * 38, "f64"), ("1e37 -1e22", "i128"),
                             ("12345678901234567890.5", "f64"),
                             ("1 2.0", "i64"), ("1e3", "i64"), ("-0", "i64"), ("5 nan", "f64"),
                             ("1 0.5", "decimal"), ("9223372036854775807 0.5", "decimal"),
                             ("0.1234567890123456", "f64"), ("1e-19", "decimal"),
                             ("1e-39", "f64"), ("1e20 1e-19", "f64"), ("1e19 1e-18", "decimal")]:
            self.assertEqual(self.json_dtype("\n".join(tokens.split()).encode()), want, tokens)

    def test_a_late_token_decides_for_the_whole_column(self):
        x = [2**63 + i for i in range(100_000)]
        text = "\n".join(map(str, x))
        self.assertEqual(self.result("sum", stdin=text.encode()), str(sum(x)))
        for late, want in [("0.5", f"{sum(x)}.5"), ("-1", str(sum(x) - 1)),
                           ("nan", "nan"), (str(10**38), repr(float(10**38 + sum(x))))]:
            data = (text + "\n" + late).encode()
            for name in ["-", self.write("x", data)]:
                self.assertEqual(self.result("sum", name, stdin=data), want)

    def test_dtype_overrides(self):
        self.assertEqual(self.result("sum", "--dtype", "f32", stdin=b"0.1\n0.2\n"),
                         repr(float(np.float32(0.1)) + float(np.float32(0.2))))
        for dtype, fits, not_ in [("i8", "-128 127", "128 -129 1.0"), ("u8", "255 -0", "256 -1"),
                                  ("bool", "0 1", "2"), ("u64", "18446744073709551615", "-1 1e3"),
                                  ("i64", "-9223372036854775808", "9223372036854775808 inf")]:
            tokens = fits.split()
            self.assertEqual(self.result("sum", "--dtype", dtype, stdin="\n".join(tokens).encode()),
                             str(sum(map(int, tokens))))
            for token in not_.split():
                self.refused(3, "-:2: not of dtype " + dtype, "sum", "--dtype", dtype,
                             stdin=b"1\n" + token.encode())

    def test_a_saved_state_is_of_that_dtype_and_merges(self):
        self.result("sum", "--save", self.path("a"), stdin=b"1\n2\n")
        self.result("sum", "--save", self.path("b"), stdin=b"3\n")
        self.assertEqual(self.result("merge", self.path("a"), self.path("b")), "6")


class Rows(CommandTest):
    CSV = b"\xef\xbb\xbfyear,\"a, b\",x\r\n\r\n1, 2.5 ,\"3\"\r\n4,5,6"

    def test_no_rows_have_no_names(self):
        for data in [b"", b"\n\n"]:
            for name in ["-", self.write("x", data)]:
                error = self.refused(3, ": no column is named 'a': it has no rows", "sum",
                                     "--column", "a", name, stdin=data)
                self.assertNotIn("hint", error)

    def test_columns_by_number_and_by_name(self):
        name = self.write("x.csv", self.CSV)
        for column, want in [("1", "5"), ("2", "7.5"), ("3", "9"), ("year", "5"), ("x", "9")]:
            options = ["--column", column] + (["--header"] if column.isdigit() else [])
            self.assertEqual(self.result("sum", *options, name), want)
            self.assertEqual(self.result("sum", *options, stdin=self.CSV), want)

    def test_every_delimiter(self):
        for delimiter in [",", ";", "\t", " ", "   ", " \t ", "|", ":"]:
            data = ("1%s2\n%s3%s4%s\n" % (delimiter, " " if delimiter.isspace() else "", delimiter,
                                          "  ")).encode()
            data = data if delimiter != "\t" else b"1\t2\n 3\t4 \n"
            options = ["--delimiter", delimiter] if delimiter in "|:" else []
            if delimiter == " \t ":
                options = ["--delimiter", " "]
            self.assertEqual(self.result("sum", "--column", 2, *options, stdin=data), "6", data)
        self.assertEqual(self.result("sum", "--column", 2, "--delimiter", "\\t",
                                     stdin=b"1 5\t2\n"), "2")

    def test_quotes_open_fields_only_where_they_begin(self):
        for header, name in [('height 5",count', "count"), ('a"b,c"', 'c"'), ('"a;b" , "c"', "c"),
                             ('"a""|b","c"', "c"), ('5"",c', "c"), ('"x, y" c', "c")]:
            data = header + ("\n1 2\n" if header.endswith(" c") else "\n1,2\n")
            self.assertEqual(self.result("sum", "--column", name, stdin=data.encode()), "2", header)

    def test_blank_lines_line_ends_and_a_missing_last_newline(self):
        for data in [b"1\n2\n3", b"1\r\n2\r\n3\r\n", b"\n1\n \n\t\n2\n\n\n3\n\r\n", b" 1\n2 \n\t3\t\n"]:
            for name in ["-", self.write("x", data)]:
                self.assertEqual(self.result("sum", name, stdin=data), "6")
                self.assertEqual(self.result("argmax", name, stdin=data), "2")

    def test_no_rows_are_an_empty_input(self):
        for data in [b"", b"\n", b" \r\n\n"]:
            self.assertEqual(self.result("sum", "-q", stdin=data), "0")
            self.assertEqual(self.result("sum", self.write("x", data)), "0")
        self.assertEqual(self.result("sum", "--header", stdin=b"x"), "0")
        self.assertEqual(self.result("sum", "--column", "x", self.write("x", b"x")), "0")
        self.refused(3, "no value", "max", stdin=b"")

    def test_rows_of_several_fields_need_a_column(self):
        error = self.refused(3, "-:1: 2 fields in this row", "sum", stdin=b"year,sun\n1,2\n")
        self.assertIn("a name: year, sun", error)
        error = self.refused(3, "-:2: 3 fields in this row", "sum", stdin=b"1\n1 2 3\n")
        self.assertIn("1 to 3", error)

    def test_what_does_not_fit_is_refused(self):
        csv = b"a,b\n1,2\n3\n"
        self.refused(3, "x:3: no column 2: this row has 1 field", "sum", "--column", "b",
                     self.write("x", csv))
        self.refused(3, "-:1: not a number: 'b'", "sum", "--column", 2, stdin=csv)
        self.assertIn("columns are a, b", self.refused(3, "no column is named 'c'", "sum",
                                                       "--column", "c", stdin=csv))
        self.refused(3, "more than one", "sum", "--column", "a", stdin=b"a,a\n1,2\n")
        self.refused(3, "-:1: an empty field", "sum", "--column", 2, stdin=b"1,\n")
        self.refused(3, "-:2: a quoted field", "sum", "--column", 2, stdin=b'1,2\n"3,4\n')
        self.refused(3, "-:2: a NUL byte", "sum", "--column", 1, stdin=b"1 2\n3 \0\n4\n")
        self.refused(3, "-:1: a NUL byte", "sum", stdin=bytes(1 << 20))
        for command in ["hist", "count"]:
            self.refused(2, "one column at a time", command, "--column", "1,2", stdin=b"1,2\n")
        for option in [["--column", "1"], ["--header"], ["--delimiter", ","], ["--dtype", "f32"]]:
            self.refused(2, "x.npy", "sum", *option, self.save("x.npy", np.ones(3)))
        for option in [["--delimiter", "ab"], ["--delimiter", "1"], ["--column", ""]]:
            self.refused(2, "bad operand", "sum", *option, stdin=b"1\n")

    def test_offset_and_count_select_rows(self):
        data = "".join("%d\n%s" % (i, "\n" * (i % 3 == 0)) for i in range(1000)).encode()
        for name in ["-", self.write("x", data)]:
            self.assertEqual(self.result("sum", "--offset", 10, "--count", 20, name, stdin=data),
                             str(sum(range(10, 30))))
            self.assertEqual(self.result("argmin", "--offset", 10, name, stdin=data), "10")
            self.assertEqual(self.result("sum", "--offset", 1000, name, stdin=data), "0")
            self.refused(3, "holds 1000 elements", "sum", "--offset", 1001, name, stdin=data)
            self.refused(3, "too short", "sum", "--count", 1001, name, stdin=data)

    def test_dot_of_text_and_arrays(self):
        x, y = self.write("x", b"1\n2\n3\n"), self.write("y", b"0.5\n2\n-3\n")
        array = self.save("a.npy", np.array([0.1, 2, 3], "f4"))
        self.assertEqual(self.result("dot", x, x), "14")
        self.assertEqual(self.result("dot", x, y), "-4.5")
        want = float(sum(Fraction(float(np.float32(v))) * w for v, w in [(0.1, 1), (2, 2), (3, 3)]))
        self.assertEqual(float(self.result("dot", x, array)), want)
        self.assertEqual(float(self.result("dot", array, "-", stdin=b"1\n2\n3\n")), want)
        self.refused(3, "shapes do not match", "dot", x, self.write("z", b"1\n"))


class Large(CommandTest):
    """Several threads and several blocks."""

    def setUp(self):
        super().setUp()
        r = np.random.default_rng(4)
        self.x = np.round(r.normal(size=300_000) * 100, 6)
        self.tokens = ["%.6f" % v for v in self.x]
        self.data = "\n".join(self.tokens).encode()

    def test_every_operation_is_that_of_the_array(self):
        text, array = self.write("x", self.data), self.save("x.npy", self.x)
        for op in OPERATIONS + ["prod"]:
            want = self.result(op, array)
            for j in [1, 2, 3, 8]:
                how = op, "--dtype", "f64", "-j", j
                self.assertEqual(self.result(*how, text), want, op)
                self.assertEqual(self.result(*how, stdin=self.data), want, op)
        some = self.x[:2000]
        for op in OPERATIONS:
            got = self.result(op, "--dtype", "f64", "--count", 2000, text)
            self.assertEqual(float(got), float(exact(op, some)), op)

    def test_the_first_error_is_reported_with_its_line(self):
        r = random.Random(5)
        for _ in range(10):
            lines, bad = list(self.tokens), sorted(r.sample(range(300_000), 3))
            for i in bad:
                lines[i] = "oops%d" % i
            data = "\n".join(lines).encode()
            for j in [1, 2, 8]:
                want = ":%d: not a number: 'oops%d'" % (bad[0] + 1, bad[0])
                self.refused(3, "x" + want, "sum", "-j", j, self.write("x", data))
                self.refused(3, "-" + want, "max", "-j", j, stdin=data)
                self.refused(3, "x" + want, "argmax", "-j", j, self.write("x", data))

    def test_a_line_longer_than_a_block(self):
        data = b"1,%s\n2,3\n" % (b"x" * 3_000_000)
        for name in ["-", self.write("x", data)]:
            self.assertEqual(self.result("sum", "--column", 1, name, stdin=data), "3")
        self.assertEqual(self.result("sum", stdin=b"0" * 1_000_000 + b"7\n1"), "8")

    def test_a_pipe_that_comes_in_pieces(self):
        os.mkfifo(self.path("fifo"))

        def write():
            with open(self.path("fifo"), "wb", buffering=0) as f:
                for i in range(0, len(self.data), 99_991):
                    f.write(self.data[i:i + 99_991])
        writer = threading.Thread(target=write, daemon=True)
        writer.start()
        self.assertEqual(self.result("sum", self.path("fifo")),
                         self.result("sum", self.save("x.npy", self.x)))
        writer.join()

    def test_standard_input_goes_on_where_it_was_read_to(self):
        with open(self.write("x", b"1\n2\n3\n"), "rb", buffering=0) as f:
            f.read(2)
            self.assertEqual(self.result("sum", stdin=f), "5")


class LongLines(CommandTest):
    def test_lines_of_any_length_at_the_ends_of_the_parts(self):
        r = random.Random(6)
        lengths = [0, 1, 30, 4000, 4096, 60_000, 262_143, 262_144, 524_288, 1_500_000]
        for _ in range(4):
            lines = [b"%d,%s" % (i + 1, b"x" * r.choice(lengths[:r.randint(4, 10)]))
                     for i in range(r.choice([3, 20, 60]))]
            n, end = len(lines), r.choice([b"", b"\n"])
            name = self.write("x", b"\n".join(lines) + end)
            for j in [1, 2, 3, 8]:
                for op, want in [("sum", n * (n + 1) // 2), ("argmax", n - 1), ("min", 1)]:
                    self.assertEqual(self.result(op, "--column", 1, "-j", j, name), str(want))
                bins = self.result("hist", "--column", 1, "-j", j, "--bins", n, "--tsv", name)
                self.assertEqual([b.split("\t")[2] for b in bins.split("\n")], ["1"] * n)
            with open(name, "ab") as f:
                f.write(b"\noops,x")
            for j in [1, 2, 8]:
                line = n + 1 + len(end)
                self.refused(3, "x:%d: not a number: 'oops'" % line, "sum", "--column", 1, "-j", j,
                             name)

    def bytes_read(self, *arguments):
        """How many bytes a command that must succeed reads in all."""
        process = subprocess.Popen([BITFOLD, *map(str, arguments)], stdout=subprocess.DEVNULL)
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        with open("/proc/%d/io" % process.pid) as f:
            count = dict(line.split(": ") for line in f)["rchar"]
        self.assertEqual(process.wait(), 0)
        return int(count)

    def test_every_thread_reads_its_part_alone(self):
        size = 16 << 20
        name = self.write("x", b"1," + b"x" * size)
        # A histogram that finds its own bins walks over the numbers several times.
        for command in ["sum"], ["prod"], ["count"], ["hist", "--bins", 9, "--range", "0:9"]:
            for j in [1, 2]:
                count = self.bytes_read(*command, "--column", 1, "-j", j, name)
                self.assertTrue(size < count < 5 * size, (command, j, count))

    def test_what_is_refused_of_a_wrong_guess_costs_its_part(self):
        data = b'a,b\n1,"' + b"oops,x\n" * (1 << 21) + b'"\n2,y\n'
        name = self.write("x", data)
        for j in [1, 4]:
            self.assertEqual(self.result("sum", "--column", "a", "-j", j, name), "3")
            count = self.bytes_read("sum", "--column", "a", "-j", j, name)
            self.assertTrue(len(data) < count < 5 * len(data), (j, count))

    def test_one_line_has_256_mib_at_most(self):
        longest = 256 << 20
        with open(self.path("x"), "wb") as f:
            f.write(b"1\n2")
            f.write(b" " * (longest - 1))
        self.assertEqual(self.result("sum", self.path("x")), "3")
        with open(self.path("x"), "ab") as f:
            f.write(b" ")
        self.refuse_line(2, "sum", "-j2")
        if SHORT:
            return
        with open(self.path("x"), "r+b") as f:
            f.write(b"1 ")
        self.refuse_line(1, "describe", "--verbose", "--stats")

    def refuse_line(self, line, *command):
        text, what = self.path("x"), "%d: a line of more than 256 MiB: this is not text" % line
        self.refused(3, "%s:%s" % (text, what), *command, text)
        with subprocess.Popen(["cat", text], stdout=subprocess.PIPE) as pipe:
            self.refused(3, "-:" + what, *command, stdin=pipe.stdout)

    def test_one_row_has_a_million_fields_at_most(self):
        most = 1 << 20
        name = self.write("x", b"1," * (most - 1) + b"5\n")
        self.assertEqual(self.result("sum", "--column", most, name), "5")
        name = self.write("x", b"1," * most + b"5\n")
        self.refused(3, "x:1: a row of %d fields: more than %d" % (most + 1, most), "sum",
                     "--column", 1, name)
