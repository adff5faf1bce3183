#include <algorithm>
#include <cmath>

#include "image.hpp"
#include "mrz_detect.hpp"
#include "mrz_layout.hpp"

namespace cvision::mrz {
namespace {

constexpr double certain = -0.25;  // score from which no further block is looked at
constexpr double sufficient = -0.5;  // score from which the picture is not looked at again, larger
constexpr double promising = 0.6;    // probability of a line somewhere from which that is worth the time
constexpr int maxBlocks = 4;

cv_point toPoint(cv::Point2d p) { return {p.x, p.y}; }

void copyZone(const cv::Mat &gray, const ZoneReading &reading, cv_mrz_zone &zone) {
    zone = {};
    zone.line_count = int32_t(reading.lines.size());
    zone.cell_count = reading.cells;
    zone.score = reading.score;
    const double last = reading.cells - 1;
    for (int32_t l = 0; l < zone.line_count; ++l) {
        const LineReading &line = reading.lines[l];
        cv_mrz_line &out = zone.lines[l];
        for (int cell = 0; cell < reading.cells; ++cell) {
            for (int k = 0; k < classes; ++k) {
                out.posterior[cell][k] = std::exp(line.logs[size_t(cell) * classes + k]);
            }
        }
        out.start = toPoint(line.line.at(0));
        out.end = toPoint(line.line.at(last));
        out.pitch = std::hypot(out.end.x - out.start.x, out.end.y - out.start.y) / last;
        out.sharpness = edgeWidth(gray, line.line, reading.cells);
        zone.pitch += out.pitch / zone.line_count;
    }
    const LineModel &top = reading.lines.front().line, &bottom = reading.lines.back().line;
    zone.quad[0] = toPoint(top.at(-0.5, -0.7 * top.height));
    zone.quad[1] = toPoint(top.at(last + 0.5, -0.7 * top.height));
    zone.quad[2] = toPoint(bottom.at(last + 0.5, 0.7 * bottom.height));
    zone.quad[3] = toPoint(bottom.at(-0.5, 0.7 * bottom.height));
    zone.turn = std::atan2(top.direction.y, top.direction.x) * 180 / CV_PI;
}

cv_status read(const cv::Mat &gray, cv_mrz_zone *zones, int32_t capacity, int32_t *count) {
    *count = 0;
    if (gray.empty() || std::min(gray.cols, gray.rows) < 16) {
        return CV_OK;
    }
    std::vector<ZoneReading> best;
    double strongest = 1;
    for (const Look look : {Look::coarse, Look::fine}) {
        const bool enough = !best.empty() && best.front().score > sufficient;
        if (look == Look::fine && (enough || strongest < promising || !isFineWorthwhile(gray))) {
            break;
        }
        const Sight sight = findBlocks(gray, look);
        strongest = sight.strongest;
        int tried = 0;
        for (const Block &block : sight.blocks) {
            if (++tried > maxBlocks || (!best.empty() && best.front().score > certain)) {
                break;
            }
            std::vector<ZoneReading> readings = readBlock(gray, block);
            if (!readings.empty() && (best.empty() || readings.front().score > best.front().score)) {
                best = std::move(readings);
            }
        }
    }
    for (const ZoneReading &reading : best) {
        if (*count < capacity) {
            copyZone(gray, reading, zones[(*count)++]);
        }
    }
    return CV_OK;
}

}  // namespace
}  // namespace cvision::mrz

cv_status cv_mrz_read(
    const cv_image *image, cv_mrz_zone *zones, int32_t capacity, int32_t *count, cv_error *error) {
    return cvision::guard(error, [&] { return cvision::mrz::read(image->gray, zones, capacity, count); });
}
