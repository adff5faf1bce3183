#include "mrz_network.hpp"

#include <cstdint>
#include <cstring>
#include <opencv2/core.hpp>
#include <stdexcept>

#include "mrz_bytes.hpp"

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

// The largest numbers that each layer tells apart: on the development images, one answer in a hundred thousand is larger.
const std::vector<float> reader_tops{12.5f, 11.3f, 13.1f, 7.4f, 9, 5.8f, 5.6f, 9, 13.6f};
const std::vector<float> detector_tops{17.8f, 10.3f, 10.8f, 10.8f, 17.6f, 12.7f,
                                       23.6f, 30.7f, 11.1f, 21.1f, 10.2f, 14.7f};
constexpr float quarter_top = 12.9f, eighth_top = 19;

/// A network with whole numbers; `tops` has a number for each layer but the last.
std::vector<WholeConvolution> whole(const std::vector<Convolution> &network, const std::vector<float> &tops) {
    if (network.size() != tops.size() + 1) {
        throw std::runtime_error("embedded network has an unexpected number of layers");
    }
    std::vector<WholeConvolution> layers;
    for (size_t i = 0; i < tops.size(); ++i) {
        layers.emplace_back(network[i], tops[i]);
    }
    layers.emplace_back(network.back());
    return layers;
}

const std::vector<WholeConvolution> &reader() {
    static const auto network =
        whole(load_weights(cvision_mrz_reader_weights, cvision_mrz_reader_weights_size), reader_tops);
    return network;
}

const std::vector<WholeConvolution> &detector() {
    static const auto network =
        whole(load_weights(cvision_mrz_detector_weights, cvision_mrz_detector_weights_size), detector_tops);
    return network;
}

}  // namespace

void prepare() {
    reader();
    detector();
}

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
    }
    return network;
}

Tensor run_reader(const Tensor &strip) {
    const auto &network = reader();
    Bytes x = convolve_first(strip, network.front());
    for (size_t i = 1; i + 1 < network.size(); ++i) {
        const bool residual = i == 2 || i == 4 || i >= 7;
        x = convolve(x, network[i], residual ? &x : nullptr);
    }
    return convolve_last(x, network.back());
}

Tensor run_detector(const Tensor &image) {
    const auto &network = detector();
    const auto plain = [&](const Bytes &t, size_t index) { return convolve(t, network[index]); };
    const auto residual = [&](const Bytes &t, size_t index) { return convolve(t, network[index], &t); };
    const Bytes quarter = residual(plain(convolve_first(image, network[0]), 1), 2);
    const Bytes eighth = residual(plain(quarter, 3), 4);
    const Bytes sixteenth = residual(residual(plain(eighth, 5), 6), 7);
    Bytes x = residual(doubled_plus(plain(sixteenth, 8), eighth, eighth_top), 9);
    x = residual(doubled_plus(plain(x, 10), quarter, quarter_top), 11);
    return convolve_last(x, network[12]);
}

}  // namespace cvision::mrz
