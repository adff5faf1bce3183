#include "mrz_detect.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "mrz_pieces.hpp"

namespace cvision::mrz {
namespace {

constexpr double closest_side = 1152;  // longer side, at most, of a group of lines in its second pass
constexpr double max_scale = 2;        // small images are not enlarged further
constexpr double trusted_pitch = 6;    // below this many detector pixels per cell, lines get a second pass, enlarged
constexpr double wanted_pitch = 11;    // to this pitch

struct Strand {
    LineModel line;
    double mass = 0, thickness = 0, firmness = 0, low = 0, high = 0;
};

/// A centre line through all dots. Their spread decides its angle, the network only its reading direction.
Strand trace(const std::vector<Piece> &pieces, double dot_size) {
    Strand strand;
    cv::Point2d centre(0, 0), vote(0, 0);
    double log_pitch = 0;
    for (const Piece &piece : pieces) {
        for (const Dot &dot : piece.dots) {
            centre += dot.weight * dot.at;
            strand.mass += dot.weight;
        }
        vote += piece.mass * piece.direction;
        log_pitch += piece.mass * piece.log_pitch;
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
    const double pitch = std::exp(log_pitch / strand.mass);
    std::vector<double> s, n, w;
    for (const Piece &piece : pieces) {
        for (const Dot &dot : piece.dots) {
            s.push_back((dot.at - centre).dot(axis));
            n.push_back((dot.at - centre).dot(line.down()));
            w.push_back(dot.weight);
        }
    }
    strand.low = *std::min_element(s.begin(), s.end()) - dot_size / 2;
    strand.high = *std::max_element(s.begin(), s.end()) + dot_size / 2;
    line.across = fit_parabola(s, n, w, strand.high - strand.low > 15 * pitch);
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
    if (std::abs(std::log(pitch) - piece.log_pitch) > 0.4 || strand.line.direction.dot(piece.direction) < 0) {
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

std::vector<Strand> strands_of(std::vector<Piece> pieces, double dot_size) {
    std::sort(pieces.begin(), pieces.end(), [](const Piece &a, const Piece &b) { return a.mass > b.mass; });
    std::vector<Strand> strands;
    std::vector<bool> used(pieces.size(), false);
    for (size_t i = 0; i < pieces.size(); ++i) {
        if (used[i]) {
            continue;
        }
        std::vector<Piece> own{pieces[i]};
        Strand strand = trace(own, dot_size);
        for (bool grown = true; grown && strand.line.cells > 2.5;) {
            grown = false;
            for (size_t j = i + 1; j < pieces.size(); ++j) {
                if (!used[j] && continues(strand, pieces[j])) {
                    used[j] = grown = true;
                    own.push_back(pieces[j]);
                    strand = trace(own, dot_size);
                }
            }
        }
        if (strand.line.cells >= 6) {
            strands.push_back(strand);
        }
    }
    return strands;
}

/// Groups of parallel strands at the distance of an MRZ's lines.
std::vector<std::vector<Strand>> grouped(std::vector<Strand> strands) {
    std::sort(strands.begin(), strands.end(),
              [](const Strand &a, const Strand &b) { return a.line.cells > b.line.cells; });
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
                const double overlap = std::min(group[m].high, s + half) - std::max(group[m].low, s - half);
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

/// Gives all lines the reading direction with most evidence, and sorts them top to bottom.
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
    // The slope of a short piece is uncertain; the longest line's is used.
    const LineModel longest =
        *std::max_element(block.lines.begin(), block.lines.end(),
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
    std::sort(block.lines.begin(), block.lines.end(),
              [down](const LineModel &a, const LineModel &b) { return a.origin.dot(down) < b.origin.dot(down); });
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

Sight find_blocks(const cv::Mat &gray, cv::Rect all, double longer_side) {
    Sight sight;
    const double scale = std::min(longer_side / std::max(all.width, all.height), max_scale);
    auto groups = grouped(strands_of(look(gray, all, scale, &sight.strongest), 4 / scale));
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
        const double seen_pitch = pitch * scale;
        sight.finest = blocks.empty() ? seen_pitch : std::min(sight.finest, seen_pitch);
        if (seen_pitch < trusted_pitch || seen_pitch > 20 || fused || group.size() == 1) {
            const cv::Rect region = around(group, gray);
            const double zoom =
                std::min({wanted_pitch / pitch, 3.0, closest_side / std::max(region.width, region.height)});
            auto closer = grouped(strands_of(look(gray, region, zoom), 4 / zoom));
            if (!closer.empty()) {
                const auto best = std::max_element(closer.begin(), closer.end(), [](const auto &a, const auto &b) {
                    const auto cells_of = [](const std::vector<Strand> &g) {
                        return std::accumulate(g.begin(), g.end(), 0.0,
                                               [](double sum, const Strand &s) { return sum + s.line.cells; });
                    };
                    return cells_of(a) < cells_of(b);
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
