#include <algorithm>
#include <opencv2/core/utils/logger.hpp>
#include <opencv2/dnn.hpp>
#include <opencv2/imgproc.hpp>

#include "face_models.hpp"
#include "image.hpp"
#include "late_library.hpp"

namespace {

/// The layout of cv::dnn::Net, a class that cannot be used by name unless its library is linked.
struct Net {
    cv::Ptr<void> impl;
};
static_assert(sizeof(Net) == sizeof(cv::dnn::Net) && alignof(Net) == alignof(cv::dnn::Net));

static_assert(CV_VERSION_MAJOR == 4 && CV_VERSION_MINOR == 6, "the library below is named after its version");

/// The part of OpenCV's network module that is used, for an operator's own networks alone.
struct Library {
    const cvision::LateLibrary library{"libopencv_dnn.so.406"};
#define MEMBER(name) "_ZN2cv3dnn14dnn4_v20220524" name
    Net (*const read)(const char *,
                      size_t) = library.function<Net (*)(const char *, size_t)>(MEMBER("15readNetFromONNXEPKcm"));
    void (*const setBackend)(Net *,
                             int) = library.function<void (*)(Net *, int)>(MEMBER("3Net20setPreferableBackendEi"));
    void (*const setTarget)(Net *, int) = library.function<void (*)(Net *, int)>(MEMBER("3Net19setPreferableTargetEi"));
    using SetInput = void (*)(Net *, const cv::_InputArray &, const std::string &, double, const cv::Scalar &);
    const SetInput setInput = library.function<SetInput>(MEMBER(
        "3Net8setInputERKNS_11_InputArrayERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEEdRKNS_7Scalar_IdEE"));
    cv::Mat (*const forward)(Net *, const std::string &) = library.function<cv::Mat (*)(Net *, const std::string &)>(
        MEMBER("3Net7forwardERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE"));
#undef MEMBER
};

/// Loads the library at the first call. Throws if that fails.
const Library &library() {
    static const Library functions;
    return functions;
}

/// An image's channels one after the other, as networks expect them.
cv::Mat planes_of(const cv::Mat &values) {
    const int shape[] = {1, values.channels(), values.rows, values.cols};
    cv::Mat blob(4, shape, CV_32F);
    std::vector<cv::Mat> channels;
    for (int i = 0; i < values.channels(); ++i) channels.emplace_back(values.size(), CV_32F, blob.ptr<float>(0, i));
    cv::split(values, channels);
    return blob;
}

}  // namespace

struct cv_network {
    Net net;
    cv_network_input input;
    size_t outputs = 0;

    /// The last output's numbers for an image (8-bit, blue first) of the input's size.
    cv::Mat run(const cv::Mat &input_image) {
        cv::Mat values;
        if (this->input.rgb) cv::cvtColor(input_image, values, cv::COLOR_BGR2RGB);
        else values = input_image;
        values.convertTo(values, CV_32FC3);
        const float *mean = this->input.mean, *scale = this->input.scale;
        cv::subtract(values, cv::Scalar(mean[0], mean[1], mean[2]), values);
        cv::multiply(values, cv::Scalar(scale[0], scale[1], scale[2]), values);
        library().setInput(&this->net, planes_of(values), "", 1, cv::Scalar());
        return library().forward(&this->net, "");
    }

    void run(const cv::Mat &input_image, float *output) {
        const cv::Mat result = this->run(input_image);
        if (result.total() != this->outputs || result.type() != CV_32F || !result.isContinuous()) {
            throw std::runtime_error("the network's output changed its shape");
        }
        std::copy_n(result.ptr<float>(), this->outputs, output);
    }
};

