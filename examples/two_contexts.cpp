// two_contexts FILE, in C++: the exact sum of the float64 numbers that FILE holds.
//
// Two threads, each with a context of its own, take half of the file chunk by chunk into a state
// and save it as bytes, as two machines would. The bytes are loaded, merged, and give what
// 'bitfold sum --hex --format raw --dtype f64 FILE' prints.
#include <bitfold.h>

#include <cstdio>
#include <exception>
#include <fstream>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

namespace {

struct deleter {
    void operator()(bf_context *context) const { bf_context_destroy(context); }
    void operator()(bf_state *state) const { bf_state_destroy(state); }
};
using context_ptr = std::unique_ptr<bf_context, deleter>;
using state_ptr = std::unique_ptr<bf_state, deleter>;
using bytes = std::vector<unsigned char>;

void check(bf_status status) {
    if (status != BF_OK) throw std::runtime_error(bf_status_string(status));
}

context_ptr make_context(int threads) {
    bf_options options = {};
    options.size = sizeof options;
    options.threads = threads;
    bf_context *context = nullptr;
    check(bf_context_create(&options, &context));
    return context_ptr(context);
}

state_ptr load(const context_ptr &context, const bytes &saved) {
    bf_state *state = nullptr;
    check(bf_state_load(context.get(), saved.data(), saved.size(), &state));
    return state_ptr(state);
}

void absorb_file(const state_ptr &state, const char *name, std::streamoff first,
                 std::streamoff count) {
    std::ifstream file(name, std::ios::binary);
    std::vector<double> chunk(10000);
    const std::streamoff element = sizeof(double);
    file.seekg(first * element);
    for (std::streamoff left = count; left > 0;) {
        const std::streamoff room = static_cast<std::streamoff>(chunk.size());
        const std::streamoff n = left < room ? left : room;
        if (!file.read(reinterpret_cast<char *>(chunk.data()), n * element))
            throw std::runtime_error("cannot read");
        const bf_array a = bf_array_of(BF_F64, chunk.data(), n);
        check(bf_state_absorb(state.get(), &a));
        left -= n;
    }
}

bytes sum_part(const char *name, std::streamoff first, std::streamoff count) {
    const context_ptr context = make_context(1);
    bf_state *made = nullptr;
    check(bf_state_create(context.get(), BF_SUM, BF_F64, &made));
    const state_ptr state(made);
    absorb_file(state, name, first, count);
    bytes saved(bf_state_save_size(state.get()));
    bf_state_save(state.get(), saved.data());
    return saved;
}

bf_value sum_file(const char *name) {
    std::ifstream file(name, std::ios::binary | std::ios::ate);
    const std::streamoff n = file.tellg() / static_cast<std::streamoff>(sizeof(double));
    bytes first, second;
    std::exception_ptr trouble;
    std::thread other([&] {
        try {
            second = sum_part(name, n / 2, n - n / 2);
        } catch (...) {
            trouble = std::current_exception();
        }
    });
    try {
        first = sum_part(name, 0, n / 2);
    } catch (...) {
        other.join();
        throw;
    }
    other.join();
    if (trouble) std::rethrow_exception(trouble);

    const context_ptr context = make_context(0);
    const state_ptr total = load(context, first), rest = load(context, second);
    check(bf_state_merge(total.get(), rest.get()));
    bf_value sum;
    check(bf_state_result(total.get(), nullptr, &sum));
    return sum;
}

} // namespace

int main(int argc, char **argv) {
    if (argc != 2) {
        std::cerr << "usage: two_contexts FILE, of float64 numbers\n";
        return 2;
    }
    try {
        const bf_value sum = sum_file(argv[1]);
        char text[BF_VALUE_TEXT];
        bf_value_format_hex(&sum, text);
        std::puts(text);
        return 0;
    } catch (const std::exception &e) {
        std::cerr << "two_contexts: " << argv[1] << ": " << e.what() << '\n';
        return 1;
    }
}
