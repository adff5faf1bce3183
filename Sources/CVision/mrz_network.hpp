// The two small networks of the MRZ reader, with the weights inside the program.
#pragma once
#include <cstddef>
#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace cvision::mrz {

/// Does not initialise numbers when a vector grows: each number of a tensor is written before it is read.
template <typename Number>
struct Unset : std::allocator<Number> {
    template <typename Other>
    struct rebind {
        using other = Unset<Other>;
    };
    template <typename Other>
    void construct(Other *at) noexcept {
        ::new (static_cast<void *>(at)) Other;
    }
    template <typename Other, typename... Arguments>
    void construct(Other *at, Arguments &&...arguments) {
        ::new (static_cast<void *>(at)) Other(std::forward<Arguments>(arguments)...);
    }
};

/// Channels of rows of columns.
struct Tensor {
    int channels = 0, rows = 0, columns = 0;
    std::vector<float, Unset<float>> values;

    Tensor() = default;
    Tensor(int channels, int rows, int columns)
        : channels(channels), rows(rows), columns(columns), values(size_t(channels) * rows * columns) {}
    float *plane(int channel) { return values.data() + size_t(channel) * rows * columns; }
    const float *plane(int channel) const { return values.data() + size_t(channel) * rows * columns; }
};

struct Convolution {
    int outputs, inputs, kernel_rows, kernel_columns, stride_y, stride_x, pad_y, pad_x;
    std::vector<float> weights, bias;
};

/// The convolutions of an embedded weight file, in the order in which the network's class lists them.
std::vector<Convolution> load_weights(const unsigned char *bytes, size_t size);

/// Makes whole numbers of both networks' weights, which otherwise happens on first use.
void prepare();

/// One line reader pass over a strip of 32 rows: 41 × 1 × (columns / 4) (reader_net.py: 38 logits, 3 of geometry).
Tensor run_reader(const Tensor &strip);

/// One detector pass; rows and columns are multiples of 16: 4 × (rows / 4) × (columns / 4) (detector_net.py).
Tensor run_detector(const Tensor &image);

}  // namespace cvision::mrz
