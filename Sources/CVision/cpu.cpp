#include "cpu.hpp"

#include <algorithm>

namespace cvision {
namespace {

Registers detected() {
#ifdef __x86_64__
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return Registers::by_4;
    return __builtin_cpu_supports("avx512f") ? Registers::by_16 : Registers::by_8;
#else
    return Registers::by_4;
#endif
}

thread_local Registers limit = Registers::by_16;
thread_local int64_t runs = 0;

}  // namespace

Registers widest_registers() {
    static const Registers widest = detected();
    return widest;
}

bool multiplies_bytes() {
#ifdef __x86_64__
    static const bool does = widest_registers() == Registers::by_16 && __builtin_cpu_supports("avx512bw") &&
                             __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vnni");
    return does;
#else
    return false;
#endif
}

bool runs_skylakex_kernels() {
#ifdef __x86_64__
    return multiplies_bytes() && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512cd");
#else
    return false;
#endif
}

Registers registers() { return std::min(widest_registers(), limit); }

RegisterLimit::RegisterLimit(Registers new_limit) : before(limit) { limit = new_limit; }
RegisterLimit::~RegisterLimit() { limit = this->before; }

int64_t wide_runs() { return runs; }
void count_wide_run() { runs += 1; }

}  // namespace cvision
