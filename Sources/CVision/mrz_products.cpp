// Weights as whole numbers, and the order in which their products are added.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "mrz_bytes.hpp"

namespace cvision::mrz {
namespace {

/// Of a weight in its unit. Two products with `Bytes::greatest` fit into AVX2's sums of 16 bits.
constexpr float greatest_weight = 127;

}  // namespace

WholeConvolution::WholeConvolution(const Convolution &c, float top)
    : outputs(c.outputs),
      inputs(c.inputs),
      kernel_rows(c.kernel_rows),
      kernel_columns(c.kernel_columns),
      stride_y(c.stride_y),
      stride_x(c.stride_x),
      pad_y(c.pad_y),
      pad_x(c.pad_x),
      top(top),
      bias(c.bias) {
    const int taps = c.kernel_rows * c.kernel_columns, groups = groups_of(c.outputs);
    this->bias.resize(size_t(groups) * outputs_together, 0);
    if (c.inputs == 1) {
        this->first.assign(size_t(groups) * taps * outputs_together, 0);
        for (int i = 0; i < c.outputs * taps; ++i) {
            const int output = i / taps;
            const int at = (output / outputs_together * taps + i % taps) * outputs_together + output % outputs_together;
            this->first[at] = c.weights[i];
        }
        return;
    }
    const int padded = groups_of(c.inputs) * outputs_together;
    this->units.assign(this->bias.size(), 0);
    std::vector<int8_t> plain(size_t(groups) * outputs_together * padded * taps, 0);
    for (int output = 0; output < c.outputs; ++output) {
        const float *from = c.weights.data() + size_t(output) * c.inputs * taps;
        float greatest = 1e-30f;
        for (int i = 0; i < c.inputs * taps; ++i) greatest = std::max(greatest, std::abs(from[i]));
        this->units[output] = greatest / greatest_weight;
        int8_t *to = plain.data() + size_t(output / outputs_together) * padded * taps * outputs_together +
                     output % outputs_together * together;
        for (int i = 0; i < c.inputs * taps; ++i) {
            const int input = i / taps, at = i % taps * padded + input;
            to[at / together * together * outputs_together + at % together] =
                int8_t(std::lround(from[i] / greatest * greatest_weight));
        }
    }
    this->pair(plain, padded * taps / together);
}

void WholeConvolution::pair(const std::vector<int8_t> &plain, int products) {
    // Of each product and output, the weights' magnitudes in each of the two sums.
    const size_t each = size_t(products) * product_weights, groups = plain.size() / each;
    std::vector<std::vector<int>> masses(size_t(products), std::vector<int>(groups * outputs_together * 2, 0));
    for (size_t i = 0; i < plain.size(); ++i) {
        const size_t within = i % each, sum = (i / each * product_weights + within % product_weights) / 2;
        masses[within / product_weights][sum] += std::abs(plain[i]);
    }
    std::vector<int> left(products);
    std::iota(left.begin(), left.end(), 0);
    const auto greatest = [&](int product) {
        return *std::max_element(masses[size_t(product)].begin(), masses[size_t(product)].end());
    };
    std::sort(left.begin(), left.end(), [&](int a, int b) { return greatest(a) > greatest(b); });
    // The heaviest has the fewest partners, so it chooses first, and the heaviest that it can.
    constexpr int most = 32767 / int(Bytes::greatest);
    std::vector<int> alone;
    while (!left.empty()) {
        const std::vector<int> &one = masses[size_t(left.front())];
        const auto partner = std::find_if(left.begin() + 1, left.end(), [&](int product) {
            const std::vector<int> &other = masses[size_t(product)];
            for (size_t i = 0; i < one.size(); ++i) {
                if (one[i] + other[i] > most) return false;
            }
            return true;
        });
        if (partner == left.end()) {
            alone.push_back(left.front());
        } else {
            this->order.insert(this->order.end(), {left.front(), *partner});
            left.erase(partner);
        }
        left.erase(left.begin());
    }
    this->paired = int(this->order.size());
    this->order.insert(this->order.end(), alone.begin(), alone.end());
    this->weights.resize(plain.size());
    for (size_t group = 0; group < groups; ++group) {
        for (int i = 0; i < products; ++i) {
            std::copy_n(plain.data() + group * each + size_t(this->order[i]) * product_weights, product_weights,
                        this->weights.data() + group * each + size_t(i) * product_weights);
        }
    }
}

}  // namespace cvision::mrz
