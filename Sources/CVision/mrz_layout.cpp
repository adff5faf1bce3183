#include "mrz_layout.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace cvision::mrz {
namespace {

constexpr int shortLine = 9;  // cells of the first line of Swiss licences
constexpr int lengths[] = {30, 36, 44, shortLine};
/// Cells of each line: Doc 9303-5; -6 and -7; -4 and -7; French and Swiss licences.
const std::vector<int> shapes[] = {{30, 30, 30}, {36, 36}, {44, 44}, {30}, {shortLine, 30, 30}};
constexpr double accepted = -0.8;       // score below which a layout is no zone
constexpr double doubtful = -0.5;       // score below which the zone is also read upside down
constexpr double unreadable = -0.4;     // confidence of a line that is none
constexpr double dismissed = -0.7;      // confidence of a glance below which the block is not read
constexpr double legible = -0.3;        // confidence of a glance from which the other direction is not tried
constexpr double firm = -0.4;           // score from which a line that the detector missed is looked for
constexpr double clear = -0.1;          // score from which the lines are not sampled again, better aligned
constexpr int glanceCells = 12;         // cells in the middle of a line that tell print of a zone from other print
constexpr double tolerated = 0.12;      // misfit of a strip, in heights of a letter, that the reader is trained for
constexpr double passable = 0.2;        // misfit, and error of the pitch, with which a clear line is still read as well
constexpr double shortest = 22;         // cells below which print is no line of a zone, whatever part of it is covered
constexpr double unusedLine = 0.35;     // what a layout pays for each readable line that it leaves out

/// Lines of a zone whose lines have `cells` characters.
int rowsOf(int cells) { return cells == 30 ? 3 : 2; }

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

/// The middle of `line`, for a glance at it.
LineModel middleOf(LineModel line) {
    if (line.cells > glanceCells) {
        const double first = (line.cells - glanceCells) / 2;
        const Parabola &all = line.along;
        line.along = {all(first), all.b + 2 * all.c * first, all.c};
        line.cells = glanceCells;
    }
    return line;
}

const LineModel &longestOf(const Block &block) {
    return *std::max_element(block.lines.begin(), block.lines.end(), [](const LineModel &a, const LineModel &b) {
        return a.cells < b.cells;
    });
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

/// Leaves out lines that were followed onto one that is there already, the less convincing of the two.
void dropRepeated(std::vector<Candidate> &candidates) {
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
    std::vector<std::vector<LineReading>> fits;  // for each length, those of the lines
    for (const int cells : lengths) {
        fits.emplace_back();
        for (int i = 0; i < count; ++i) {
            fits.back().push_back(fit(candidates[i], cells, pitch));
            if (cells != shortLine) {
                readable[i] = std::max(readable[i], fits.back()[i].score);
            }
        }
    }
    const auto fitOf = [&](int cells, int line) -> const LineReading & {
        return fits[std::find(std::begin(lengths), std::end(lengths), cells) - std::begin(lengths)][line];
    };
    for (const std::vector<int> &shape : shapes) {
        // Where fewer lines were found than the shape has, the others are looked for later.
        const bool whole = count >= int(shape.size());
        if (!whole && shape.front() == shortLine) {
            continue;
        }
        const int rows = whole ? int(shape.size()) : count;
        for (int first = 0; first + rows <= count; ++first) {
            ZoneReading zone;
            zone.cells = shape.back();
            const double cells = std::accumulate(shape.begin(), shape.begin() + rows, 0.0);
            for (int i = 0; i < count; ++i) {
                if (i >= first && i < first + rows) {
                    zone.lines.push_back(fitOf(shape[i - first], i));
                    zone.score += zone.lines.back().score * shape[i - first] / cells;
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
    if (int(zone.lines.size()) >= rowsOf(zone.cells)) {
        return false;
    }
    const LineModel top = zone.lines.front().line, bottom = zone.lines.back().line;
    std::vector<double> gaps{1.6, 2.0, 2.4, 2.9};
    if (zone.lines.size() > 1) {
        gaps = {(bottom.at(zone.cells / 2.0) - top.at(zone.cells / 2.0)).dot(top.down()) / top.pitch()};
    }
    // A glance at each place first; only the likeliest is read.
    double best = dismissed;
    LineModel likeliest;
    bool above = false;
    for (const double gap : gaps) {
        for (const bool up : {true, false}) {
            LineModel line = up ? top : bottom;
            line.origin += (up ? -1 : 1) * gap * line.pitch() * line.down();
            const cv::Point2d middle = line.at(zone.cells / 2.0);
            if (middle.x < 0 || middle.y < 0 || middle.x >= gray.cols || middle.y >= gray.rows) {
                continue;
            }
            // The first line of Swiss licences is short.
            for (const bool begin : {false, true}) {
                if (begin && (!up || zone.lines.size() < 2)) {
                    continue;
                }
                LineModel part = begin ? line : middleOf(line);
                part.cells = begin ? shortLine : part.cells;
                const Candidate c = examine(patch, part);
                const double confidence = c.confidence - misfit(c);
                if (confidence > best) {
                    best = confidence;
                    likeliest = line;
                    likeliest.cells = begin ? shortLine : line.cells;
                    above = up;
                }
            }
        }
    }
    if (best <= dismissed) {
        return false;
    }
    Candidate found = examine(patch, likeliest);
    settle(patch, found);
    // Refining may have slid it onto a line that is there already.
    const bool known = std::any_of(zone.lines.begin(), zone.lines.end(), [&](const LineReading &other) {
        const cv::Point2d apart = found.line.at(zone.cells / 2.0) - other.line.at(zone.cells / 2.0);
        return std::abs(apart.dot(top.down())) < 1.2 * top.pitch();
    });
    const int cells = likeliest.cells == shortLine ? shortLine : zone.cells;
    if (known || fit(found, cells, stripPitchOf({found})).score < doubtful - 0.3) {
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

/// Length of the longest line in cells, as far as it shows characters; endless where it may go on beyond its strip.
double extentOf(const std::vector<Candidate> &candidates) {
    double longest = 0;
    for (const Candidate &c : candidates) {
        if (c.low < 1 - stripMargin || c.high > c.line.cells - 2 + stripMargin) {
            return INFINITY;
        }
        longest = std::max(longest, (c.high - c.low) * std::exp(-c.logPitch));
    }
    return longest;
}

/// Whether the strips as they were sampled show all of every line, as the reader was trained to see it.
bool areCovered(const std::vector<Candidate> &candidates) {
    const LineModel &first = candidates.front().line;
    double low = INFINITY, high = -INFINITY;
    for (const Candidate &c : candidates) {
        if (c.low > c.high || c.weight < 8 || misfit(c) > passable || std::abs(c.logPitch) > passable) {
            return false;
        }
        const double shift = (c.line.origin - first.origin).dot(first.direction);
        low = std::min(low, shift + c.line.along(c.low));
        high = std::max(high, shift + c.line.along(c.high));
    }
    return std::all_of(candidates.begin(), candidates.end(), [&](const Candidate &c) {
        const double shift = (c.line.origin - first.origin).dot(first.direction);
        return shift + c.line.along(1 - stripMargin) < low && shift + c.line.along(c.line.cells - 2 + stripMargin) > high;
    });
}

std::vector<ZoneReading> readUpright(const cv::Mat &gray, const Patch &patch, const Block &block) {
    std::vector<Candidate> candidates;
    for (const LineModel &line : block.lines) {
        candidates.push_back(examine(patch, line));
    }
    if (!selectAlike(candidates)) {
        return {};
    }
    if (extentOf(candidates) < shortest) {
        return {};
    }
    std::vector<ZoneReading> zones;
    if (areCovered(candidates)) {
        zones = layouts(candidates);
    }
    if (zones.empty() || zones.front().score < clear || int(zones.front().lines.size()) < rowsOf(zones.front().cells)) {
        align(candidates);
        for (Candidate &c : candidates) {
            c = examine(patch, c.line);
            settle(patch, c);
        }
        dropRepeated(candidates);
        zones = layouts(candidates);
    }
    if (zones.empty() || zones.front().score < firm) {
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
    const Patch patch = Patch::around(gray, block.lines);
    if (patch.pixels.empty()) {
        return {};
    }
    // A glance tells ordinary print from a zone's, and which way it is read where the detector was wrong.
    const double confidence = examine(patch, middleOf(longestOf(block))).confidence;
    std::vector<ZoneReading> zones;
    Block other;
    double otherConfidence = -10;
    if (confidence < legible) {
        other = turned(block);
        otherConfidence = examine(patch, middleOf(longestOf(other))).confidence;
    }
    if (std::max(confidence, otherConfidence) < dismissed) {
        return {};
    }
    zones = readUpright(gray, patch, otherConfidence > confidence ? other : block);
    zones.erase(
        std::remove_if(zones.begin(), zones.end(), [&](const ZoneReading &zone) {
            return zone.score < accepted || zone.score < zones.front().score - 0.7;
        }),
        zones.end());
    return zones;
}

}  // namespace cvision::mrz
