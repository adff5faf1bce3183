// Compares map_convolution.cpp's sums, whose code depends on the processor, with sums in double precision; mrz_bytes.cpp's with
// plain sums, and its answers with its own plain code's; mrz_grid.cpp's grids with those of its plain code; image_average.cpp's
// averages, image_warp.cpp's projections and face_quality.cpp's colours with OpenCV's. All but sums in floats and colours are equal.
#include <algorithm>
#include <cmath>
#include <memory>
#include <opencv2/imgproc.hpp>
#include <vector>

#include "cpu.hpp"
#include "face_parts.hpp"
#include "image.hpp"
#include "maps.hpp"
#include "mrz_bytes.hpp"
#include "mrz_grid.hpp"

namespace {

/// Whether a sum differs from the plain one; `mass` is the sum of the magnitudes of its terms.
bool differs(double ours, double theirs, double mass) {
    constexpr double precision = 1e-5;  // of the mass: a hundred times the rounding error of single precision
    return !(std::abs(ours - theirs) <= precision * mass);
}

/// Counts a run, and whether code for wide registers took part.
template <typename Run>
void count_run(cv_arithmetic_check &check, Run run) {
    const int64_t before = cvision::wide_runs();
    run();
    check.runs += 1;
    check.wide_runs += cvision::wide_runs() != before;
}

/// One layer like those of the MRZ networks over whole numbers, whose sums are exact.
void check_whole_convolution(cv::RNG &random, cv_arithmetic_check &check) {
    using namespace cvision::mrz;
    const int shapes[][6] = {
        {3, 3, 1, 1, 1, 1}, {3, 3, 2, 2, 1, 1}, {3, 3, 2, 1, 1, 1}, {1, 5, 1, 1, 0, 2}, {4, 3, 1, 1, 0, 1}};
    const int *shape = shapes[random.uniform(0, 5)];
    Convolution c{random.uniform(1, 140),
                  random.uniform(2, 40),
                  shape[0],
                  shape[1],
                  shape[2],
                  shape[3],
                  shape[4],
                  shape[5],
                  {},
                  {}};
    const int taps = c.kernel_rows * c.kernel_columns;
    Bytes input(c.inputs, random.uniform(4, 20), random.uniform(1, 40), 1);
    for (int y = 0; y < input.rows; ++y) {
        // Both extremes, at which narrow sums would overflow, are frequent.
        for (int i = 0; i < input.columns * input.channels; ++i)
            input.at(y, 0)[i] = static_cast<uint8_t>(std::clamp(random.uniform(-30, 158), 0, 127));
    }
    std::vector<int> weights;
    // Whether products are added in twos depends on how large the weights are.
    const int largest = random.uniform(20, 181);
    for (int i = 0; i < c.outputs * c.inputs * taps; ++i) {
        const bool first = i % (c.inputs * taps) == 0;
        weights.push_back(first ? 127 : std::clamp(random.uniform(-largest, largest + 1), -127, 127));
        c.weights.push_back(static_cast<float>(weights.back()));
    }
    for (int i = 0; i < c.outputs; ++i) c.bias.push_back(static_cast<float>(random.uniform(-99, 99)));
    const WholeConvolution whole(c);
    Tensor made;
    count_run(check, [&] { made = convolve_last(input, whole); });
    for (int output = 0; output < made.channels; ++output) {
        for (int y = 0; y < made.rows; ++y) {
            for (int x = 0; x < made.columns; ++x) {
                int sum = static_cast<int>(c.bias[static_cast<size_t>(output)]);
                for (int tap = 0; tap < taps; ++tap) {
                    const int row = y * c.stride_y - c.pad_y + tap / c.kernel_columns;
                    const int column = x * c.stride_x - c.pad_x + tap % c.kernel_columns;
                    if (row < 0 || column < 0 || row >= input.rows || column >= input.columns) continue;
                    const int *weight = weights.data() + output * c.inputs * taps + tap;
                    const auto *values = input.at(row, column);
                    for (int channel = 0; channel < c.inputs; ++channel)
                        sum += weight[channel * taps] * values[channel];
                }
                check.compared += 1;
                check.different += made.plane(output)[y * made.columns + x] != static_cast<float>(sum);
            }
        }
    }
}

/// The layers of a small network over a random image, in the code that is checked and in plain code.
void check_layers(cv::RNG &random, cv_arithmetic_check &check) {
    using namespace cvision::mrz;
    const auto layer = [&](int outputs, int inputs, int stride) {
        Convolution c{outputs, inputs, 3, 3, stride, stride, 1, 1, {}, {}};
        for (int i = 0; i < outputs * inputs * 9; ++i) c.weights.push_back(random.uniform(-1.f, 1.f));
        for (int i = 0; i < outputs; ++i) c.bias.push_back(random.uniform(-1.f, 1.f));
        return WholeConvolution(c, random.uniform(2.f, 20.f));
    };
    const int channels = random.uniform(2, 70);
    const WholeConvolution first = layer(channels, 1, 1), half = layer(channels, channels, 2),
                           same = layer(channels, channels, 1);
    Tensor image(1, 2 * random.uniform(2, 10), 2 * random.uniform(1, 20));
    for (float &value : image.values) value = random.uniform(-3.f, 3.f);
    const auto answer = [&] {
        const Bytes whole = convolve_first(image, first);
        return convolve(doubled_plus(convolve(whole, half), whole, 9), same, &whole);
    };
    const auto made = [&] {
        std::unique_ptr<Bytes> bytes;
        count_run(check, [&] { bytes = std::make_unique<Bytes>(answer()); });
        return std::move(bytes->values);
    }();
    const cvision::RegisterLimit plain(cvision::Registers::by_4);
    const auto plainly = answer().values;
    check.compared += static_cast<int64_t>(plainly.size());
    for (size_t i = 0; i < plainly.size(); ++i) check.different += made[i] != plainly[i];
}

/// One layer over random numbers: in tiles, in rows, and plainly, with channels and kernels as a network has or might have.
void check_convolution(cv::RNG &random, cv_arithmetic_check &check) {
    using namespace cvision;
    const auto some = [&](int most) { return random.uniform(1, most + 1); };
    const int kind = random.uniform(0, 4);
    Convolution layer{kind == 3 ? some(40) : 16 * some(3), kind == 2 ? 144 : 16 * some(3), {3, 3}, {1, 1}, {1, 1}};
    if (kind == 1) {
        layer.kernel = {some(4), random.uniform(0, 2) == 0 ? 3 : 5};
        layer.stride.y = some(2);
        layer.pad = {random.uniform(0, 2), layer.kernel.x / 2};
    } else if (kind == 3) {
        layer.kernel = {some(6), some(6)};
        layer.stride = {some(3), some(3)};
        layer.pad = {random.uniform(0, 2), random.uniform(0, 2)};
    }
    // Now and then so wide that not all tiles, nor all windows of a row, are computed at a time.
    const int wide = kind < 2 && some(8) == 1 ? 80 : 16;
    if (wide > 16) layer.inputs = 128;
    layer.is_rectified = random.uniform(0, 2) == 0;
    const int taps = layer.kernel.y * layer.kernel.x;
    std::vector<float> filters, scratch;
    for (int i = 0; i < layer.outputs * layer.inputs * taps; ++i) filters.push_back(random.uniform(-1.f, 1.f));
    for (int i = 0; i < layer.outputs; ++i) layer.biases.push_back(random.uniform(-1.f, 1.f));
    layer.weights = arranged(layer, filters);
    Maps input(some(3), layer.kernel.y + random.uniform(0, 8), layer.kernel.x + random.uniform(wide / 2, wide),
               layer.inputs);
    for (float &value : input.values) value = random.uniform(-1.f, 1.f);
    const int rows = layer.rows(input.rows), columns = layer.columns(input.columns);
    Maps former(input.samples, rows + random.uniform(0, 2), columns + random.uniform(0, 2), layer.outputs);
    const bool adds = random.uniform(0, 2) == 0;
    if (adds)
        for (float &value : former.values) value = random.uniform(-1.f, 1.f);
    Maps made = former;
    count_run(check, [&] {
        if (adds) add_convolved(input, layer, made, scratch);
        else made = convolved(input, layer, scratch);
    });
    for (int place = 0; place < input.samples * rows * columns * layer.outputs; ++place) {
        const int output = place % layer.outputs, x = place / layer.outputs % columns;
        const int y = place / layer.outputs / columns % rows, sample = place / layer.outputs / columns / rows;
        double sum = layer.biases[size_t(output)] + former.at(sample, y, x)[output], mass = 1;
        for (int tap = 0; tap < taps; ++tap) {
            const int row = y * layer.stride.y - layer.pad.y + tap / layer.kernel.x;
            const int column = x * layer.stride.x - layer.pad.x + tap % layer.kernel.x;
            if (row < 0 || column < 0 || row >= input.rows || column >= input.columns) continue;
            const float *values = input.at(sample, row, column);
            for (int channel = 0; channel < layer.inputs; ++channel) {
                const double product = filters[size_t((output * layer.inputs + channel) * taps + tap)] *
                                       static_cast<double>(values[channel]);
                sum += product, mass += std::abs(product);
            }
        }
        check.compared += 1;
        const double wanted = layer.is_rectified ? std::max(sum, 0.0) : sum;
        check.different += differs(made.at(sample, y, x)[output], wanted, mass);
    }
}

/// A grid over random columns.
void check_grid(cv::RNG &random, cv_arithmetic_check &check) {
    using namespace cvision::mrz;
    Columns columns;
    columns.count = random.uniform(40, 200);
    for (int i = 0; i < columns.count * (classes + 1); ++i) columns.logits.push_back(random.uniform(-9.f, -0.01f));
    const int cells = random.uniform(2, 45);
    const double pitch = random.uniform(12., 20.);
    Grid made, plain;
    count_run(check, [&] { made = fit_grid(columns, cells, pitch); });
    {
        const cvision::RegisterLimit narrow(cvision::Registers::by_4);
        plain = fit_grid(columns, cells, pitch);
    }
    check.compared += 1;
    check.different += made.centres != plain.centres || made.score != plain.score;
}

/// Counts the bytes in which two images differ.
void compare(const cv::Mat &ours, const cv::Mat &theirs, cv_arithmetic_check &check) {
    const size_t values = theirs.total() * theirs.elemSize();
    check.compared += static_cast<int64_t>(values);
    if (ours.size() != theirs.size() || ours.type() != theirs.type()) {
        check.different += static_cast<int64_t>(values);
        return;
    }
    for (size_t i = 0; i < values; ++i) check.different += ours.data[i] != theirs.data[i];
}

/// One reduction by a factor that is no whole number, of random pixels.
void check_average(cv::RNG &random, cv_arithmetic_check &check) {
    const cv::Size size(random.uniform(20, 400), random.uniform(20, 60));
    cv::Mat image(size, random.uniform(0, 2) == 0 ? CV_8UC1 : CV_8UC3), theirs;
    random.fill(image, cv::RNG::UNIFORM, 0, 256);
    const double scale = random.uniform(0.26, 0.49);
    cv::Mat ours;
    count_run(check, [&] { ours = cvision::averaged(image, scale); });
    cv::resize(image, theirs, {}, scale, scale, cv::INTER_AREA);
    compare(ours, theirs, check);
}

/// A projection of random pixels, part of which lies beyond the image.
void check_warp(cv::RNG &random, cv_arithmetic_check &check) {
    const cv::Size size(random.uniform(2, 90), random.uniform(2, 90));
    cv::Mat image(size, random.uniform(0, 2) == 0 ? CV_8UC1 : CV_8UC3), theirs;
    random.fill(image, cv::RNG::UNIFORM, 0, 256);
    const auto around = [&](double value, double range) { return value + random.uniform(-range, range); };
    cv::Matx33d map(around(1, 0.5), around(0, 0.5), around(0, 20), around(0, 0.5), around(1, 0.5), around(0, 20),
                    around(0, 0.02), around(0, 0.02), 1);
    // Fractions often lie halfway between two places, where the order of the sums decides.
    if (random.uniform(0, 2) == 0) {
        map = {random.uniform(3, 30) / 16.0,
               0,
               random.uniform(-40, 40) / 8.0,
               0,
               random.uniform(3, 30) / 16.0,
               random.uniform(-40, 40) / 8.0,
               0,
               0,
               random.uniform(1, 7) / 3.0};
    }
    const cv::Size wanted(random.uniform(1, 200), random.uniform(1, 40));
    cv::Mat ours;
    count_run(check, [&] { ours = cvision::warped(image, map, wanted); });
    cv::warpPerspective(image, theirs, map, wanted, cv::INTER_LINEAR | cv::WARP_INVERSE_MAP, cv::BORDER_REPLICATE);
    compare(ours, theirs, check);
}

/// CIELAB of random pixels, in light or in the dark, where sRGB and CIE's f are linear.
void check_colours(cv::RNG &random, cv_arithmetic_check &check) {
    // OpenCV interpolates between 33 values of each colour, which costs it up to half a unit; two units are hardly visible.
    constexpr double precision = 1;
    cv::Mat pixels(16, 16, CV_8UC3), light, theirs;
    random.fill(pixels, cv::RNG::UNIFORM, 0, random.uniform(0, 2) == 0 ? 16 : 256);
    pixels.convertTo(light, CV_32F, 1 / 255.0);
    cv::cvtColor(light, theirs, cv::COLOR_RGB2Lab);
    const cv::Mat ours = cvision::lab_of(pixels);
    for (int y = 0; y < pixels.rows; ++y) {
        for (int x = 0; x < pixels.cols; ++x) {
            const cv::Vec3f difference = ours.at<cv::Vec3f>(y, x) - theirs.at<cv::Vec3f>(y, x);
            check.compared += 3;
            for (int i = 0; i < 3; ++i) check.different += !(std::abs(difference[i]) <= precision);
        }
    }
}

int32_t lanes_of(cvision::Registers registers) {
    switch (registers) {
    case cvision::Registers::by_16: return 16;
    case cvision::Registers::by_8: return 8;
    case cvision::Registers::by_4: break;
    }
    return 4;
}

}  // namespace

cv_status cv_arithmetic_verify(uint64_t seed, int32_t rounds, int32_t most_lanes, cv_arithmetic_check *check,
                               cv_error *error) {
    using cvision::Registers;
    return cvision::guard(error, [&] {
        cv::RNG random(seed);
        *check = {0, 0, 0, 0, lanes_of(cvision::widest_registers())};
        const cvision::RegisterLimit limit(most_lanes >= 16  ? Registers::by_16
                                           : most_lanes >= 8 ? Registers::by_8
                                                             : Registers::by_4);
        for (int32_t round = 0; round < rounds; ++round) {
            check_convolution(random, *check);
            check_whole_convolution(random, *check);
            check_layers(random, *check);
            check_grid(random, *check);
            check_average(random, *check);
            check_warp(random, *check);
            check_colours(random, *check);
        }
        return CV_OK;
    });
}
