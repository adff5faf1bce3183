#include "mrz_detect.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <opencv2/imgproc.hpp>

#include "mrz_network.hpp"

namespace cvision::mrz {
namespace {

constexpr double coarseSide = 640;    // longer side of the first look, pixels
constexpr double fineSide = 1152;     // of the second look, when the first found nothing
constexpr double maxScale = 2;        // small pictures are not enlarged further
constexpr double trustedPitch = 7;    // below this many detector pixels per cell, lines are looked at again, larger
constexpr double wantedPitch = 11;    // at this pitch
constexpr float coreThreshold = 0.4f; // probability from which a cell of the map belongs to a line

/// One pixel of the detector's map, in picture coordinates.
struct Dot {
    cv::Point2d at;
    double weight;
};

/// A connected piece of a line.
struct Piece {
    std::vector<Dot> dots;
    cv::Point2d direction{0, 0};
    double logPitch = 0, mass = 0;

    double pitch() const { return std::exp(logPitch); }
};

struct Strand {
    LineModel line;
    double mass = 0, thickness = 0, firmness = 0, low = 0, high = 0;
};

/// Zero mean and unit deviation over windows of 129 pixels (detector_data.py: normalise), padded to multiples of 16.
Tensor prepare(const cv::Mat &gray) {
    cv::Mat f, mean, square;
    gray.convertTo(f, CV_32F);
    cv::blur(f, mean, {129, 129}, {-1, -1}, cv::BORDER_REFLECT_101);
    cv::blur(f.mul(f), square, {129, 129}, {-1, -1}, cv::BORDER_REFLECT_101);
    cv::Mat variance = cv::max(square - mean.mul(mean), 0.0), deviation;
    cv::sqrt(variance, deviation);
    cv::Mat normal = (f - mean) / (deviation + 8.0), padded;
    cv::copyMakeBorder(
        normal, padded, 0, (16 - gray.rows % 16) % 16, 0, (16 - gray.cols % 16) % 16, cv::BORDER_REPLICATE);
    Tensor out(1, padded.rows, padded.cols);
    std::copy(padded.begin<float>(), padded.end<float>(), out.values.begin());
    return out;
}

/// What the detector answers about one part of the picture.
struct Map {
    Tensor answer;
    cv::Mat probability;   // CV_32F, one cell for 4 × 4 seen pixels
    cv::Point2d offset;
    double scaleX, scaleY;  // picture pixels per seen pixel

