#include "mrz_layout.hpp"

#include <algorithm>
#include <cmath>

namespace cvision::mrz {
namespace {

constexpr int shapes[] = {30, 36, 44};  // cells per line (Doc 9303-4, -5, -6, -7)
constexpr double accepted = -0.8;       // score below which a layout is no zone
constexpr double doubtful = -0.5;       // score below which the zone is also read upside down
constexpr double unreadable = -0.6;     // confidence of a line that is none
constexpr double dismissed = -0.9;      // confidence of a block's longest line below which the others are not read
constexpr double hopeless = -1.25;      // score below which turning it does not help either
constexpr double reversal = 0.3;        // how much better it must read than in the direction that the detector saw
constexpr double tolerated = 0.12;      // misfit of a strip, in heights of a letter, that the reader is trained for
constexpr double unusedLine = 0.25;     // what a layout pays for each readable line that it leaves out

struct Candidate {
    LineModel line;
    Columns columns;
    double logPitch = 0, weight = 0;  // of the strip, and how many columns see characters
    double low = 0, high = 0;         // extent of the characters in cell coordinates
    double confidence = -10;          // mean log-probability of the best character where there is one
};

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

/// Reads along `line` and measures what was seen.
Candidate examine(const Patch &patch, const LineModel &line) {
    Candidate c{line, readStrip(patch, line, line.cells)};
    const auto weights = presence(c.columns);
    std::vector<double> sums(weights.size() + 1, 0);
    c.low = INFINITY;
    c.high = -INFINITY;
    for (int x = 0; x < c.columns.count; ++x) {
        sums[x + 1] = sums[x] + weights[x];
        c.weight += weights[x];
        c.logPitch += weights[x] * c.columns.pitch[x];
    }
    for (int x = 0; x < c.columns.count; ++x) {
        // An end is where two cells' worth of columns are mostly filled, so that specks beside the line do not count.
        const int ahead = std::min(x + 8, c.columns.count), behind = std::max(x - 7, 0);
        const double cell = cellAt(Columns::position(x));
        if (weights[x] > 0.5 && sums[ahead] - sums[x] > 5) {
            c.low = std::min(c.low, cell);
        }
        if (weights[x] > 0.5 && sums[x + 1] - sums[behind] > 5) {
            c.high = std::max(c.high, cell);
        }
    }
    c.logPitch = c.weight > 0 ? c.logPitch / c.weight : 0;
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

/// The line moved, scaled and bent to where the reader saw it.
LineModel refined(const Candidate &c) {
    LineModel line = c.line;
    const auto weights = presence(c.columns);
    if (c.weight < 8) {
        return line;
    }
    std::vector<double> s, n;
    double height = 0;
    for (int x = 0; x < c.columns.count; ++x) {
        s.push_back(line.along(cellAt(Columns::position(x))));
        n.push_back(line.across(s.back()) + c.columns.rise[x] * line.height / stripLetter);
        height += weights[x] * c.columns.height[x];
    }
    line.across = fitParabola(s, n, weights, c.weight > 60);
    line.height *= std::exp(std::clamp(height / c.weight, -0.6, 0.6));
    return line;
}

/// How far the reader saw the line beside the strip's middle, and how much larger or smaller than the strip expects.
double misfit(const Candidate &c) {
    const auto weights = presence(c.columns);
    double rise = 0, height = 0, total = 1e-9;
    for (int x = 0; x < c.columns.count; ++x) {
        rise += weights[x] * std::abs(c.columns.rise[x]);
        height += weights[x] * c.columns.height[x];
        total += weights[x];
    }
    return rise / total / stripLetter + std::abs(height / total);
}

/// Follows the line until the strip fits it; what was found of a line is often short and its slope wrong.
void settle(const Patch &patch, Candidate &c) {
    for (int pass = 0; pass < 3 && c.weight >= 8 && misfit(c) > tolerated; ++pass) {
        c = examine(patch, refined(c));
    }
}

/// Leaves only the lines that are printed like the most convincing one: other text nearby has another pitch, and the
/// reader hesitates over it. False when not even that one reads.
bool selectAlike(std::vector<Candidate> &candidates) {
    const auto conviction = [](const Candidate &c) { return c.weight * std::exp(3 * c.confidence); };
    const auto logPitch = [](const Candidate &c) { return std::log(c.line.pitch()) + c.logPitch; };
    const Candidate &best = *std::max_element(
        candidates.begin(), candidates.end(),
        [&](const Candidate &a, const Candidate &b) { return conviction(a) < conviction(b); });
    const double pitch = logPitch(best), confidence = best.confidence;
    candidates.erase(
        std::remove_if(
            candidates.begin(), candidates.end(),
            [&](const Candidate &c) {
                return std::abs(logPitch(c) - pitch) > 0.25 || c.confidence < confidence - 0.5;
            }),
        candidates.end());
    return confidence > unreadable;
}

/// Gives all lines the same extent: where any of them shows characters.
void align(std::vector<Candidate> &candidates) {
    double low = INFINITY, high = -INFINITY, logPitch = 0, weight = 0;
    const LineModel &first = candidates.front().line;
    for (const Candidate &c : candidates) {
        if (c.low > c.high) {
            continue;
        }
        const double shift = (c.line.origin - first.origin).dot(first.direction);
        low = std::min(low, shift + c.line.along(c.low));
        high = std::max(high, shift + c.line.along(c.high));
        logPitch += c.weight * (c.logPitch + std::log(c.line.pitch()));
        weight += c.weight;
    }
    if (weight <= 0) {
        return;
    }
    const double pitch = std::exp(logPitch / weight);
    for (Candidate &c : candidates) {
        const double shift = (c.line.origin - first.origin).dot(first.direction);
        c.line = refined(c);
        c.line.along = {low - shift + 0.3 * pitch, pitch, 0};
        c.line.cells = std::clamp((high - low) / pitch + 0.4, 10.0, 60.0);
    }
}

LineReading fit(const Candidate &c, int cells, double pitch) {
    LineReading reading;
    reading.line = c.line;
    const Grid grid = fitGrid(c.columns, cells, pitch);
    reading.score = grid.score;
    if (grid.centres.empty()) {
        return reading;
    }
    reading.logs.resize(size_t(cells) * classes);
    std::vector<double> index, along, weights;
    double best = 0;
    for (int i = 0; i < cells; ++i) {
        float *logs = reading.logs.data() + size_t(i) * classes;
        characterAt(c.columns, grid.centres[i], pitch, logs);
        best += *std::max_element(logs, logs + classes);
        index.push_back(i);
        along.push_back(c.line.along(cellAt(grid.centres[i])));
        weights.push_back(1);
    }
    reading.score += best / cells;
    reading.line.along = fitParabola(index, along, weights, true);
    reading.line.cells = cells;
    return reading;
}

double stripPitchOf(const std::vector<Candidate> &candidates) {
    double logPitch = 0, weight = 1e-9;
    for (const Candidate &c : candidates) {
        logPitch += c.weight * c.logPitch;
        weight += c.weight;
    }
    return stripPitch * std::exp(std::clamp(logPitch / weight, -0.4, 0.4));
}

/// Every layout of consecutive lines, best first.
std::vector<ZoneReading> layouts(const std::vector<Candidate> &candidates) {
    const double pitch = stripPitchOf(candidates);
    const int count = int(candidates.size());
    std::vector<ZoneReading> zones;
    std::vector<double> readable(count, -INFINITY);
    std::vector<std::vector<LineReading>> fits;
    for (const int cells : shapes) {
        fits.emplace_back();
        for (int i = 0; i < count; ++i) {
            fits.back().push_back(fit(candidates[i], cells, pitch));
            readable[i] = std::max(readable[i], fits.back()[i].score);
        }
    }
    for (size_t shape = 0; shape < fits.size(); ++shape) {
        const int rows = std::min(shapes[shape] == 30 ? 3 : 2, count);
        for (int first = 0; first + rows <= count; ++first) {
            ZoneReading zone;
            zone.cells = shapes[shape];
            for (int i = 0; i < count; ++i) {
                if (i >= first && i < first + rows) {
                    zone.lines.push_back(fits[shape][i]);
                    zone.score += fits[shape][i].score / rows;
                } else if (readable[i] > doubtful) {
                    zone.score -= unusedLine;
                }
            }
            zones.push_back(std::move(zone));
        }
    }
    std::sort(
        zones.begin(), zones.end(), [](const ZoneReading &a, const ZoneReading &b) { return a.score > b.score; });
    return zones;
}

/// Adds lines that the detector did not see, at the distance of the others or at a usual one.
bool completed(const cv::Mat &gray, const Patch &patch, std::vector<Candidate> &candidates, const ZoneReading &zone) {
    const int rows = zone.cells == 30 ? 3 : 2;
    if (int(zone.lines.size()) >= rows) {
        return false;
    }
    const LineModel top = zone.lines.front().line, bottom = zone.lines.back().line;
    std::vector<double> gaps{1.6, 2.0, 2.4, 2.9};
    if (zone.lines.size() > 1) {
        gaps = {(bottom.at(zone.cells / 2.0) - top.at(zone.cells / 2.0)).dot(top.down()) / top.pitch()};
    }
    double best = doubtful - 0.3;
    Candidate found;
    bool above = false;
    for (const double gap : gaps) {
        for (const bool up : {true, false}) {
            LineModel line = up ? top : bottom;
            line.origin += (up ? -1 : 1) * gap * line.pitch() * line.down();
            const cv::Point2d middle = line.at(zone.cells / 2.0);
            if (middle.x < 0 || middle.y < 0 || middle.x >= gray.cols || middle.y >= gray.rows) {
                continue;
            }
            Candidate c = examine(patch, line);
            settle(patch, c);
            const double score = fit(c, zone.cells, stripPitchOf({c})).score;
            // Refining may have slid it onto a line that is there already.
            const bool known = std::any_of(zone.lines.begin(), zone.lines.end(), [&](const LineReading &other) {
                const cv::Point2d apart = c.line.at(zone.cells / 2.0) - other.line.at(zone.cells / 2.0);
                return std::abs(apart.dot(top.down())) < 1.2 * top.pitch();
            });
            if (!known && score > best) {
                best = score;
                found = std::move(c);
                above = up;
            }
        }
    }
    if (found.columns.count == 0) {
        return false;
    }
    candidates.insert(above ? candidates.begin() : candidates.end(), std::move(found));
    return true;
}

Block turned(const Block &block) {
    Block out = block;
    for (LineModel &line : out.lines) {
        const double end = line.along(line.cells - 1);
        line.direction = -line.direction;
        line.along = {-end, line.along.b, 0};
        line.across = {-line.across.a, line.across.b, -line.across.c};
    }
    std::reverse(out.lines.begin(), out.lines.end());
    return out;
}

std::vector<ZoneReading> readUpright(const cv::Mat &gray, const Block &block) {
    const Patch patch = Patch::around(gray, block.lines);
    if (patch.pixels.empty()) {
        return {};
    }
    std::vector<Candidate> candidates;
    std::vector<LineModel> lines = block.lines;
    if (lines.size() > 2) {
        // Ordinary print is dismissed by its longest line, before time is spent on the others.
        const auto longest = std::max_element(
            lines.begin(), lines.end(), [](const LineModel &a, const LineModel &b) { return a.cells < b.cells; });
        if (examine(patch, *longest).confidence < dismissed) {
            return {};
        }
    }
    for (const LineModel &line : lines) {
        candidates.push_back(examine(patch, line));
    }
    if (!selectAlike(candidates)) {
        return {};
    }
    align(candidates);
    for (Candidate &c : candidates) {
        c = examine(patch, c.line);
        settle(patch, c);
    }
    std::vector<ZoneReading> zones = layouts(candidates);
    if (zones.empty() || zones.front().score < accepted) {
        return zones;
    }
    while (completed(gray, patch, candidates, zones.front())) {
        auto more = layouts(candidates);
        if (more.front().lines.size() <= zones.front().lines.size()) {
            break;
        }
        zones = std::move(more);
    }
    return zones;
}

}  // namespace

std::vector<ZoneReading> readBlock(const cv::Mat &gray, const Block &block) {
    std::vector<ZoneReading> zones = readUpright(gray, block);
    if (!zones.empty() && zones.front().score < doubtful && zones.front().score > hopeless) {
        auto other = readUpright(gray, turned(block));
        if (!other.empty() && other.front().score > zones.front().score + reversal) {
            zones = std::move(other);
        }
    }
    zones.erase(
        std::remove_if(zones.begin(), zones.end(), [&](const ZoneReading &zone) {
            return zone.score < accepted || zone.score < zones.front().score - 0.7;
        }),
        zones.end());
    return zones;
}

}  // namespace cvision::mrz
