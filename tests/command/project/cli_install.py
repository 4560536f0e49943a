"""What is installed: complete, and all that a user needs to build and run programs with it."""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import numpy as np

from command import BITFOLD, SHORT, CommandTest
from documents import ROOT
from ranks import ENVIRONMENT

BUILD = os.path.dirname(os.path.abspath(shutil.which(BITFOLD) or ""))
WARNINGS = ["-Wall", "-Wextra", "-Wshadow", "-pedantic", "-Werror"]
STANDARDS = {"cc": ["c99", "c11", "c17"], "gcc": ["c99", "c17"], "clang": ["c99", "c17"],
             "c++": ["c++11", "c++20"], "g++": ["c++11", "c++20"], "clang++": ["c++11"]}


def cached(name):
    with open(os.path.join(BUILD, "CMakeCache.txt")) as f:
        found = re.search(r"^%s:\w+=(.*)$" % name, f.read(), re.M)
    return found.group(1) if found else ""


def call(*arguments, **more):
    """Standard output of a program that must succeed."""
    done = subprocess.run(arguments, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          stdin=subprocess.DEVNULL, **more)
    text = done.stdout.decode(errors="replace")
    if done.returncode != 0:
        raise AssertionError("%s\n%s" % (" ".join(arguments), text))
    return text


class Installed(CommandTest):
    @classmethod
    def setUpClass(cls):
        if not os.path.exists(os.path.join(BUILD, "CMakeCache.txt")) or not shutil.which("cmake"):
            raise unittest.SkipTest("needs cmake and the build directory")
        if "-fsanitize" in cached("CMAKE_C_FLAGS"):
            raise unittest.SkipTest("programs would need the sanitizer's runtime")
        scratch = tempfile.TemporaryDirectory(prefix="bitfold-")
        cls.addClassCleanup(scratch.cleanup)
        cls.prefix = os.path.join(scratch.name, "usr")
        call("cmake", "--install", BUILD, "--prefix", cls.prefix)
        pc, = glob.glob(cls.prefix + "/**/bitfold.pc", recursive=True)
        cls.library_dir = os.path.dirname(os.path.dirname(pc))
        cls.environment = {**os.environ, "PKG_CONFIG_PATH": os.path.dirname(pc),
                           "LD_LIBRARY_PATH": cls.library_dir}

    def need(self, *tools):
        for tool in tools:
            if not shutil.which(tool):
                self.skipTest("needs " + tool)

    def flags(self, *options, package="bitfold"):
        return call("pkg-config", *options, "--cflags", "--libs", package,
                    env=self.environment).split()

    def mpis(self):
        """The MPIs that this build has libraries for."""
        return re.findall(r"libbitfold-mpi-(\w+)\.so$",
                          "\n".join(sorted(os.listdir(self.library_dir))), re.M)

    def build(self, compiler, source, *flags):
        out = self.path(os.path.basename(source) + ".out")
        call(compiler, *WARNINGS, source, "-o", out, *flags)
        return out

    def cmake(self, build, *options):
        """Builds the project that is in the test's directory. Ninja is there, for bitfold's own build
        takes it; make need not be."""
        call("cmake", "-G", "Ninja", "-S", self.dir, "-B", build,
             "-DCMAKE_PREFIX_PATH=" + self.prefix, *options)
        call("cmake", "--build", build)

    def run_here(self, *arguments):
        return call(*arguments, env=self.environment, cwd=self.dir)


