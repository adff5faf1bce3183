#include "face_models.hpp"

#include <openssl/evp.h>

#include <cstdio>
#include <fstream>

namespace cvision {

namespace {

// dlib's larger model has 22 MB, an operator's own networks up to 250 MB; a larger file is no model and is not read.
constexpr std::streamoff size_limit = 512 << 20;

}  // namespace

std::string sha256_hex(const std::vector<char> &bytes) {
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned length = 0;
    if (EVP_Digest(bytes.data(), bytes.size(), digest, &length, EVP_sha256(), nullptr) != 1) return {};
    std::string hex;
    for (unsigned i = 0; i < length; ++i) {
        char pair[3];
        std::snprintf(pair, sizeof pair, "%02x", digest[i]);
        hex += pair;
    }
    return hex;
}

std::vector<char> read_model(const std::string &path, const std::string &name, const std::string &sha256) {
    std::ifstream file(path, std::ios::binary | std::ios::ate);
    if (!file) throw ModelUnavailable{name + " is missing or not readable"};
    const std::streamoff size = file.tellg();
    if (size <= 0 || size > size_limit) throw ModelUnavailable{name + " is not the model that was calibrated"};
    std::vector<char> bytes(static_cast<size_t>(size));
    file.seekg(0);
    if (!file.read(bytes.data(), size)) throw ModelUnavailable{name + " cannot be read"};
    if (sha256_hex(bytes) != sha256) throw ModelUnavailable{name + " is not the model that was calibrated"};
    return bytes;
}

std::vector<char> read_model(const std::string &folder, const FaceModel &model) {
    return read_model(folder + "/" + model.name, model.name, model.sha256);
}

}  // namespace cvision
