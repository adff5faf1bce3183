// Which registers arithmetic uses. The one place that asks the processor: Debian compiles OpenCV and dlib for every x86-64, and
// what is written for wider registers here must run on each, too.
#pragma once
#include <cstdint>

namespace cvision {

/// By how many floats fit into one, narrowest first: 4 on every processor, 8 with AVX2 and FMA, 16 with AVX-512 beside them.
enum class Registers { by_4, by_8, by_16 };

/// The widest that this processor has.
Registers widest_registers();

/// What this thread uses: the widest, unless a check limits it.
Registers registers();

/// While it lives, this thread uses nothing wider than `limit`, so that a check reaches every way.
class RegisterLimit {
public:
    explicit RegisterLimit(Registers limit);
    ~RegisterLimit();
    RegisterLimit(const RegisterLimit &) = delete;
    RegisterLimit &operator=(const RegisterLimit &) = delete;

private:
    Registers before;
};

/// How often this thread ran what is written for registers wider than four floats: a check that compares results cannot tell
/// otherwise which way made them.
int64_t wide_runs();
void count_wide_run();

}  // namespace cvision
