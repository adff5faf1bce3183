// The registers that arithmetic uses. Debian compiles OpenCV and dlib for any x86-64 processor; code here for wider registers is
// chosen at run time, so that one program runs on every processor.
#pragma once
#include <cstdint>

namespace cvision {

/// Named by the number of floats in one: 4 on every processor, 8 with AVX2 and FMA, 16 with AVX-512 as well.
enum class Registers { by_4, by_8, by_16 };

/// The widest that this processor has.
Registers widest_registers();

/// Whether the widest have instructions that multiply bytes and add the products (AVX-512 VNNI).
bool multiplies_bytes();

/// Whether OpenBLAS's kernels for SkylakeX run here, which need AVX-512 DQ and CD as well.
bool runs_skylakex_kernels();

/// What this thread uses: the widest, unless a check limits it.
Registers registers();

/// While it lives, this thread uses nothing wider than `limit`, so that a check reaches every variant.
class RegisterLimit {
public:
    explicit RegisterLimit(Registers limit);
    ~RegisterLimit();
    RegisterLimit(const RegisterLimit &) = delete;
    RegisterLimit &operator=(const RegisterLimit &) = delete;

private:
    Registers before;
};

/// How often this thread ran code for registers wider than four floats: a check cannot see from results which variant ran.
int64_t wide_runs();
void count_wide_run();

}  // namespace cvision
