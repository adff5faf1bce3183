#include "mrz_candidates.hpp"

#include <algorithm>
#include <cmath>

namespace cvision::mrz {
namespace {

constexpr double unreadable = -0.4;  // confidence below which a line is no text
constexpr int glance_cells = 12;     // cells in the middle of a line that distinguish an MRZ from other text
constexpr double full_length = 0.6;  // share of the longest line from which a line gets that one's extent
constexpr double tolerated = 0.12;   // misfit of a strip, in letter heights, that the reader is trained for
constexpr double aligned = 0.08;     // misfit, and error of the pitch, that remain after lines were sampled again
constexpr double passable = 0.2;     // misfit, and error of the pitch, at which a clear line is still read as well

/// How much a column's geometry counts: the highest chance of a character within half a cell.
std::vector<double> presence(const Columns &columns) {
    std::vector<double> out(columns.count);
    for (int x = 0; x < columns.count; ++x) {
        for (int d = -2; d <= 2; ++d) {
            const int at = std::clamp(x + d, 0, columns.count - 1);
            out[x] = std::max(out[x], 1.0 - std::exp(columns.blank(at)));
        }
        out[x] = out[x] > 0.3 ? out[x] : 0;
    }
    return out;
}

/// How much higher the letters are than the strip expects, as a logarithm.
double log_height_of(const Candidate &c) {
    const auto weights = presence(c.columns);
    double height = 0;
    for (int x = 0; x < c.columns.count; ++x) {
        height += weights[x] * c.columns.height[x];
    }
    return height / std::max(c.weight, 1e-9);
}

/// The line moved, scaled and bent to where the reader saw it.
LineModel refined(const Candidate &c) {
    LineModel line = c.line;
    const auto weights = presence(c.columns);
    if (c.weight < 8) {
        return line;
    }
    std::vector<double> s, n;
    for (int x = 0; x < c.columns.count; ++x) {
        s.push_back(line.along(cell_at(Columns::position(x))));
        n.push_back(line.across(s.back()) + c.columns.rise[x] * line.height / strip_letter);
    }
    line.across = fit_parabola(s, n, weights, c.weight > 60);
    line.height *= std::exp(std::clamp(log_height_of(c), -0.6, 0.6));
    return line;
}

}  // namespace

Candidate examine(const Patch &patch, const LineModel &line) {
    Candidate c{line, read_strip(patch, line, line.cells)};
    const auto weights = presence(c.columns);
    std::vector<double> sums(weights.size() + 1, 0);
    c.low = INFINITY;
    c.high = -INFINITY;
    for (int x = 0; x < c.columns.count; ++x) {
        sums[x + 1] = sums[x] + weights[x];
        c.weight += weights[x];
        c.log_pitch += weights[x] * c.columns.pitch[x];
    }
    for (int x = 0; x < c.columns.count; ++x) {
        // An end is where two cells' worth of columns are mostly filled, so that specks next to the line do not count.
        const int ahead = std::min(x + 8, c.columns.count), behind = std::max(x - 7, 0);
        const double cell = cell_at(Columns::position(x));
        if (weights[x] > 0.5 && sums[ahead] - sums[x] > 5) {
            c.low = std::min(c.low, cell);
        }
        if (weights[x] > 0.5 && sums[x + 1] - sums[behind] > 5) {
            c.high = std::max(c.high, cell);
        }
    }
    c.log_pitch = c.weight > 0 ? c.log_pitch / c.weight : 0;
    double best = 0, count = 0;
    for (int x = 0; x < c.columns.count; ++x) {
        const float *logs = c.columns.at(x);
        if (logs[classes] < std::log(0.5f)) {
            const double inked = 1 - std::exp(logs[classes]);
            best += *std::max_element(logs, logs + classes) - std::log(inked);
            count += 1;
        }
    }
    if (count > 8) {
        c.confidence = best / count;
    }
    return c;
}

LineModel middle_of(LineModel line) {
    if (line.cells > glance_cells) {
        const double first = (line.cells - glance_cells) / 2;
        const Parabola &all = line.along;
        line.along = {all(first), all.b + 2 * all.c * first, all.c};
        line.cells = glance_cells;
    }
    return line;
}

void measure(std::vector<LineModel> &lines, const Candidate &glance) {
    if (glance.weight < 8) {
        return;
    }
    const double pitch = glance.line.along.b * std::exp(std::clamp(glance.log_pitch, -0.4, 0.4));
    const double height = glance.line.height * std::exp(std::clamp(log_height_of(glance), -0.6, 0.6));
    double longest = 0, low = INFINITY, high = -INFINITY;
    for (const LineModel &line : lines) {
        longest = std::max(longest, line.cells * line.along.b);
    }
    const LineModel first = lines.front();
    const auto shift_of = [&](const LineModel &line) { return (line.origin - first.origin).dot(first.direction); };
    const auto is_full = [&](const LineModel &line) { return line.cells * line.along.b > full_length * longest; };
    for (const LineModel &line : lines) {
        if (is_full(line)) {
            low = std::min(low, shift_of(line) + line.along(-0.5));
            high = std::max(high, shift_of(line) + line.along(line.cells - 0.5));
        }
    }
    for (LineModel &line : lines) {
        const double start = is_full(line) ? low - shift_of(line) : line.along(-0.5);
        const double end = is_full(line) ? high - shift_of(line) : line.along(line.cells - 0.5);
        line.along = {start + 0.5 * pitch, pitch, 0};
        line.cells = std::max(1.0, (end - start) / pitch);
        line.height = height;
    }
}

double misfit(const Candidate &c) {
    const auto weights = presence(c.columns);
    double rise = 0, height = 0, total = 1e-9;
    for (int x = 0; x < c.columns.count; ++x) {
        rise += weights[x] * std::abs(c.columns.rise[x]);
        height += weights[x] * c.columns.height[x];
        total += weights[x];
    }
    return rise / total / strip_letter + std::abs(height / total);
}

void settle(const Patch &patch, Candidate &c) {
    for (int pass = 0; pass < 3 && c.weight >= 8 && misfit(c) > tolerated; ++pass) {
        c = examine(patch, refined(c));
    }
}

bool select_alike(std::vector<Candidate> &candidates) {
    const auto conviction = [](const Candidate &c) { return c.weight * std::exp(3 * c.confidence); };
    const auto log_pitch = [](const Candidate &c) { return std::log(c.line.pitch()) + c.log_pitch; };
    const Candidate &best =
        *std::max_element(candidates.begin(), candidates.end(),
                          [&](const Candidate &a, const Candidate &b) { return conviction(a) < conviction(b); });
    const double pitch = log_pitch(best), confidence = best.confidence;
    candidates.erase(std::remove_if(candidates.begin(), candidates.end(),
                                    [&](const Candidate &c) {
                                        return std::abs(log_pitch(c) - pitch) > 0.25 || c.confidence < confidence - 0.5;
                                    }),
                     candidates.end());
    return confidence > unreadable;
}

void drop_repeated(std::vector<Candidate> &candidates) {
    for (size_t i = 0; i + 1 < candidates.size();) {
        const LineModel &a = candidates[i].line, &b = candidates[i + 1].line;
        const cv::Point2d middle = b.at(b.cells / 2) - a.origin;
        const double s = middle.dot(a.direction), apart = middle.dot(a.down()) - a.across(s);
        if (apart > 0.8 * a.pitch()) {
            ++i;
        } else {
            const bool first = candidates[i].confidence < candidates[i + 1].confidence;
            candidates.erase(candidates.begin() + i + (first ? 0 : 1));
        }
    }
}

void align(std::vector<Candidate> &candidates) {
    double low = INFINITY, high = -INFINITY, log_pitch = 0, weight = 0;
    const LineModel &first = candidates.front().line;
    for (const Candidate &c : candidates) {
        if (c.low > c.high) {
            continue;
        }
        const double shift = (c.line.origin - first.origin).dot(first.direction);
        low = std::min(low, shift + c.line.along(c.low));
        high = std::max(high, shift + c.line.along(c.high));
        log_pitch += c.weight * (c.log_pitch + std::log(c.line.pitch()));
        weight += c.weight;
    }
    if (weight <= 0) {
        return;
    }
    const double pitch = std::exp(log_pitch / weight);
    for (Candidate &c : candidates) {
        const double shift = (c.line.origin - first.origin).dot(first.direction);
        c.line = refined(c);
        c.line.along = {low - shift + 0.3 * pitch, pitch, 0};
        c.line.cells = std::clamp((high - low) / pitch + 0.4, 10.0, 60.0);
    }
}

double extent_of(const std::vector<Candidate> &candidates) {
    double longest = 0;
    for (const Candidate &c : candidates) {
        if (c.low < 1 - strip_margin || c.high > c.line.cells - 2 + strip_margin) {
            return INFINITY;
        }
        longest = std::max(longest, (c.high - c.low) * std::exp(-c.log_pitch));
    }
    return longest;
}

bool are_aligned(const std::vector<Candidate> &candidates) {
    return std::all_of(candidates.begin(), candidates.end(),
                       [](const Candidate &c) { return misfit(c) < aligned && std::abs(c.log_pitch) < aligned; });
}

bool are_covered(const std::vector<Candidate> &candidates) {
    const LineModel &first = candidates.front().line;
    double low = INFINITY, high = -INFINITY;
    for (const Candidate &c : candidates) {
        if (c.low > c.high || c.weight < 8 || misfit(c) > passable || std::abs(c.log_pitch) > passable) {
            return false;
        }
        const double shift = (c.line.origin - first.origin).dot(first.direction);
        low = std::min(low, shift + c.line.along(c.low));
        high = std::max(high, shift + c.line.along(c.high));
    }
    return std::all_of(candidates.begin(), candidates.end(), [&](const Candidate &c) {
        const double shift = (c.line.origin - first.origin).dot(first.direction);
        return shift + c.line.along(1 - strip_margin) < low &&
               shift + c.line.along(c.line.cells - 2 + strip_margin) > high;
    });
}

}  // namespace cvision::mrz