class Files(Installed):
    def test_everything_is_there(self):
        for name in ["bin/bitfold", "include/bitfold.h", "share/man/man1/bitfold.1",
                     "share/man/man3/libbitfold.3", "share/bash-completion/completions/bitfold",
                     "share/zsh/site-functions/_bitfold",
                     "share/fish/vendor_completions.d/bitfold.fish"]:
            self.assertTrue(os.path.getsize(os.path.join(self.prefix, name)) > 0, name)
        headers = {os.path.basename(h) for h in glob.glob(ROOT + "/include/bitfold/*.h")}
        self.assertEqual(set(os.listdir(self.prefix + "/include/bitfold")), headers)
        version = self.run_here(self.prefix + "/bin/bitfold", "--version").split()[1]
        library = os.path.realpath(self.library_dir + "/libbitfold.so")
        self.assertTrue(library.endswith(".so." + version), library)
        self.assertTrue(os.path.exists(self.library_dir + "/libbitfold.a"))

    def test_the_library_has_a_soname_and_exports_its_api_only(self):
        self.need("objdump", "nm")
        library = self.library_dir + "/libbitfold.so"
        self.assertRegex(call("objdump", "-p", library), r"SONAME +libbitfold\.so\.0\n")
        names = re.findall(r"^\w+ [A-Z] (\w+)", call("nm", "-D", "--defined-only", library), re.M)
        ours = [name for name in names if not name.startswith("BITFOLD_")]
        self.assertGreater(len(ours), 100)
        self.assertEqual([name for name in ours if not name.startswith("bf_")], [])

    def test_it_needs_libc_only(self):
        self.need("objdump")
        for name in [self.library_dir + "/libbitfold.so", self.prefix + "/bin/bitfold"]:
            needed = set(re.findall(r"NEEDED +(\S+)", call("objdump", "-p", name)))
            needed = {n for n in needed if not re.match(r"(libc|libm|libpthread|libdl|ld-)", n)}
            self.assertEqual(needed, set())


# Each initializer, where options are written: as an argument, in a member, a template, a lambda.
OPTIONS_PROGRAM = b"""#include <bitfold.h>
#include <cstdio>
static int called(void *, int64_t) { return 0; }
struct holder {
    int ddof = 1;
    int mine() const { return BF_REDUCE_OPTIONS(.ddof = ddof).ddof; }
};
template <class T> int descending(T given) {
    const bf_order_options *none = nullptr;
    auto look = [=](const bf_order_options *o) { return o == none ? 0 : o->descending; };
    return look(&BF_ORDER_OPTIONS(.nan = BF_NAN_SKIP, .descending = given));
}
int main() {
    bf_context *context;
    double value = 0, x[] = {1, 5, 3};
    if (bf_context_create(&BF_OPTIONS(.threads = 1, .device = "cpu"), &context) != BF_OK) return 1;
    const bf_array array = bf_array_of(BF_F64, x, 3);
    bf_value var;
    if (bf_reduce(context, BF_VAR, &array, &BF_REDUCE_OPTIONS(.ddof = 1), &var) != BF_OK) return 2;
    bf_state *state;
    if (bf_state_create(context, BF_SUM, BF_F64, &state) != BF_OK) return 3;
    const bf_feed feed = BF_FEED(.arrays = 1, .dtype[0] = BF_F64, .count = 3, .memory[0] = x);
    if (bf_state_absorb_feed(state, &feed) != BF_OK) return 4;
    if (bf_state_result(state, &BF_REDUCE_OPTIONS(), &var) != BF_OK) return 5;
    value = var.as.f64;
    bf_aggregate sum = {BF_SUM, BF_F64};
    bf_groups *groups;
    bf_status status = bf_groups_create(
        context, &BF_GROUPS_OPTIONS(.count = 1, .aggregates = &sum, .key = BF_U32), &groups);
    if (status != BF_OK) return 6;
    if (bf_context_watch(context, &BF_WATCH(.every_ns = 1000, .tick = called)) != BF_OK) return 7;
    const bf_histogram_options bins = BF_HISTOGRAM_OPTIONS(.bins = 4, .range = 1, .lo = 0, .hi = 8);
    const bf_map_options wrap = BF_MAP_OPTIONS(.overflow = BF_OVERFLOW_WRAP);
    const bf_expression_options errors = BF_EXPRESSION_OPTIONS(.overflow = BF_OVERFLOW_ERROR);
    const bf_table_options table = BF_TABLE_OPTIONS(.key = BF_U32, .value = BF_F32);
    const bf_carrier carrier = BF_CARRIER(.rank = 0, .ranks = 1);
    const bool sized = bins.size == sizeof bins && wrap.size == sizeof wrap && carrier.ranks == 1 &&
                       errors.size == sizeof errors && table.size == sizeof table;
    std::printf("%g %d %d %d\\n", value, holder().mine(), descending(1), static_cast<int>(sized));
    bf_groups_destroy(groups);
    bf_state_destroy(state);
    bf_context_destroy(context);
}
"""


