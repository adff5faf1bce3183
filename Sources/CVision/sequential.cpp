#include <opencv2/core/utility.hpp>

namespace {

/// OpenCV runs everything on the calling thread. Debian's build would start TBB's threads at its first large loop, which
/// an analyzer process may not do: it is a fork, and its sandbox refuses a second thread. The pool of processes is the
/// parallelism. Before `main`, so that no path can forget it.
[[maybe_unused]] const bool sequential = [] {
    cv::setNumThreads(0);
    return true;
}();

}  // namespace
