#include "components.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace cvision {
namespace {

/// Pixels of a row that are set, one beside the other.
struct Run {
    int row, first, end;
    int parent;  // index of an earlier run of the same component, or its own
};

int root(std::vector<Run> &runs, int i) {
    while (runs[size_t(i)].parent != i) i = runs[size_t(i)].parent = runs[size_t(runs[size_t(i)].parent)].parent;
    return i;
}

/// Makes two components one, which begins with the earlier run.
void join(std::vector<Run> &runs, int left, int right) {
    const int first = root(runs, left), second = root(runs, right);
    runs[size_t(std::max(first, second))].parent = std::min(first, second);
}

void add_runs(const cv::Mat &mask, int y, std::vector<Run> &runs) {
    const uint8_t *const row = mask.ptr<uint8_t>(y);
    for (int x = 0; x < mask.cols;) {
        uint64_t eight;
        // Most of a mask is empty.
        while (x + 8 <= mask.cols && (std::memcpy(&eight, row + x, 8), eight == 0)) x += 8;
        while (x < mask.cols && row[x] == 0) ++x;
        if (x == mask.cols) break;
        const int first = x;
        while (x < mask.cols && row[x] != 0) ++x;
        runs.push_back({y, first, x, static_cast<int>(runs.size())});
    }
}

/// The runs of `mask`, those of one component with the same root, its first.
std::vector<Run> joined_runs(const cv::Mat &mask, int connectivity) {
    const int reach = connectivity == 8 ? 1 : 0;  // columns that a run may lie beside the one above
    std::vector<Run> runs;
    size_t above = 0, begin = 0;  // where the runs of the row above begin, and those of this row
    for (int y = 0; y < mask.rows; ++y) {
        add_runs(mask, y, runs);
        for (size_t i = begin, j = above; i < runs.size(); ++i) {
            while (j < begin && runs[j].end + reach <= runs[i].first) ++j;
            for (size_t k = j; k < begin && runs[k].first < runs[i].end + reach; ++k)
                join(runs, static_cast<int>(k), static_cast<int>(i));
        }
        above = begin;
        begin = runs.size();
    }
    return runs;
}

/// Sets each run's `parent` to its component's label.
std::vector<Component> labelled(std::vector<Run> &runs) {
    std::vector<Component> components;
    for (size_t i = 0; i < runs.size(); ++i) {
        Run &run = runs[i];
        const int width = run.end - run.first;
        const bool is_first = run.parent == static_cast<int>(i);
        // A parent stands earlier, so it has its label.
        run.parent = is_first ? static_cast<int>(components.size()) + 1 : runs[size_t(run.parent)].parent;
        const cv::Rect box(run.first, run.row, width, 1);
        if (is_first) components.push_back({run.parent, box, 0, {0, 0}});
        Component &of = components[size_t(run.parent) - 1];
        of.box |= box;
        of.area += width;
        of.centre += cv::Point2d(0.5 * (run.first + run.end - 1) * width, double(run.row) * width);
    }
    for (Component &of : components) of.centre = of.centre / of.area;
    return components;
}

}  // namespace

std::vector<Component> components_of(const cv::Mat &mask, int connectivity) {
    std::vector<Run> runs = joined_runs(mask, connectivity);
    return labelled(runs);
}

std::vector<Component> components_of(const cv::Mat &mask, cv::Mat &labels, int connectivity) {
    std::vector<Run> runs = joined_runs(mask, connectivity);
    std::vector<Component> components = labelled(runs);
    labels.create(mask.size(), CV_32S);
    labels.setTo(0);
    for (const Run &run : runs)
        std::fill(labels.ptr<int>(run.row) + run.first, labels.ptr<int>(run.row) + run.end, run.parent);
    return components;
}

}  // namespace cvision