cv_status cv_network_create(const char *path, const char *name, const char *sha256, const cv_network_input *input,
                            cv_network **network, cv_error *error) {
    return cvision::guard(error, [&] {
        cv::setNumThreads(0);
        // Errors are reported once, by this program; OpenCV would print its own as well.
        cv::utils::logging::setLogLevel(cv::utils::logging::LOG_LEVEL_SILENT);
        try {
            const std::vector<char> bytes = cvision::read_model(path, name, sha256);
            auto loaded = std::make_unique<cv_network>();
            loaded->input = *input;
            loaded->net = library().read(bytes.data(), bytes.size());
            library().setBackend(&loaded->net, cv::dnn::DNN_BACKEND_OPENCV);
            library().setTarget(&loaded->net, cv::dnn::DNN_TARGET_CPU);
            const cv::Mat blank(static_cast<int>(input->height), static_cast<int>(input->width), CV_8UC3,
                                cv::Scalar(128, 128, 128));
            loaded->outputs = loaded->run(blank).total();
            *network = loaded.release();
            return CV_OK;
        } catch (const cvision::ModelUnavailable &reason) {
            return cvision::fail(error, CV_MODEL_UNAVAILABLE, reason.message.c_str());
        } catch (const cv::Exception &failure) {
            // OpenCV's message names its own source files and lines, which help nobody.
            if (failure.code == cv::Error::StsNoMem) throw;
            return cvision::fail(error, CV_MODEL_UNAVAILABLE,
                                 (std::string(name) + " is not a network that can be run on its input").c_str());
        }
    });
}

void cv_network_free(cv_network *network) { delete network; }

size_t cv_network_output_length(const cv_network *network) { return network->outputs; }

cv_status cv_network_run_region(cv_network *network, const cv_image *image, double x, double y, double width,
                                double height, float *output, cv_error *error) {
    return cvision::guard(error, [&] {
        if (!(width > 0 && height > 0 && width < 1e5 && height < 1e5)) {
            throw std::runtime_error("the region has no area");
        }
        const cv::Size size(static_cast<int>(network->input.width), static_cast<int>(network->input.height));
        const double across = size.width / width, down = size.height / height;
        // Averaged first for large reductions, as sampling single pixels would alias.
        cv::Mat source = image->bgr;
        double reduction = 1;
        if (across < 0.5 && down < 0.5) {
            reduction = std::max(across, down) * 2;
            cv::resize(source, source, {}, reduction, reduction, cv::INTER_AREA);
        }
        const cv::Matx23d map(across / reduction, 0, -x * across, 0, down / reduction, -y * down);
        cv::Mat input_image;
        cv::warpAffine(source, input_image, map, size, cv::INTER_LINEAR, cv::BORDER_REPLICATE);
        network->run(input_image, output);
        return CV_OK;
    });
}

cv_status cv_network_run_aligned(cv_network *network, const cv_image *image, cv_point left, cv_point right,
                                 cv_point wanted_left, cv_point wanted_right, bool mirrored, float *output,
                                 cv_error *error) {
    return cvision::guard(error, [&] {
        // Two pairs of points determine the similarity transform: as complex numbers, there = a · here + b.
        const cv::Point2d here(right.x - left.x, right.y - left.y);
        const cv::Point2d there(wanted_right.x - wanted_left.x, wanted_right.y - wanted_left.y);
        const double square = here.dot(here);
        if (!(square > 0 && square < 1e10)) throw std::runtime_error("both eyes are at one point");
        double real = (there.x * here.x + there.y * here.y) / square;
        double imaginary = (there.y * here.x - there.x * here.y) / square;
        cv::Mat source = image->bgr;
        const double scale = std::hypot(real, imaginary);
        double reduction = 1;
        if (scale < 0.5) {
            reduction = scale * 2;
            cv::resize(source, source, {}, reduction, reduction, cv::INTER_AREA);
            real /= reduction;
            imaginary /= reduction;
        }
        const cv::Point2d from(left.x * reduction, left.y * reduction);
        const cv::Matx23d map(real, -imaginary, wanted_left.x - real * from.x + imaginary * from.y, imaginary, real,
                              wanted_left.y - imaginary * from.x - real * from.y);
        const cv::Size size(static_cast<int>(network->input.width), static_cast<int>(network->input.height));
        cv::Mat input_image;
        cv::warpAffine(source, input_image, map, size, cv::INTER_LINEAR, cv::BORDER_CONSTANT);
        if (mirrored) cv::flip(input_image, input_image, 1);
        network->run(input_image, output);
        return CV_OK;
    });
}
