// The descriptor's weights. The one file that instantiates dlib's network templates: it takes half a minute to compile.
// SwiftPM defines DEBUG in debug builds; Debian compiles libdlib without dlib's assertions and both must agree.
#define DLIB_DISABLE_ASSERTS
#include <dlib/dnn.h>
#include <dlib/image_transforms.h>

#include "face_models.hpp"
#include "face_network.hpp"
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
using ResidualDown =
    dlib::add_prev2<dlib::avg_pool<2, 2, 2, 2, dlib::skip1<dlib::tag2<Block<N, BN, 2, dlib::tag1<Subnet>>>>>>;

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
    CV_FACE_EMBEDDING_LENGTH,
    dlib::avg_pool_everything<Stage0<Stage1<Stage2<Stage3<Stage4<dlib::max_pool<
        3, 3, 2, 2,
        dlib::relu<dlib::affine<dlib::con<32, 7, 7, 2, 2, dlib::input_rgb_image_sized<chip_side>>>>>>>>>>>>>;

/// Collects the layers with weights, from the network's end to its start.
struct WeightCollector {
    std::vector<Convolution> *convolutions;
    std::vector<float> *matrix;

    template <typename Layer>
    void operator()(size_t, Layer &) const {}

    template <unsigned long N, typename Subnet>
    void operator()(size_t, dlib::add_layer<dlib::fc_<N, dlib::FC_NO_BIAS>, Subnet> &layer) const {
        const dlib::tensor &weights = layer.layer_details().get_layer_params();
        this->matrix->assign(weights.begin(), weights.end());
    }

    /// A convolution and its normalisation: a factor and a summand for each channel, folded into filters and biases.
    template <long N, long Rows, long Columns, int Down, int Right, int PadY, int PadX, typename Subnet>
    void operator()(
        size_t,
        dlib::add_layer<dlib::affine_, dlib::add_layer<dlib::con_<N, Rows, Columns, Down, Right, PadY, PadX>, Subnet>>
            &layer) const {
        const dlib::tensor &weights = layer.subnet().layer_details().get_layer_params();
        auto gamma = layer.layer_details().get_gamma(), beta = layer.layer_details().get_beta();
        const float *filters = weights.host(), *factors = static_cast<dlib::tensor &>(gamma).host(),
                    *summands = static_cast<dlib::tensor &>(beta).host();
        const size_t length = (weights.size() - N) / N;
        static_assert(N % outputs_multiple == 0);
        Convolution result{
            static_cast<int>(length / (Rows * Columns)), N, {Rows, Columns}, {Down, Right}, {PadY, PadX}};
        if (result.inputs < 1) throw dlib::serialization_error("not the descriptor's layers");
        std::vector<float> folded(filters, filters + N * length);
        for (size_t channel = 0; channel < N; ++channel) {
            for (size_t i = 0; i < length; ++i) folded[channel * length + i] *= factors[channel];
            result.biases.push_back(factors[channel] * filters[N * length + channel] + summands[channel]);
        }
        result.weights = arranged(result, folded);
        this->convolutions->push_back(std::move(result));
    }
};

/// The weights of the model file in `bytes`.
ResidualNetwork weights(const std::vector<char> &bytes) {
    ByteStream stream(bytes);
    auto published = std::make_unique<Network>();
    dlib::deserialize(*published, stream);
    std::vector<Convolution> layers;
    ResidualNetwork network;
    dlib::visit_layers(*published, WeightCollector{&layers, &network.matrix});
    network.outputs = CV_FACE_EMBEDDING_LENGTH;
    if (layers.size() % 2 != 1 || network.matrix.size() % CV_FACE_EMBEDDING_LENGTH != 0) {
        throw dlib::serialization_error("not the descriptor's layers");
    }
    network.entry = std::move(layers.back());
    for (size_t i = layers.size() - 1; i > 0; i -= 2) {
        network.blocks.push_back({std::move(layers[i - 1]), std::move(layers[i - 2])});
    }
    return network;
}

/// The value of each channel that becomes 0, and the range that becomes 1 (dlib, input_rgb_image).
constexpr float channel_means[] = {122.782f, 117.001f, 104.298f};
constexpr float channel_range = 256;

}  // namespace

struct FaceEmbedder::Parts {
    ResidualNetwork network;
};

FaceEmbedder::FaceEmbedder(const std::vector<char> &model) : parts(new Parts{weights(model)}) {
    // The first alignment allocates OpenBLAS's work area of 128 MB. Under a memory limit OpenBLAS would retry that for ever;
    // allocated here, it exists before the limit and is shared by forks.
    const Landmarks apart = {{{50, 60}, {65, 60}, {100, 60}, {85, 60}, {75, 90}}};
    face_chip(cv::Mat::zeros(chip_side, chip_side, CV_8UC3), apart);
}

FaceEmbedder::~FaceEmbedder() = default;

std::vector<Embedding> FaceEmbedder::embed(const std::vector<cv::Mat> &chips) {
    const int samples = 2 * static_cast<int>(chips.size());
    Maps images(samples, chip_side, chip_side, 3);
    float *to = images.values.data();
    for (const cv::Mat &chip : chips) {
        for (const bool mirrored : {false, true}) {
            for (int y = 0; y < chip_side; ++y) {
                const cv::Vec3b *row = chip.ptr<cv::Vec3b>(y);
                for (int x = 0; x < chip_side; ++x) {
                    const cv::Vec3b &pixel = row[mirrored ? chip_side - 1 - x : x];
                    for (int channel = 0; channel < 3; ++channel)
                        *to++ = (static_cast<float>(pixel[channel]) - channel_means[channel]) / channel_range;
                }
            }
        }
    }
    const std::vector<float> outputs = this->parts->network.apply(images);
    std::vector<Embedding> embeddings(chips.size());
    for (size_t i = 0; i < chips.size(); ++i) {
        const float *one = outputs.data() + 2 * i * CV_FACE_EMBEDDING_LENGTH, *other = one + CV_FACE_EMBEDDING_LENGTH;
        for (size_t k = 0; k < embeddings[i].size(); ++k) embeddings[i][k] = (one[k] + other[k]) / 2;
    }
    return embeddings;
}

}  // namespace cvision
