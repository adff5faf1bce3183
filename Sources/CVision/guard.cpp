#include <cstdio>

#include "image.hpp"

namespace cvision {

cv_status fail(cv_error *error, cv_status status, const char *message) noexcept {
    if (error != nullptr) {
        error->status = status;
        std::snprintf(error->message, sizeof error->message, "%s", message);
    }
    return status;
}

}  // namespace cvision
