// Straight outlines are sought among these edges.
#pragma once
#include <array>
#include <opencv2/core.hpp>
#include <vector>

namespace cvision {

constexpr int angles = 360;  // directed: a line and its opposite polarity differ
constexpr double angle_step = 2 * CV_PI / angles;

struct Edge {
    float x, y, nx, ny;  // position, unit normal from dark to bright
};

struct EdgeMap {
    cv::Size size;
    cv::Mat normal;                          // CV_32FC2, zero where there is no edge
    std::vector<Edge> edges;                 // by direction
    std::array<size_t, angles + 1> first{};  // for each direction, of its edges; then the end
};

/// Edges of the colour channel that changes most: a document and its table may have the same brightness.
EdgeMap find_edges(const cv::Mat &bgr);

}  // namespace cvision