class Headers(Installed):
    def compilers(self):
        found = {os.path.realpath(found): name for name in reversed(STANDARDS)
                 if (found := shutil.which(name))} # cc is often gcc
        if not found:
            self.skipTest("needs a compiler")
        return found.values()

    def test_options_are_written_in_cpp_as_in_c(self):
        source, built = self.write("options.cpp", OPTIONS_PROGRAM), 0
        for compiler in [name for name in self.compilers() if "++" in name]:
            for standard in ["c++11", "c++14", "c++17", "c++20"]:
                program = self.build(compiler, source, "-std=" + standard, *self.flags())
                self.assertEqual(self.run_here(program), "9 1 1 1\n", (compiler, standard))
                built += 1
        if not built:
            self.skipTest("needs a C++ compiler")

    def test_they_compile_as_c_and_cpp_without_a_warning(self):
        names = set(os.listdir(self.prefix + "/include/bitfold")) - {"mpi.h"}
        headers = ["bitfold.h", *("bitfold/" + name for name in names)]
        for compiler in self.compilers():
            oldest, *others = STANDARDS[compiler]
            name = "each.cpp" if "++" in compiler else "each.c"

            def compile(standard, headers):
                lines = ["#include <%s>\n" % header for header in headers]
                self.write(name, "".join([*lines, "int main(void);\n"]).encode())
                call(compiler, "-std=" + standard, *WARNINGS, "-fsyntax-only",
                     "-I" + self.prefix + "/include", self.path(name))

            for header in headers: # each alone, and twice
                compile(oldest, [header] * 2)
            for standard in others:
                compile(standard, headers)


MPI_PROGRAM = b"""#include <bitfold.h>
#include <bitfold/mpi.h>
#include <stdio.h>
int main(int argc, char **argv) {
    bf_context *context = NULL;
    bf_comm *comm = NULL;
    double x = 1;
    bf_array a = bf_array_of(BF_F64, &x, 1);
    MPI_Init(&argc, &argv);
    bf_status st = bf_context_create(NULL, &context);
    if (st == BF_OK) st = bf_comm_create_mpi(context, MPI_COMM_WORLD, &comm);
    if (st == BF_OK) st = bf_comm_allreduce(comm, &a, &a);
    if (bf_comm_rank(comm) == 0) printf("%d %g\\n", (int)st, x);
    bf_comm_destroy(comm);
    bf_context_destroy(context);
    return MPI_Finalize();
}
"""
CMAKE_MPI = b"""cmake_minimum_required(VERSION 3.25)
project(ranks C)
find_package(bitfold REQUIRED COMPONENTS mpi_%s)
add_executable(ranks ranks.c)
target_link_libraries(ranks PRIVATE bitfold::bitfold_mpi_%s)
"""


class Ranks(Installed):
    def start(self, name, program):
        starter = shutil.which("mpirun." + name) or shutil.which("mpirun")
        return call(starter, "-n", "2", program, env={**self.environment, **ENVIRONMENT})

    def test_programs_over_mpi(self):
        self.need("pkg-config", "cc")
        if not self.mpis():
            self.skipTest("needs an MPI")
        self.write("ranks.c", MPI_PROGRAM)
        for name in self.mpis():
            flags = self.flags(package="bitfold-mpi-" + name)
            program = self.path("ranks." + name)
            call("cc", "-std=c17", "-Wall", "-Werror", self.path("ranks.c"), "-o", program, *flags)
            self.assertEqual(self.start(name, program), "0 2\n")
            self.write("CMakeLists.txt", CMAKE_MPI % (name.encode(), name.encode()))
            build = self.path("build-" + name)
            self.cmake(build)
            self.assertEqual(self.start(name, build + "/ranks"), "0 2\n")


