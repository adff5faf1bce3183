// Rows of a convolution's answers over whole numbers, and how sums become answers.
#pragma once
#include "mrz_bytes.hpp"

// A product that is added in one rounding would make answers depend on the processor.
#pragma clang fp contract(off)

namespace cvision::mrz {

using Floats [[gnu::vector_size(outputs_together * sizeof(float)), gnu::aligned(1), gnu::may_alias]] = float;
using Ints [[gnu::vector_size(outputs_together * sizeof(int32_t)), gnu::aligned(1), gnu::may_alias]] = int32_t;
using Octets [[gnu::vector_size(outputs_together), gnu::aligned(1), gnu::may_alias]] = uint8_t;

/// One row of answers.
struct Row {
    const uint8_t *from;  // the inputs of the first answer
    size_t step;          // bytes to the inputs of the next answer
    const int *offsets;   // bytes to the inputs of each product of four, in the weights' order
    int paired, products;
    const int8_t *weights;
    size_t each;  // weights of a group of outputs
    const float *units, *bias;
    const uint8_t *rest;  // null for none
    float rest_unit;
    size_t channels;
    uint8_t *to;
    float *plain;  // in place of `to`: answers as they are
};

/// Writes the answers `values`, which are in units of the result.
[[gnu::always_inline]] inline void write(const Floats &values, uint8_t *to) {
    const Floats positive = values > 0 ? values : Floats{};
    const Floats bounded = positive < Bytes::greatest ? positive : Floats{} + Bytes::greatest;
    *reinterpret_cast<Octets *>(to) = __builtin_convertvector(__builtin_convertvector(bounded + 0.5f, Ints), Octets);
}

[[gnu::always_inline]] inline void finish(const Row &row, const Ints &sums, int group, int x) {
    const size_t first = size_t(group) * outputs_together, at = size_t(x) * row.channels + first;
    Floats values = __builtin_convertvector(sums, Floats) * *reinterpret_cast<const Floats *>(row.units + first);
    values = values + *reinterpret_cast<const Floats *>(row.bias + first);
    if (row.plain != nullptr) {
        *reinterpret_cast<Floats *>(row.plain + at) = values;
        return;
    }
    if (row.rest != nullptr) {
        const Floats rest = __builtin_convertvector(*reinterpret_cast<const Octets *>(row.rest + at), Floats);
        values = values + rest * row.rest_unit;
    }
    write(values, row.to + at);
}

/// `rows` by Winograd's minimal filtering.
void run_in_places(const Bytes &input, const WholeConvolution &convolution, const std::vector<Row> &rows, int columns);

}  // namespace cvision::mrz
