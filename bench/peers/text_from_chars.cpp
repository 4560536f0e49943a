// Sums the numbers in a file, one a line, by std::from_chars: read whole, then parsed.
#include <charconv>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

int main(int, char **argv) {
    std::ifstream in(argv[1], std::ios::binary | std::ios::ate);
    std::string text(static_cast<size_t>(in.tellg()), '\0');
    in.seekg(0);
    in.read(text.data(), static_cast<std::streamsize>(text.size()));
    double sum = 0, x = 0;
    for (const char *p = text.data(), *end = p + text.size(); p < end; sum += x) {
        const auto [next, error] = std::from_chars(p, end, x);
        if (error != std::errc()) return 1;
        p = next + 1;
    }
    std::printf("%.17g\n", sum);
}