class Programs(Installed):
    def setUp(self):
        super().setUp()
        self.need("pkg-config")
        x = np.random.default_rng(3).normal(size=100003)
        x[::7] *= 2.0 ** np.random.default_rng(4).integers(-300, 300, x[::7].size)
        x.tofile(self.path("x.raw"))
        self.wanted = self.result("sum", "--hex", "--format", "raw", "--dtype", "f64",
                                  self.path("x.raw"))

    def check(self, program, source):
        if "two_contexts" in source:
            self.assertEqual(self.run_here(program, "x.raw").strip(), self.wanted)
        elif "generate" in source:
            self.run_here(program, "1000", "generated.npy")
            self.assertEqual(np.load(self.path("generated.npy")).size, 1000)
        else:
            self.assertNotEqual(self.run_here(program), "")

    def test_c_examples(self):
        self.need("cc")
        for source in sorted(glob.glob(ROOT + "/examples/*.c")):
            self.check(self.build("cc", source, "-std=c17", *self.flags()), source)

    def test_cpp_examples(self):
        self.need("c++")
        for source in sorted(glob.glob(ROOT + "/examples/*.cpp")):
            self.check(self.build("c++", source, "-std=c++17", *self.flags()), source)

    def test_static_linking(self):
        self.need("cc")
        source = ROOT + "/examples/two_contexts.c"
        probe = self.write("probe.c", b"int main(void) { return 0; }\n")
        if subprocess.run(["cc", "-static", probe, "-o", self.path("probe")],
                          stderr=subprocess.DEVNULL).returncode != 0:
            self.skipTest("no static libc")
        program = self.build("cc", source, "-std=c17", "-static", *self.flags("--static"))
        os.makedirs(self.path("alone"))
        self.assertEqual(call(program, self.path("x.raw")).strip(), self.wanted)

    def test_the_prefix_can_be_moved(self):
        self.need("cc")
        moved = self.path("moved")
        shutil.copytree(self.prefix, moved, symlinks=True)
        where = os.path.relpath(self.library_dir, self.prefix)
        environment = {**os.environ, "PKG_CONFIG_PATH": os.path.join(moved, where, "pkgconfig")}
        flags = call("pkg-config", "--cflags", "--libs", "bitfold", env=environment)
        self.assertNotIn(self.prefix, flags)
        self.build("cc", ROOT + "/examples/sum.c", *flags.split())


class CMakePackage(Installed):
    def test_find_package(self):
        version = self.result("--version").split()[1].rsplit(".", 1)[0]
        self.write("CMakeLists.txt", ("""
            cmake_minimum_required(VERSION 3.25)
            project(user LANGUAGES C)
            find_package(bitfold %s REQUIRED)
            foreach(kind bitfold bitfold_static)
                add_executable(with_${kind} %s/examples/sum.c)
                target_link_libraries(with_${kind} PRIVATE bitfold::${kind})
            endforeach()
            """ % (version, ROOT)).encode())
        self.cmake(self.path("build"), "-DCMAKE_C_COMPILER=" + cached("CMAKE_C_COMPILER"))
        for kind in ["bitfold", "bitfold_static"]:
            self.assertEqual(self.run_here(self.path("build/with_" + kind)), "1\n")


