// The published model files, identified by SHA-256.
#pragma once
#include <istream>
#include <streambuf>
#include <string>
#include <vector>

namespace cvision {

/// Bytes as a stream, without a copy.
class ByteStream : private std::streambuf, public std::istream {
public:
    explicit ByteStream(const std::vector<char> &bytes) : std::istream(static_cast<std::streambuf *>(this)) {
        // The interface takes no constant bytes; nothing here writes them.
        char *const begin = const_cast<char *>(bytes.data());
        this->setg(begin, begin, begin + bytes.size());
    }
};

struct FaceModel {
    const char *name;
    const char *sha256;
};

/// dlib's five-point shape predictor (Davis King, 2016; public domain).
constexpr FaceModel landmark_model = {"shape_predictor_5_face_landmarks.dat",
                                      "c4b1e9804792707d3a405c2c16a80a20269e6675021f64a41d30fffafbc41888"};
/// dlib's face descriptor (Davis King, 2017; public domain).
constexpr FaceModel descriptor_model = {"dlib_face_recognition_resnet_model_v1.dat",
                                        "55533b28a95800a551ba546ba62fe69625c7e95a7061c338adffead08719da30"};

/// dlib's 68-point shape predictor, only if the operator configures its file: its training data, 300-W, forbids commercial use.
constexpr FaceModel contour_model = {"shape_predictor_68_face_landmarks.dat",
                                     "fbdc2cb80eb9aa7a758672cbfdda32ba6300efe9b6e6c7a299ff7e736b11b92f"};

/// A model file that cannot be used; the message names it without its folder.
struct ModelUnavailable {
    std::string message;
};

/// SHA-256 in lower-case hexadecimal; empty if libcrypto refuses.
std::string sha256_hex(const std::vector<char> &bytes);

/// The bytes of the file at `path` (`name` in messages), checked against its digest (lower-case hex) before anything parses
/// them. Throws ModelUnavailable.
std::vector<char> read_model(const std::string &path, const std::string &name, const std::string &sha256);

/// The bytes of a published model. Throws ModelUnavailable.
std::vector<char> read_model(const std::string &folder, const FaceModel &model);

}  // namespace cvision
