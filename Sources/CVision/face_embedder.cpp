// The descriptor network. The one file that instantiates dlib's network templates: it takes half a minute to compile.
// SwiftPM defines DEBUG in debug builds; Debian compiles libdlib without dlib's assertions and both must agree.
#define DLIB_DISABLE_ASSERTS
#include <dlib/dnn.h>
#include <dlib/image_transforms.h>

#include <sstream>

#include "face_parts.hpp"

namespace cvision {

namespace {

// The network's layout must repeat that of the published model file (dlib, examples/dnn_face_recognition_ex.cpp): a
// residual network of 29 convolutions with batch normalisation frozen into affine layers.
template <template <int, template <typename> class, int, typename> class Block, int N, template <typename> class BN,
          typename Subnet>
using Residual = dlib::add_prev1<Block<N, BN, 1, dlib::tag1<Subnet>>>;

template <template <int, template <typename> class, int, typename> class Block, int N, template <typename> class BN,
          typename Subnet>
using ResidualDown = dlib::add_prev2<
    dlib::avg_pool<2, 2, 2, 2, dlib::skip1<dlib::tag2<Block<N, BN, 2, dlib::tag1<Subnet>>>>>>;

template <int N, template <typename> class BN, int Stride, typename Subnet>
using Pair = BN<dlib::con<N, 3, 3, 1, 1, dlib::relu<BN<dlib::con<N, 3, 3, Stride, Stride, Subnet>>>>>;

template <int N, typename Subnet>
using Keep = dlib::relu<Residual<Pair, N, dlib::affine, Subnet>>;
template <int N, typename Subnet>
using Halve = dlib::relu<ResidualDown<Pair, N, dlib::affine, Subnet>>;

template <typename Subnet>
using Stage0 = Halve<256, Subnet>;
template <typename Subnet>
using Stage1 = Keep<256, Keep<256, Halve<256, Subnet>>>;
template <typename Subnet>
using Stage2 = Keep<128, Keep<128, Halve<128, Subnet>>>;
template <typename Subnet>
using Stage3 = Keep<64, Keep<64, Keep<64, Halve<64, Subnet>>>>;
template <typename Subnet>
using Stage4 = Keep<32, Keep<32, Keep<32, Subnet>>>;

using Network = dlib::loss_metric<dlib::fc_no_bias<
    CV_FACE_FEATURE_LENGTH,
    dlib::avg_pool_everything<Stage0<Stage1<Stage2<Stage3<Stage4<dlib::max_pool<
        3, 3, 2, 2,
        dlib::relu<dlib::affine<dlib::con<32, 7, 7, 2, 2, dlib::input_rgb_image_sized<chip_side>>>>>>>>>>>>>;

using Chip = dlib::matrix<dlib::rgb_pixel>;

Chip copied(const cv::Mat &rgb) {
    Chip chip(rgb.rows, rgb.cols);
    for (int y = 0; y < rgb.rows; ++y) {
        const cv::Vec3b *row = rgb.ptr<cv::Vec3b>(y);
        for (int x = 0; x < rgb.cols; ++x) chip(y, x) = dlib::rgb_pixel(row[x][0], row[x][1], row[x][2]);
    }
    return chip;
}

}  // namespace

struct FaceEmbedder::Parts {
    Network network;
};

FaceEmbedder::FaceEmbedder(const std::vector<char> &model) : parts(std::make_unique<Parts>()) {
    std::istringstream stream(std::string(model.data(), model.size()));
    dlib::deserialize(this->parts->network, stream);
    // The first pass takes what every pass needs: the network's tensors and OpenBLAS's work area of 128 MB, which OpenBLAS
    // seeks for ever where a memory limit refuses it. Taken here, it is there before the limit and shared by forks.
    this->embed({cv::Mat::zeros(chip_side, chip_side, CV_8UC3)});
}

FaceEmbedder::~FaceEmbedder() = default;

std::vector<Feature> FaceEmbedder::embed(const std::vector<cv::Mat> &chips) {
    std::vector<Chip> batch;
    batch.reserve(2 * chips.size());
    for (const cv::Mat &pixels : chips) {
        batch.push_back(copied(pixels));
        batch.push_back(dlib::fliplr(batch.back()));
    }
    const std::vector<dlib::matrix<float, 0, 1>> outputs = this->parts->network(batch, batch.size());
    std::vector<Feature> features(chips.size());
    for (size_t i = 0; i < chips.size(); ++i) {
        for (int k = 0; k < CV_FACE_FEATURE_LENGTH; ++k) {
            features[i][k] = (outputs[2 * i](k) + outputs[2 * i + 1](k)) / 2;
        }
    }
    return features;
}

}  // namespace cvision
