// Products of pixels with weights, in registers of any width.
#pragma once
#include <algorithm>
#include <cstddef>
#include <vector>

#include "maps.hpp"

namespace cvision {

constexpr int group = outputs_multiple;  // outputs whose weights lie side by side

/// A register of `Lanes` numbers, and as many numbers of an array, which may begin anywhere.
template <int Lanes>
struct Register {
    using Type [[gnu::vector_size(Lanes * sizeof(float))]] = float;
    using Stored [[gnu::vector_size(Lanes * sizeof(float)), gnu::aligned(sizeof(float)), gnu::may_alias]] = float;
};
template <int Lanes>
using Vector = typename Register<Lanes>::Type;

/// The numbers from `at` on. A reference, since how a function returns a vector depends on the registers.
template <int Lanes>
[[gnu::always_inline]] inline auto &vector(const float *at) {
    return *reinterpret_cast<const typename Register<Lanes>::Stored *>(at);
}
template <int Lanes>
[[gnu::always_inline]] inline auto &vector(float *at) {
    return *reinterpret_cast<typename Register<Lanes>::Stored *>(at);
}

/// Pixels whose sums are computed together.
template <int Lanes>
constexpr int pixels_of = 8 / std::min(2, group / Lanes);

/// Where the inputs of a pixel begin, and its results.
struct Place {
    size_t from, to;
};

/// Sums of products of pixels' inputs with the weights of each output.
struct Product {
    const float *inputs;
    float *results;
    const std::vector<Place> *places;
    int count;         // of places that are used
    int rows, length;  // a pixel's inputs: `rows` times `length` adjacent numbers
    int pitch;         // from one such row to the next
    int outputs;
    const float *biases = nullptr;  // null: the sums alone are the results; otherwise the sums with biases,
    bool adds = false;              // and with former results,
    float least = 0;                // but no less than this
};

/// Some pixels from `first` on by some of a group's outputs. Eight sums stay in registers: as many multiplications and additions as
/// processors have under way.
template <int Lanes>
[[gnu::always_inline]] inline void multiply(const Product &p, const float *weights, int first, int output) {
    constexpr int vectors = std::min(2, group / Lanes), pixels = pixels_of<Lanes>;
    const Place *const places = p.places->data() + first;
    const int used = std::min(pixels, p.count - first);
    const float *at[pixels];
    for (int i = 0; i < pixels; ++i) at[i] = p.inputs + places[std::min(i, used - 1)].from;
    Vector<Lanes> sums[pixels][vectors] = {};
    for (int row = 0; row < p.rows; ++row) {
        for (int k = 0; k < p.length; ++k, weights += group) {
            Vector<Lanes> w[vectors];
            for (int v = 0; v < vectors; ++v) w[v] = vector<Lanes>(weights + v * Lanes);
            for (int i = 0; i < pixels; ++i) {
                for (int v = 0; v < vectors; ++v) sums[i][v] += at[i][k] * w[v];
            }
        }
        for (int i = 0; i < pixels; ++i) at[i] += p.pitch;
    }
    for (int i = 0; i < pixels; ++i) {
        for (int v = 0; v < vectors && i < used; ++v) {
            float *const to = p.results + places[i].to + output + v * Lanes;
            Vector<Lanes> sum = sums[i][v];
            if (p.biases != nullptr) {
                sum += vector<Lanes>(p.biases + output + v * Lanes);
                if (p.adds) sum += vector<Lanes>(to);
                sum = sum > p.least ? sum : p.least + Vector<Lanes>{};
            }
            vector<Lanes>(to) = sum;
        }
    }
}

/// All pixels by all outputs; the weights of a few outputs are used for all pixels before the next ones'.
template <int Lanes>
[[gnu::always_inline]] inline void multiply(const Product &p, const float *weights) {
    for (int output = 0; output < p.outputs; output += std::min(2 * Lanes, group)) {
        const float *own = weights + static_cast<size_t>(output / group * p.rows * p.length) * group + output % group;
        for (int first = 0; first < p.count; first += pixels_of<Lanes>) multiply<Lanes>(p, own, first, output);
    }
}

}  // namespace cvision
