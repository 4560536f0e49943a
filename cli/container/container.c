#include "container/container.h"

#include "runtime/report.h"

#include <stdio.h>
#include <string.h>

/* The file's name stands in the command between `before` and `behind`; `options` are those of
 * bitfold for what the command prints. before NULL: bitfold reads it, but not from a stream. */
typedef struct container {
    const char *magic;
    size_t size, at;
    const char *what, *before, *behind, *options;
} container;

/* An array by Python: a module as m, and an expression in which the file's name stands. */
#define NUMPY(module, call)                                                                        \
    "python3 -c \"import sys, numpy, " module " as m; numpy.save(sys.stdout.buffer, m." call "('"
#define NUMPY_END(item) "')" item ")\""

/* Tables of Arrow. */
#define ARROW(module, call)                                                                        \
    "python3 -c \"import sys, pyarrow.csv, " module " as m; pyarrow.csv.write_csv(m." call "('"
#define ARROW_END(item) "')" item ", sys.stdout.buffer)\""

#define DUCKDB_END "TO '/dev/stdout' (FORMAT csv)\""

/* None of these begins a text that somebody would write. */
static const container containers[] = {
    {"PAR1\x15", 5, 0, "a Parquet file", "duckdb -c \"COPY (FROM read_parquet('", "')) " DUCKDB_END,
     "--header "},
    {"ARROW1\0\0", 8, 0, "an Arrow or Feather file", ARROW("pyarrow.feather", "read_table"),
     ARROW_END(""), "--header "},
    {"FEA1\0\0\0\0", 8, 0, "a Feather file", ARROW("pyarrow.feather", "read_table"), ARROW_END(""),
     "--header "},
    {"\xff\xff\xff\xff", 4, 0, "a stream of Arrow", ARROW("pyarrow", "ipc.open_stream(m.OSFile"),
     ARROW_END(").read_all()"), "--header "},
    {"Obj\1", 4, 0, "an Avro file", "fastavro ", "", "--format jsonl "},
    {"SQLite forma", 12, 0, "an SQLite database", "sqlite3 -csv -header ", " 'SELECT * FROM NAME'",
     "--header "},
    {"DUCK", 4, 8, "a DuckDB database", "duckdb ", " -c \"COPY NAME " DUCKDB_END, "--header "},
    {"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", 8, 0, "an old Office file (.xls)", "in2csv -f xls ", "",
     "--header "},
    {"\x89HDF\r\n\x1a\n", 8, 0, "an HDF5 file", NULL, NULL, NULL},
    {"MATLAB 7.3 M", 12, 0, "a MATLAB file of HDF5", NULL, NULL, NULL},
    {"MATLAB 5.0 M", 12, 0, "a MATLAB file", NUMPY("scipy.io", "loadmat"), NUMPY_END("['NAME']"),
     ""},
    {"CDF\1", 4, 0, "a NetCDF file", NUMPY("scipy.io", "netcdf_file"),
     "', mmap=False).variables['NAME'][:])\"", ""},
    {"CDF\2", 4, 0, "a NetCDF file", NUMPY("scipy.io", "netcdf_file"),
     "', mmap=False).variables['NAME'][:])\"", ""},
    {"SIMPLE  =   ", 12, 0, "a FITS file", NUMPY("astropy.io.fits", "getdata"), NUMPY_END(""), ""},
    {"\0\0\0\0{\"", 6, 4, "a safetensors file", NUMPY("safetensors.numpy", "load_file"),
     NUMPY_END("['NAME']"), ""},
    {"1AY&SY", 6, 4, "compressed by bzip2", "bzip2 -dc ", "", ""},
    {"\x04\x22\x4d\x18", 4, 0, "compressed by lz4", "lz4 -dc ", "", ""},
    {"LZIP\1", 5, 0, "compressed by lzip", "lzip -dc ", "", ""},
    {"\x1f\x9d", 2, 0, "compressed by compress (.Z)", "gzip -dc ", "", ""},
    {"7z\xbc\xaf\x27\x1c", 6, 0, "a 7z archive", "7z x -so ", "", ""},
    {"ustar", 5, 257, "a tar archive", "tar -xOf ", "", ""},
    {"PK\5\6", 4, 0, "an empty zip archive", NULL, NULL, NULL},
    {"PK\3\4", 4, 0, "a zip archive", "unzip -p ", "", ""}};