class Packages(Installed):
    packed = {}

    def pack(self, generator, pattern):
        """The package whose name matches. Packing takes seconds, so all are made once."""
        self.need("cpack")
        plain = ["-D", "CPACK_DEBIAN_COMPRESSION_TYPE=none"] if SHORT else []
        if generator not in self.packed:
            scratch = tempfile.TemporaryDirectory(prefix="bitfold-")
            self.addClassCleanup(scratch.cleanup)
            call("cpack", "-G", generator, *plain, "-B", scratch.name, "--config",
                 BUILD + "/CPackConfig.cmake", cwd=scratch.name)
            self.packed[generator] = scratch.name
        package, = glob.glob(os.path.join(self.packed[generator], pattern))
        return package

    def test_deb(self):
        self.need("dpkg-deb")
        package = self.pack("DEB", "bitfold_*.deb")
        about = call("dpkg-deb", "-f", package)
        self.assertRegex(about, r"(?m)^Package: bitfold$")
        self.assertRegex(about, r"(?m)^Depends: libc6( \([^,]*\))?$")
        self.assertRegex(about, r"(?m)^Maintainer: [^<>]+ <[^<>@\s]+@[^<>@\s.]+\.[^<>@\s]+>$")
        self.assertIn("\nMaintainer: %s\n" % cached("BITFOLD_MAINTAINER"), about)
        files = re.findall(r"(\./\S+)(?: -> .*)?$", call("dpkg-deb", "-c", package), re.M)
        for name in ["bin/bitfold", "include/bitfold.h", "share/man/man1/bitfold.1"]:
            self.assertIn("./usr/" + name, files)
        self.assertNotIn("./usr/bin/bitfold-view", files)
        call("dpkg-deb", "-x", package, self.path("root"))
        self.assertEqual(self.run_here(self.path("root/usr/bin/bitfold"), "--version"),
                         self.result("--version") + "\n")

    def test_the_window_is_a_package_of_its_own(self):
        self.need("dpkg-deb")
        if not os.path.exists(self.prefix + "/bin/bitfold-view"):
            self.skipTest("needs SDL2")
        package = self.pack("DEB", "bitfold-view_*.deb")
        about = call("dpkg-deb", "-f", package)
        self.assertRegex(about, r"(?m)^Package: bitfold-view$")
        files = re.findall(r"\./\S*[^/\s]$", call("dpkg-deb", "-c", package), re.M)
        self.assertEqual([n for n in files if "/doc/" not in n],
                         ["./usr/bin/bitfold-view", "./usr/share/man/man1/bitfold-view.1"])

    def test_each_mpi_is_a_package_of_its_own(self):
        self.need("dpkg-deb")
        for name in self.mpis():
            package = self.pack("DEB", "bitfold-mpi-%s_*.deb" % name)
            about = call("dpkg-deb", "-f", package)
            self.assertRegex(about, r"(?m)^Depends:.*\bbitfold \(= ")
            self.assertIn("libbitfold-mpi-%s.so" % name, call("dpkg-deb", "-c", package))
            self.assertNotIn("libbitfold.so", call("dpkg-deb", "-c", package))

    def test_the_python_module_is_a_package_of_its_own(self):
        self.need("dpkg-deb")
        for name in ["bitfold", "python3-bitfold"]:
            package = self.pack("DEB", name + "_*.deb")
            call("dpkg-deb", "-x", package, self.path("root"))
        self.assertRegex(call("dpkg-deb", "-f", package), r"(?m)^Depends: python3.*\bbitfold \(= ")
        self.assertEqual(re.findall(r"\S*\.so\S*", call("dpkg-deb", "-c", package)), [])
        library, = glob.glob(self.path("root/usr/lib/**/libbitfold.so.0"), recursive=True)
        environment = {**os.environ, "LD_LIBRARY_PATH": os.path.dirname(library),
                       "PYTHONPATH": self.path("root/usr/lib/python3/dist-packages")}
        environment.pop("BITFOLD_LIBRARY", None)
        code = "import bitfold; print(bitfold.sum(b'abc'), bitfold.__file__)"
        self.assertEqual(call(sys.executable, "-c", code, env=environment).split(),
                         ["294", environment["PYTHONPATH"] + "/bitfold/__init__.py"])

    def test_tarball(self):
        self.need("tar")
        fast = SHORT and shutil.which("zstd") # gzip takes two seconds
        package = self.pack("TZST", "*.tar.zst") if fast else self.pack("TGZ", "*.tar.gz")
        call("tar", "xf", package, "-C", self.dir)
        command, = glob.glob(self.path("bitfold-*/bin/bitfold"))
        self.assertEqual(self.run_here(command, "--version"), self.result("--version") + "\n")
