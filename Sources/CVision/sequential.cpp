#include <opencv2/core/utility.hpp>

namespace {

/// Makes OpenCV run everything on the calling thread. Debian's build would start TBB's threads at its first large loop, but an
/// analyzer is a fork whose sandbox refuses a second thread. Parallelism comes from the pool of processes. Runs before `main`,
/// so that no path can forget it.
[[maybe_unused]] const bool sequential = [] {
    cv::setNumThreads(0);
    return true;
}();

}  // namespace