/* Zip archives are told by the name of the first file in them. */
static const container zips[] = {
    {"[Content_Typ", 12, 0, "an Office file (.xlsx)", "xlsx2csv ", "", "--header "},
    {"_rels/", 6, 0, "an Office file (.xlsx)", "xlsx2csv ", "", "--header "},
    {"docProps/", 9, 0, "an Office file (.xlsx)", "xlsx2csv ", "", "--header "},
    {"xl/", 3, 0, "an Office file (.xlsx)", "xlsx2csv ", "", "--header "},
    {"mimetype", 8, 0, "an OpenDocument file (.ods)",
     "python3 -c \"import sys, pandas; pandas.read_excel('", "').to_csv(sys.stdout, index=False)\"",
     "--header "}};

static const container *find_among(const container *of, size_t n, const void *bytes,
                                   size_t length) {
    for (const container *c = of; c < of + n; c++)
        if (length >= c->at + c->size &&
            memcmp((const char *)bytes + c->at, c->magic, c->size) == 0)
            return c;
    return NULL;
}

static const container *find_container(const void *head, size_t length) {
    return find_among(containers, sizeof containers / sizeof *containers, head, length);
}

bool container_knows(const void *head, size_t length) {
    return find_container(head, length) != NULL;
}

/* Whether a shell, and a string in its quotes, take a name as it is. */
static bool is_plain(const char *name) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "/._+,:@%-";
    return *name && *name != '-' && name[strspn(name, plain)] == '\0';
}

/* The name of the first file of a zip archive; "" if it is not all in the head. */
static void find_entry(char entry[CONTAINER_HEAD], const unsigned char *head, size_t length) {
    enum { AT = 30, LENGTH = 26 };
    const size_t n = length > AT ? head[LENGTH] + 256u * head[LENGTH + 1] : 0;
    *entry = '\0';
    if (AT + n <= length) snprintf(entry, n + 1, "%.*s", (int)n, (const char *)head + AT);
}

static bool is_array(const char *entry) {
    const size_t n = strlen(entry);
    return n > 4 && strcmp(entry + n - 4, ".npy") == 0;
}

/* A zip archive, by its first file. */
static container open_zip(const container *zip, const char *entry) {
    const size_t n = sizeof zips / sizeof *zips;
    const container *const office = find_among(zips, n, entry, strlen(entry));
    container found = office ? *office : *zip;
    if (is_array(entry)) found = (container){.what = "a .npz archive"};
    return found;
}

static int refuse_stream(const container *c, const char *input) {
    fail(EXIT_DATA, input, "it is %s, which bitfold reads as a file, not as a stream", c->what);
    hint("save it, and name the file: bitfold %s FILE", report_command_name());
    return EXIT_DATA;
}

int container_refuse(const char *input, const char *name, const void *head, size_t length) {
    container c = *find_container(head, length);
    char entry[CONTAINER_HEAD] = "";
    if (memcmp(c.magic, "PK", 2) == 0) {
        find_entry(entry, head, length);
        c = open_zip(&c, entry);
    }
    if (!c.before) return refuse_stream(&c, input);
    const bool one = strcmp(c.before, "unzip -p ") == 0 && is_plain(entry);
    fail(EXIT_DATA, input, "it is %s, which bitfold does not read", c.what);
    hint("%s%s%s%s%s | bitfold %s %s-", c.before, name && is_plain(name) ? name : "FILE", c.behind,
         one ? " " : "", one ? entry : "", report_command_name(), c.options);
    return EXIT_DATA;
}