    Piece pieceOf(const cv::Mat &labels, int label, const cv::Rect &box) const {
        Piece piece;
        for (int y = box.y; y < box.y + box.height; ++y) {
            for (int x = box.x; x < box.x + box.width; ++x) {
                if (labels.at<int>(y, x) != label) {
                    continue;
                }
                const size_t i = size_t(y) * answer.columns + x;
                const double p = probability.at<float>(y, x);
                piece.dots.push_back(
                    {{offset.x + (x * 4 + 2) * scaleX - 0.5, offset.y + (y * 4 + 2) * scaleY - 0.5}, p});
                piece.direction += p * cv::Point2d(answer.plane(1)[i], answer.plane(2)[i]);
                piece.logPitch += p * (answer.plane(3)[i] + std::log(8.0) + std::log(scaleX));
                piece.mass += p;
            }
        }
        piece.direction /= piece.mass;
        piece.logPitch /= piece.mass;
        return piece;
    }
};

/// Deviation of the dots across the piece's longer axis, in picture pixels.
double thicknessOf(const Piece &piece) {
    cv::Point2d centre(0, 0);
    for (const Dot &dot : piece.dots) {
        centre += dot.weight * dot.at;
    }
    centre /= piece.mass;
    double xx = 0, xy = 0, yy = 0;
    for (const Dot &dot : piece.dots) {
        const cv::Point2d d = dot.at - centre;
        xx += dot.weight * d.x * d.x;
        xy += dot.weight * d.x * d.y;
        yy += dot.weight * d.y * d.y;
    }
    const double smaller = (xx + yy) / 2 - std::hypot((xx - yy) / 2, xy);
    return std::sqrt(std::max(0.0, smaller) / piece.mass);
}

/// Connected pieces of the cells in `mask` above a threshold; those too thick for one line are cut at higher ones.
void split(const Map &map, const cv::Mat &mask, size_t level, std::vector<Piece> &pieces) {
    constexpr float thresholds[] = {coreThreshold, 0.6f, 0.75f, 0.87f, 0.94f};
    cv::Mat core, labels, stats, centres;
    cv::compare(map.probability, thresholds[level], core, cv::CMP_GT);
    if (!mask.empty()) {
        core &= mask;
    }
    const int count = cv::connectedComponentsWithStats(core, labels, stats, centres, level == 0 ? 8 : 4);
    for (int label = 1; label < count; ++label) {
        if (stats.at<int>(label, cv::CC_STAT_AREA) < 4) {
            continue;
        }
        const cv::Rect box(
            stats.at<int>(label, cv::CC_STAT_LEFT), stats.at<int>(label, cv::CC_STAT_TOP),
            stats.at<int>(label, cv::CC_STAT_WIDTH), stats.at<int>(label, cv::CC_STAT_HEIGHT));
        Piece piece = map.pieceOf(labels, label, box);
        const bool thick = thicknessOf(piece) > 0.33 * piece.pitch() + 1.2 * map.scaleX;
        if (thick && level + 1 < std::size(thresholds)) {
            split(map, labels == label, level + 1, pieces);
        } else {
            pieces.push_back(std::move(piece));
        }
    }
}

/// Pieces of lines in `region` of the picture, seen `scale` times as large.
std::vector<Piece> look(const cv::Mat &gray, cv::Rect region, double scale, double *strongest = nullptr) {
    cv::Mat seen;
    const cv::Size size(
        std::max(16, int(std::lround(region.width * scale))), std::max(16, int(std::lround(region.height * scale))));
    cv::resize(gray(region), seen, size, 0, 0, scale < 1 ? cv::INTER_AREA : cv::INTER_LINEAR);
    Map map;
    map.answer = runDetector(prepare(seen));
    map.offset = {double(region.x), double(region.y)};
    map.scaleX = double(region.width) / size.width;
    map.scaleY = double(region.height) / size.height;
    map.probability.create((size.height + 3) / 4, (size.width + 3) / 4, CV_32F);
    for (int y = 0; y < map.probability.rows; ++y) {
        for (int x = 0; x < map.probability.cols; ++x) {
            map.probability.at<float>(y, x) =
                1 / (1 + std::exp(-map.answer.plane(0)[size_t(y) * map.answer.columns + x]));
        }
    }
    if (strongest != nullptr) {
        cv::minMaxLoc(map.probability, nullptr, strongest);
    }
    std::vector<Piece> pieces;
    split(map, cv::Mat(), 0, pieces);
    return pieces;
}

/// A centre line through all dots; their own spread decides its angle, the network only which way it is read.
Strand trace(const std::vector<Piece> &pieces, double dotSize) {
    Strand strand;
    cv::Point2d centre(0, 0), vote(0, 0);
    double logPitch = 0;
    for (const Piece &piece : pieces) {
        for (const Dot &dot : piece.dots) {
            centre += dot.weight * dot.at;
            strand.mass += dot.weight;
        }
        vote += piece.mass * piece.direction;
        logPitch += piece.mass * piece.logPitch;
    }
    centre /= strand.mass;
    double xx = 0, xy = 0, yy = 0;
    for (const Piece &piece : pieces) {
        for (const Dot &dot : piece.dots) {
            const cv::Point2d d = dot.at - centre;
            xx += dot.weight * d.x * d.x;
            xy += dot.weight * d.x * d.y;
            yy += dot.weight * d.y * d.y;
        }
    }
    const double angle = 0.5 * std::atan2(2 * xy, xx - yy);
    cv::Point2d axis(std::cos(angle), std::sin(angle));
    if (axis.dot(vote) < 0) {
        axis = -axis;
    }
    strand.firmness = cv::norm(vote) / strand.mass;
    LineModel &line = strand.line;
    line.origin = centre;
    line.direction = axis;
    const double pitch = std::exp(logPitch / strand.mass);
    std::vector<double> s, n, w;
    for (const Piece &piece : pieces) {
        for (const Dot &dot : piece.dots) {
            s.push_back((dot.at - centre).dot(axis));
            n.push_back((dot.at - centre).dot(line.down()));
            w.push_back(dot.weight);
        }
    }
    strand.low = *std::min_element(s.begin(), s.end()) - dotSize / 2;
    strand.high = *std::max_element(s.begin(), s.end()) + dotSize / 2;
    line.across = fitParabola(s, n, w, strand.high - strand.low > 15 * pitch);
    for (size_t i = 0; i < s.size(); ++i) {
        const double d = n[i] - line.across(s[i]);
        strand.thickness += w[i] * d * d;
    }
    strand.thickness = std::sqrt(strand.thickness / strand.mass);
    line.cells = std::max(1.0, (strand.high - strand.low) / pitch);
    line.along = {strand.low + 0.5 * pitch, pitch, 0};
    line.height = pitch * 0.98;  // OCR-B size I: capitals as high as the pitch is wide
    return strand;
}

/// Whether `piece` continues the line through `strand`.
bool continues(const Strand &strand, const Piece &piece) {
    const double pitch = strand.line.along.b;
    if (std::abs(std::log(pitch) - piece.logPitch) > 0.4 || strand.line.direction.dot(piece.direction) < 0) {
        return false;
    }
    double low = INFINITY, high = -INFINITY, off = 0;
    for (const Dot &dot : piece.dots) {
        const cv::Point2d d = dot.at - strand.line.origin;
        const double s = d.dot(strand.line.direction);
        low = std::min(low, s);
        high = std::max(high, s);
        off += dot.weight * (d.dot(strand.line.down()) - (strand.line.across.a + strand.line.across.b * s));
    }
    const double gap = std::max(low - strand.high, strand.low - high);
    return std::abs(off / piece.mass) < 0.75 * pitch && gap < 12 * pitch;
}

std::vector<Strand> strandsOf(std::vector<Piece> pieces, double dotSize) {
    std::sort(pieces.begin(), pieces.end(), [](const Piece &a, const Piece &b) { return a.mass > b.mass; });
    std::vector<Strand> strands;
    std::vector<bool> used(pieces.size(), false);
    for (size_t i = 0; i < pieces.size(); ++i) {
        if (used[i]) {
            continue;
        }
        std::vector<Piece> own{pieces[i]};
        Strand strand = trace(own, dotSize);
        for (bool grown = true; grown && strand.line.cells > 2.5;) {
            grown = false;
            for (size_t j = i + 1; j < pieces.size(); ++j) {
                if (!used[j] && continues(strand, pieces[j])) {
                    used[j] = grown = true;
                    own.push_back(pieces[j]);
                    strand = trace(own, dotSize);
                }
            }
        }
        if (strand.line.cells >= 6) {
            strands.push_back(strand);
        }
    }
    return strands;
}

/// Strands that run side by side at the distance of a zone's lines.
std::vector<std::vector<Strand>> grouped(std::vector<Strand> strands) {
    std::sort(strands.begin(), strands.end(), [](const Strand &a, const Strand &b) {
        return a.line.cells > b.line.cells;
    });
    std::vector<std::vector<Strand>> groups;
    std::vector<bool> used(strands.size(), false);
    for (size_t i = 0; i < strands.size(); ++i) {
        if (used[i]) {
            continue;
        }
        std::vector<Strand> group{strands[i]};
        used[i] = true;
        for (size_t m = 0; m < group.size() && group.size() < 6; ++m) {
            for (size_t j = 0; j < strands.size(); ++j) {
                const LineModel &a = group[m].line, &b = strands[j].line;
                if (used[j] || std::abs(a.direction.dot(b.direction)) < 0.94 ||
                    std::abs(std::log(a.along.b / b.along.b)) > 0.4) {
                    continue;
                }
                const cv::Point2d d = b.origin - a.origin;
                const double s = d.dot(a.direction), pitch = a.along.b;
                const double half = (strands[j].high - strands[j].low) / 2;
                const double overlap =
                    std::min(group[m].high, s + half) - std::max(group[m].low, s - half);
                const double apart = std::abs(d.dot(a.down()) - (a.across.a + a.across.b * s));
                if (overlap > 0.4 * std::min(2 * half, group[m].high - group[m].low) && apart > 1.1 * pitch &&
                    apart < 3.9 * pitch) {
                    used[j] = true;
                    group.push_back(strands[j]);
                }
            }
        }
        groups.push_back(group);
    }
    return groups;
}

/// All read the way that most of the evidence votes for, top to bottom.
Block assemble(std::vector<Strand> group) {
    const cv::Point2d reference = group.front().line.direction;
    double vote = 0;
    for (const Strand &strand : group) {
        vote += strand.mass * strand.firmness * (strand.line.direction.dot(reference) > 0 ? 1 : -1);
    }
    const cv::Point2d direction = vote >= 0 ? reference : -reference;
    Block block;
    for (Strand &strand : group) {
        LineModel &line = strand.line;
        if (line.direction.dot(direction) < 0) {
            const double length = strand.high - strand.low, pitch = line.along.b;
            line.direction = -line.direction;
            line.along.a = -strand.high + 0.5 * pitch;
            line.across = {-line.across.a, line.across.b, -line.across.c};
            line.cells = length / pitch;
        }
        block.mass += line.cells;
        block.lines.push_back(line);
    }
    // The slope of a short piece is a guess; the longest line knows better.
    const LineModel longest = *std::max_element(
        block.lines.begin(), block.lines.end(),
        [](const LineModel &a, const LineModel &b) { return a.cells < b.cells; });
    for (LineModel &line : block.lines) {
        if (line.cells < 0.6 * longest.cells) {
            const double s = (line.origin - longest.origin).dot(longest.direction);
            const cv::Point2d start = line.at(-0.5), end = line.at(line.cells - 0.5);
            const double low = (start - line.origin).dot(longest.direction);
            const double high = (end - line.origin).dot(longest.direction);
            line.direction = longest.direction;
            line.cells = std::max(1.0, (high - low) / line.along.b);
            line.along.a = low + 0.5 * line.along.b;
            const Parabola &shape = longest.across;
            line.across = {0, shape.b + 2 * shape.c * s, shape.c};
        }
    }
    const cv::Point2d down(-direction.y, direction.x);
    std::sort(block.lines.begin(), block.lines.end(), [down](const LineModel &a, const LineModel &b) {
        return a.origin.dot(down) < b.origin.dot(down);
    });
    return block;
}

cv::Rect around(const std::vector<Strand> &group, const cv::Mat &gray) {
    std::vector<cv::Point2f> points;
    double pitch = 0;
    for (const Strand &strand : group) {
        pitch = std::max(pitch, strand.line.along.b);
        for (double i : {-6.0, strand.line.cells + 6}) {
            points.push_back(strand.line.at(i));
        }
    }
    float x0 = INFINITY, y0 = INFINITY, x1 = -INFINITY, y1 = -INFINITY;
    for (const cv::Point2f &p : points) {
        x0 = std::min(x0, p.x);
        y0 = std::min(y0, p.y);
        x1 = std::max(x1, p.x);
        y1 = std::max(y1, p.y);
    }
    const int margin = int(5 * pitch);
    const cv::Rect box(int(x0) - margin, int(y0) - margin, int(x1 - x0) + 2 * margin, int(y1 - y0) + 2 * margin);
    return box & cv::Rect(0, 0, gray.cols, gray.rows);
}

}  // namespace

bool isFineWorthwhile(const cv::Mat &gray) {
    return std::max(gray.cols, gray.rows) * maxScale > 1.3 * coarseSide;
}

Sight findBlocks(const cv::Mat &gray, Look chosen) {
    Sight sight;
    const cv::Rect all(0, 0, gray.cols, gray.rows);
    const double side = std::max(gray.cols, gray.rows);
    const double scale = std::min((chosen == Look::coarse ? coarseSide : fineSide) / side, maxScale);
    auto groups = grouped(strandsOf(look(gray, all, scale, &sight.strongest), 4 / scale));
    const auto weak = [](const std::vector<Strand> &group) {
        double cells = 0;
        for (const Strand &strand : group) {
            cells += strand.line.cells;
        }
        return cells < 24;
    };
    groups.erase(std::remove_if(groups.begin(), groups.end(), weak), groups.end());
    std::vector<Block> &blocks = sight.blocks;
    for (const auto &group : groups) {
        double pitch = 0, cells = 0;
        bool fused = false;
        for (const Strand &strand : group) {
            pitch += strand.line.along.b * strand.line.cells;
            cells += strand.line.cells;
            fused = fused || strand.thickness > 0.5 * strand.line.along.b;
        }
        pitch /= cells;
        Block block = assemble(group);
        const double seenPitch = pitch * scale;
        if (seenPitch < trustedPitch || seenPitch > 20 || fused || group.size() == 1) {
            const cv::Rect region = around(group, gray);
            const double zoom = std::min({wantedPitch / pitch, 3.0, fineSide / std::max(region.width, region.height)});
            auto closer = grouped(strandsOf(look(gray, region, zoom), 4 / zoom));
            if (!closer.empty()) {
                const auto best = std::max_element(closer.begin(), closer.end(), [](const auto &a, const auto &b) {
                    const auto cellsOf = [](const std::vector<Strand> &g) {
                        return std::accumulate(g.begin(), g.end(), 0.0, [](double sum, const Strand &s) {
                            return sum + s.line.cells;
                        });
                    };
                    return cellsOf(a) < cellsOf(b);
                });
                Block second = assemble(*best);
                if (second.mass > 0.6 * block.mass) {
                    block = std::move(second);
                }
            }
        }
        blocks.push_back(std::move(block));
    }
    std::sort(blocks.begin(), blocks.end(), [](const Block &a, const Block &b) { return a.mass > b.mass; });
    return sight;
}

}  // namespace cvision::mrz
