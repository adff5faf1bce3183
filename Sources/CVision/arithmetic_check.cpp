// Compares arithmetic that depends on the processor with plain arithmetic: image_average.cpp's and document_warp.cpp's with
// OpenCV's, mrz_convolution.cpp's and face_filter.cpp's with sums in double precision.
#include <algorithm>
#include <cmath>
#include <opencv2/imgproc.hpp>
#include <stdexcept>
#include <vector>

#include "document.hpp"
#include "face_filter.hpp"
#include "image.hpp"
#include "mrz_network.hpp"

namespace {

struct Comparison {
    int64_t compared = 0, different = 0;

    void add(const cv::Mat &ours, const cv::Mat &theirs) {
        if (ours.size() != theirs.size() || ours.type() != theirs.type())
            throw std::runtime_error("two ways to the same picture differ in its shape");
        cv::Mat difference;
        cv::absdiff(ours, theirs, difference);
        this->compared += static_cast<int64_t>(difference.total()) * difference.channels();
        this->different += cv::countNonZero(difference.reshape(1));
    }

    /// A sum of numbers whose magnitudes amount to `mass`.
    void add(double ours, double theirs, double mass) {
        constexpr double precision = 1e-5;  // of the mass: a hundred times what single precision rounds off
        this->compared += 1;
        this->different += std::abs(ours - theirs) <= precision * mass ? 0 : 1;
    }
};

/// One layer as the zone's networks have them, over a picture of random numbers.
void compare_convolution(cv::RNG &random, Comparison &comparison) {
    using namespace cvision::mrz;
    const int shapes[][6] = {{3, 3, 1, 1, 1, 1}, {3, 3, 2, 2, 1, 1}, {3, 3, 2, 1, 1, 1}, {1, 5, 1, 1, 0, 2}, {4, 3, 1, 1, 0, 1}};
    const int *shape = shapes[random.uniform(0, 5)];
    Convolution c{random.uniform(1, 20), random.uniform(1, 20), shape[0], shape[1], shape[2], shape[3], shape[4], shape[5],
                  {}, {}, {}};
    Tensor input(c.inputs, random.uniform(4, 40), random.uniform(1, 70));
    for (float &value : input.values) value = random.uniform(-1.f, 1.f);
    for (int i = 0; i < c.outputs * c.inputs * c.kernelRows * c.kernelColumns; ++i)
        c.weights.push_back(random.uniform(-1.f, 1.f));
    for (int i = 0; i < c.outputs; ++i) c.bias.push_back(random.uniform(-1.f, 1.f));
    c.grouped = groupedWeights(c);
    const Tensor made = convolve(input, c, Activation::relu);
    for (int output = 0; output < made.channels; ++output) {
        for (int y = 0; y < made.rows; ++y) {
            for (int x = 0; x < made.columns; ++x) {
                double sum = c.bias[static_cast<size_t>(output)], mass = 1;
                for (int i = 0; i < c.inputs * c.kernelRows * c.kernelColumns; ++i) {
                    const int channel = i / (c.kernelRows * c.kernelColumns);
                    const int row = y * c.strideY - c.padY + i / c.kernelColumns % c.kernelRows;
                    const int column = x * c.strideX - c.padX + i % c.kernelColumns;
                    if (row < 0 || column < 0 || row >= input.rows || column >= input.columns) continue;
                    const double product = c.weights[static_cast<size_t>(output * c.inputs * c.kernelRows * c.kernelColumns + i)] *
                                           static_cast<double>(input.plane(channel)[row * input.columns + column]);
                    sum += product, mass += std::abs(product);
                }
                comparison.add(made.plane(output)[y * made.columns + x], std::max(sum, 0.0), mass);
            }
        }
    }
}

/// One filter as the face detector has them.
void compare_filter(cv::RNG &random, Comparison &comparison) {
    cvision::FilterPlane plane, scratch, sums;
    const int rows = random.uniform(12, 50), columns = random.uniform(12, 90);
    for (cvision::FilterPlane *each : {&plane, &scratch, &sums}) each->resize(rows, columns);
    std::vector<float> across(static_cast<size_t>(random.uniform(3, 12))), down(static_cast<size_t>(random.uniform(3, 12)));
    for (std::vector<float> *taps : {&across, &down})
        for (float &tap : *taps) tap = random.uniform(-1.f, 1.f);
    for (int y = 0; y < rows; ++y)
        for (int x = 0; x < columns; ++x) plane.row(y)[x] = random.uniform(-1.f, 1.f), sums.row(y)[x] = 1;
    cvision::add_filtered(plane, across, down, scratch, sums);
    for (int y = 0; y + static_cast<int>(down.size()) <= rows; ++y) {
        for (int x = 0; x + static_cast<int>(across.size()) <= columns; ++x) {
            double sum = 1, mass = 1;
            for (size_t i = 0; i < down.size() * across.size(); ++i) {
                const int row = y + static_cast<int>(i / across.size()), column = x + static_cast<int>(i % across.size());
                const double product =
                    static_cast<double>(down[i / across.size()]) * across[i % across.size()] * plane.row(row)[column];
                sum += product, mass += std::abs(product);
            }
            comparison.add(sums.row(y)[x], sum, mass);
        }
    }
}

}  // namespace

cv_status cv_image_check_arithmetic(uint64_t seed, int32_t pictures, int64_t *compared, int64_t *different, cv_error *error) {
    return cvision::guard(error, [&] {
        cv::RNG random(seed);
        Comparison comparison;
        for (int32_t number = 0; number < pictures; ++number) {
            cv::Mat whole(random.uniform(80, 700), random.uniform(80, 700), number % 2 == 0 ? CV_8UC1 : CV_8UC3);
            random.fill(whole, cv::RNG::UNIFORM, 0, 256);
            // A part of it: its rows do not lie one after the other.
            const cv::Mat image = whole(cv::Rect(random.uniform(0, 9), random.uniform(0, 9), whole.cols - random.uniform(9, 20),
                                                 whole.rows - random.uniform(9, 20)));

            const double scale = random.uniform(0.1, 1.0);
            cv::Mat theirs;
            cv::resize(image, theirs, {}, scale, scale, cv::INTER_AREA);
            comparison.add(cvision::averaged(image, scale), theirs);

            const cv::Size size(random.uniform(8, image.cols), random.uniform(8, image.rows));
            cv::resize(image, theirs, size, 0, 0, cv::INTER_AREA);
            comparison.add(cvision::averaged(image, size), theirs);

            // A document held askew, partly outside the picture.
            const double turn = random.uniform(-0.5, 0.5), tilt = 1e-3;
            const cv::Matx33d map(std::cos(turn), -std::sin(turn), random.uniform(-30.0, 30.0), std::sin(turn), std::cos(turn),
                                  random.uniform(-30.0, 30.0), random.uniform(-tilt, tilt), random.uniform(-tilt, tilt), 1);
            const cv::Size sheet(random.uniform(64, 600), random.uniform(16, 600));
            cv::warpPerspective(image, theirs, map, sheet, cv::INTER_LINEAR | cv::WARP_INVERSE_MAP, cv::BORDER_REPLICATE);
            comparison.add(cvision::warped(image, map, sheet), theirs);

            compare_convolution(random, comparison);
            compare_filter(random, comparison);
        }
        *compared = comparison.compared;
        *different = comparison.different;
        return CV_OK;
    });
}
