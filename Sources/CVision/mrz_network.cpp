#include "mrz_network.hpp"

#include <cstdint>
#include <cstring>
#include <opencv2/imgproc.hpp>
#include <stdexcept>

extern "C" {
extern const unsigned char cvision_mrz_reader_weights[];
extern const size_t cvision_mrz_reader_weights_size;
extern const unsigned char cvision_mrz_detector_weights[];
extern const size_t cvision_mrz_detector_weights_size;
}

namespace cvision::mrz {
namespace {

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

/// A plane as OpenCV sees it; it must not write to that of a constant tensor.
cv::Mat plane_of(const Tensor &tensor, int channel) {
    return cv::Mat(tensor.rows, tensor.columns, CV_32F, const_cast<float *>(tensor.plane(channel)));
}

/// `input` at twice its size, plus `other`.
Tensor doubled_plus(const Tensor &input, const Tensor &other) {
    Tensor out(input.channels, input.rows * 2, input.columns * 2);
    for (int channel = 0; channel < input.channels; ++channel) {
        cv::Mat plane = plane_of(out, channel);
        cv::resize(plane_of(input, channel), plane, plane.size(), 0, 0, cv::INTER_NEAREST);
        cv::add(plane, plane_of(other, channel), plane);
    }
    return out;
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
        cv::Mat halves(1, c.outputs * c.inputs * c.kernel_rows * c.kernel_columns, CV_16F);
        cursor.take(halves.data, halves.total() * halves.elemSize());
        c.weights.resize(halves.total());
        halves.convertTo(cv::Mat(1, halves.cols, CV_32F, c.weights.data()), CV_32F);
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
    x = residual(doubled_plus(plain(sixteenth, 8), eighth), 9);
    x = residual(doubled_plus(plain(x, 10), quarter), 11);
    return convolve(x, layer(12), Activation::none);
}

}  // namespace cvision::mrz
