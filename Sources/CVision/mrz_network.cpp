#include "mrz_network.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <stdexcept>

extern "C" {
extern const unsigned char cvision_mrz_reader_weights[];
extern const size_t cvision_mrz_reader_weights_size;
extern const unsigned char cvision_mrz_detector_weights[];
extern const size_t cvision_mrz_detector_weights_size;
}

namespace cvision::mrz {
namespace {

/// IEEE 754 binary16 to binary32.
float from_half(uint16_t half) {
    const uint32_t sign = uint32_t(half & 0x8000) << 16, magnitude = half & 0x7fff;
    uint32_t bits;
    if (magnitude >= 0x0400) {
        bits = sign | ((magnitude << 13) + 0x38000000);
    } else {  // subnormal: magnitude * 2^-24
        const float value = float(magnitude) * 5.9604644775390625e-8f;
        std::memcpy(&bits, &value, sizeof bits);
        bits |= sign;
    }
    float result;
    std::memcpy(&result, &bits, sizeof result);
    return result;
}

struct Cursor {
    const unsigned char *at, *end;

    void take(void *to, size_t size) {
        if (size > size_t(end - at)) {
            throw std::runtime_error("embedded network weights are cut short");
        }
        std::memcpy(to, at, size);
        at += size;
    }
    uint32_t word() {
        uint32_t value;
        take(&value, sizeof value);
        return value;
    }
};

Tensor doubled(const Tensor &input) {
    Tensor out(input.channels, input.rows * 2, input.columns * 2);
    for (int c = 0; c < input.channels; ++c) {
        for (int y = 0; y < out.rows; ++y) {
            const float *from = input.plane(c) + size_t(y / 2) * input.columns;
            float *to = out.plane(c) + size_t(y) * out.columns;
            for (int x = 0; x < out.columns; ++x) {
                to[x] = from[x / 2];
            }
        }
    }
    return out;
}

void add(Tensor &to, const Tensor &other) {
    for (size_t i = 0; i < to.values.size(); ++i) {
        to.values[i] += other.values[i];
    }
}

const Convolution &checked(const std::vector<Convolution> &network, size_t count, size_t index) {
    if (network.size() != count) {
        throw std::runtime_error("embedded network has an unexpected number of layers");
    }
    return network[index];
}

}  // namespace

std::vector<Convolution> load_weights(const unsigned char *bytes, size_t size) {
    Cursor cursor{bytes, bytes + size};
    char magic[4];
    cursor.take(magic, sizeof magic);
    if (std::memcmp(magic, "MRZW", 4) != 0 || cursor.word() != 1) {
        throw std::runtime_error("embedded network weights are of an unknown format");
    }
    std::vector<Convolution> network(cursor.word());
    for (Convolution &c : network) {
        for (int *field :
             {&c.outputs, &c.inputs, &c.kernel_rows, &c.kernel_columns, &c.stride_y, &c.stride_x, &c.pad_y, &c.pad_x}) {
            *field = int(cursor.word());
        }
        std::vector<uint16_t> halves(size_t(c.outputs) * c.inputs * c.kernel_rows * c.kernel_columns);
        cursor.take(halves.data(), halves.size() * sizeof(uint16_t));
        c.weights.resize(halves.size());
        std::transform(halves.begin(), halves.end(), c.weights.begin(), from_half);
        c.bias.resize(c.outputs);
        cursor.take(c.bias.data(), c.bias.size() * sizeof(float));
        c.grouped = grouped_weights(c);
        c.weights = {};
    }
    return network;
}

Tensor run_reader(Tensor x) {
    static const auto network = load_weights(cvision_mrz_reader_weights, cvision_mrz_reader_weights_size);
    constexpr size_t layers = 10;
    for (size_t i = 0; i + 1 < layers; ++i) {
        const Convolution &c = checked(network, layers, i);
        const bool residual = i == 2 || i == 4 || i >= 7;
        x = convolve(x, c, Activation::relu, residual ? &x : nullptr);
    }
    return convolve(x, checked(network, layers, layers - 1), Activation::none);
}

Tensor run_detector(Tensor x) {
    static const auto network = load_weights(cvision_mrz_detector_weights, cvision_mrz_detector_weights_size);
    const auto layer = [](size_t index) -> const Convolution & { return checked(network, 13, index); };
    const auto plain = [&](const Tensor &t, size_t index) { return convolve(t, layer(index), Activation::relu); };
    const auto residual = [&](const Tensor &t, size_t index) {
        return convolve(t, layer(index), Activation::relu, &t);
    };
    x = plain(x, 0);
    const Tensor quarter = residual(plain(x, 1), 2);
    const Tensor eighth = residual(plain(quarter, 3), 4);
    const Tensor sixteenth = residual(residual(plain(eighth, 5), 6), 7);
    x = doubled(plain(sixteenth, 8));
    add(x, eighth);
    x = residual(x, 9);
    x = doubled(plain(x, 10));
    add(x, quarter);
    x = residual(x, 11);
    return convolve(x, layer(12), Activation::none);
}

}  // namespace cvision::mrz
