#include "document_edges.hpp"

#include <cmath>
#include <opencv2/imgproc.hpp>

namespace cvision {
namespace {

constexpr float weakest_edge = 12;  // of 255, after Sobel is scaled to intensity per pixel

/// Sorts the edges by the direction of their normals.
void sort_by_direction(EdgeMap &map) {
    std::vector<int> directions;
    directions.reserve(map.edges.size());
    for (const Edge &edge : map.edges) {
        directions.push_back((cvRound(std::atan2(edge.ny, edge.nx) / angle_step) + angles) % angles);
        ++map.first[static_cast<size_t>(directions.back()) + 1];
    }
    for (size_t a = 0; a < angles; ++a) map.first[a + 1] += map.first[a];
    std::vector<Edge> sorted(map.edges.size());
    auto next = map.first;
    for (size_t i = 0; i < sorted.size(); ++i) sorted[next[static_cast<size_t>(directions[i])]++] = map.edges[i];
    map.edges = std::move(sorted);
}

}  // namespace

EdgeMap find_edges(const cv::Mat &bgr) {
    cv::Mat smooth, gx, gy;
    cv::GaussianBlur(bgr, smooth, {5, 5}, 1.0);
    cv::Sobel(smooth, gx, CV_16S, 1, 0, 3);
    cv::Sobel(smooth, gy, CV_16S, 0, 1, 3);
    EdgeMap map;
    map.size = bgr.size();
    constexpr int least = static_cast<int>(16 * weakest_edge * weakest_edge);
    const auto square = [](int x, int y) { return x * x + y * y; };
    cv::Mat gradient(bgr.size(), CV_16SC2);
    cv::Mat magnitude(bgr.size(), CV_32F);
    for (int y = 0; y < bgr.rows; ++y) {
        const auto *px = gx.ptr<cv::Vec3s>(y);
        const auto *py = gy.ptr<cv::Vec3s>(y);
        auto *out = gradient.ptr<cv::Vec2s>(y);
        auto *strength = magnitude.ptr<float>(y);
        for (int x = 0; x < bgr.cols; ++x) {
            const int b = square(px[x][0], py[x][0]), g = square(px[x][1], py[x][1]), r = square(px[x][2], py[x][2]);
            const int best = std::max(b, std::max(g, r));
            strength[x] = best < least ? 0 : std::sqrt(static_cast<float>(best)) / 4;
            if (best < least) continue;  // neither an edge nor stronger than one
            // The first of equally strong channels.
            const int channel = b == best ? 0 : g == best ? 1 : 2;
            out[x] = {px[x][channel], py[x][channel]};
        }
    }
    // Thin to the ridge along the gradient.
    map.normal = cv::Mat::zeros(bgr.size(), CV_32FC2);
    map.edges.reserve(bgr.total() / 8);
    for (int y = 1; y + 1 < bgr.rows; ++y) {
        const auto *strength = magnitude.ptr<float>(y);
        const auto *slope = gradient.ptr<cv::Vec2s>(y);
        for (int x = 1; x + 1 < bgr.cols; ++x) {
            if (strength[x] < weakest_edge) continue;
            const cv::Vec2s g = slope[x];
            const float nx = g[0] / 4.F / strength[x], ny = g[1] / 4.F / strength[x];
            const int dx = nx > 0.38f ? 1 : nx < -0.38f ? -1 : 0, dy = ny > 0.38f ? 1 : ny < -0.38f ? -1 : 0;
            if (strength[x] < magnitude.at<float>(y + dy, x + dx) || strength[x] < magnitude.at<float>(y - dy, x - dx))
                continue;
            map.normal.at<cv::Vec2f>(y, x) = {nx, ny};
            map.edges.push_back({static_cast<float>(x), static_cast<float>(y), nx, ny});
        }
    }
    sort_by_direction(map);
    return map;
}

}  // namespace cvision
