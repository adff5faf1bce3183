#include "mrz_layout.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "mrz_candidates.hpp"

namespace cvision::mrz {
namespace {

constexpr int short_line = 9;  // cells of the first line of Swiss licences
constexpr int lengths[] = {30, 36, 44, short_line};
/// Cells of each line: Doc 9303-5; -6 and -7; -4 and -7; French and Swiss licences.
const std::vector<int> shapes[] = {{30, 30, 30}, {36, 36}, {44, 44}, {30}, {short_line, 30, 30}};
constexpr double accepted = -0.8;     // score below which a layout is no MRZ
constexpr double doubtful = -0.5;     // score from which a line counts as readable
constexpr double dismissed = -0.7;    // confidence of a glance below which the block is not read
constexpr double legible = -0.3;      // confidence of a glance above which the other direction is not tried
constexpr double upright = -0.2;      // score below which an MRZ may have been read upside down
constexpr double firm = -0.4;         // score from which lines that the detector missed are sought
constexpr double clear = -0.1;        // score from which the lines are not sampled again
constexpr double fair = -0.2;         // the same where the strips already fit; blurred lines gain from sampling again
constexpr double shortest = 22;       // cells below which text is no line of an MRZ, even one partly covered
constexpr double unused_line = 0.35;  // cost of each readable line that a layout omits

/// Lines of an MRZ whose lines have `cells` characters.
int rows_of(int cells) { return cells == 30 ? 3 : 2; }

LineReading fit(const Candidate &c, int cells, double pitch) {
    LineReading reading;
    reading.line = c.line;
    const Grid grid = fit_grid(c.columns, cells, pitch);
    reading.score = grid.score;
    if (grid.centres.empty()) {
        return reading;
    }
    reading.logs.resize(size_t(cells) * classes);
    std::vector<double> index, along, weights;
    double best = 0;
    for (int i = 0; i < cells; ++i) {
        float *logs = reading.logs.data() + size_t(i) * classes;
        character_at(c.columns, grid.centres[i], pitch, logs);
        best += *std::max_element(logs, logs + classes);
        index.push_back(i);
        along.push_back(c.line.along(cell_at(grid.centres[i])));
        weights.push_back(1);
    }
    reading.score += best / cells;
    reading.line.along = fit_parabola(index, along, weights, true);
    reading.line.cells = cells;
    return reading;
}

double strip_pitch_of(const std::vector<Candidate> &candidates) {
    double log_pitch = 0, weight = 1e-9;
    for (const Candidate &c : candidates) {
        log_pitch += c.weight * c.log_pitch;
        weight += c.weight;
    }
    return strip_pitch * std::exp(std::clamp(log_pitch / weight, -0.4, 0.4));
}

const LineModel &longest_of(const Block &block) {
    return *std::max_element(block.lines.begin(), block.lines.end(),
                             [](const LineModel &a, const LineModel &b) { return a.cells < b.cells; });
}

/// Every layout of consecutive lines, best first.
std::vector<MRZReading> layouts(const std::vector<Candidate> &candidates) {
    const double pitch = strip_pitch_of(candidates);
    const int count = int(candidates.size());
    std::vector<MRZReading> readings;
    std::vector<double> readable(count, -INFINITY);
    std::vector<std::vector<LineReading>> fits;  // for each length, those of the lines
    for (const int cells : lengths) {
        fits.emplace_back();
        for (int i = 0; i < count; ++i) {
            fits.back().push_back(fit(candidates[i], cells, pitch));
            if (cells != short_line) {
                readable[i] = std::max(readable[i], fits.back()[i].score);
            }
        }
    }
    const auto fit_of = [&](int cells, int line) -> const LineReading & {
        return fits[std::find(std::begin(lengths), std::end(lengths), cells) - std::begin(lengths)][line];
    };
    for (const std::vector<int> &shape : shapes) {
        // If fewer lines were found than the shape has, the others are sought later.
        const bool whole = count >= int(shape.size());
        if (!whole && shape.front() == short_line) {
            continue;
        }
        const int rows = whole ? int(shape.size()) : count;
        for (int first = 0; first + rows <= count; ++first) {
            MRZReading reading;
            reading.cells = shape.back();
            reading.first = size_t(first);
            const double cells = std::accumulate(shape.begin(), shape.begin() + rows, 0.0);
            for (int i = 0; i < count; ++i) {
                if (i >= first && i < first + rows) {
                    reading.lines.push_back(fit_of(shape[i - first], i));
                    reading.score += reading.lines.back().score * shape[i - first] / cells;
                } else if (readable[i] > doubtful) {
                    reading.score -= unused_line;
                }
            }
            readings.push_back(std::move(reading));
        }
    }
    std::sort(readings.begin(), readings.end(),
              [](const MRZReading &a, const MRZReading &b) { return a.score > b.score; });
    return readings;
}

/// Adds lines that the detector missed, at the distance of the others or at a usual one.
bool completed(const cv::Mat &gray, const Patch &patch, std::vector<Candidate> &candidates, const MRZReading &reading) {
    if (int(reading.lines.size()) >= rows_of(reading.cells)) {
        return false;
    }
    const LineModel top = reading.lines.front().line, bottom = reading.lines.back().line;
    std::vector<double> gaps{1.6, 2.0, 2.4, 2.9};
    if (reading.lines.size() > 1) {
        gaps = {(bottom.at(reading.cells / 2.0) - top.at(reading.cells / 2.0)).dot(top.down()) / top.pitch()};
    }
    // A glance at each place first; only the likeliest is read.
    double best = dismissed;
    LineModel likeliest;
    bool above = false;
    for (const double gap : gaps) {
        for (const bool up : {true, false}) {
            LineModel line = up ? top : bottom;
            line.origin += (up ? -1 : 1) * gap * line.pitch() * line.down();
            const cv::Point2d middle = line.at(reading.cells / 2.0);
            if (middle.x < 0 || middle.y < 0 || middle.x >= gray.cols || middle.y >= gray.rows) {
                continue;
            }
            // The first line of Swiss licences is short.
            for (const bool begin : {false, true}) {
                if (begin && (!up || reading.lines.size() < 2)) {
                    continue;
                }
                LineModel part = begin ? line : middle_of(line);
                part.cells = begin ? short_line : part.cells;
                const Candidate c = examine(patch, part);
                const double confidence = c.confidence - misfit(c);
                if (confidence > best) {
                    best = confidence;
                    likeliest = line;
                    likeliest.cells = begin ? short_line : line.cells;
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
    // Refining may have moved it onto a known line.
    const bool known = std::any_of(reading.lines.begin(), reading.lines.end(), [&](const LineReading &other) {
        const cv::Point2d apart = found.line.at(reading.cells / 2.0) - other.line.at(reading.cells / 2.0);
        return std::abs(apart.dot(top.down())) < 1.2 * top.pitch();
    });
    const int cells = likeliest.cells == short_line ? short_line : reading.cells;
    if (known || fit(found, cells, strip_pitch_of({found})).score < doubtful - 0.3) {
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

/// Whether sampling the lines again would not improve the reading. Lines that the layout omits need not fit: a readable one
/// would cost it more than is allowed here.
bool is_final(const std::vector<MRZReading> &readings, const std::vector<Candidate> &candidates) {
    if (readings.empty() || int(readings.front().lines.size()) < rows_of(readings.front().cells)) {
        return false;
    }
    const auto first = candidates.begin() + long(readings.front().first);
    const std::vector<Candidate> lines(first, first + long(readings.front().lines.size()));
    return are_covered(lines) &&
           (readings.front().score > clear || (readings.front().score > fair && are_aligned(lines)));
}

std::vector<MRZReading> read_upright(const cv::Mat &gray, const Patch &patch, const Block &block) {
    std::vector<Candidate> candidates;
    for (const LineModel &line : block.lines) {
        candidates.push_back(examine(patch, line));
    }
    if (!select_alike(candidates)) {
        return {};
    }
    if (extent_of(candidates) < shortest) {
        return {};
    }
    std::vector<MRZReading> readings = layouts(candidates);
    if (!is_final(readings, candidates)) {
        align(candidates);
        for (Candidate &c : candidates) {
            c = examine(patch, c.line);
            settle(patch, c);
        }
        drop_repeated(candidates);
        readings = layouts(candidates);
    }
    if (readings.empty() || readings.front().score < firm) {
        return readings;
    }
    while (completed(gray, patch, candidates, readings.front())) {
        auto more = layouts(candidates);
        if (more.front().lines.size() <= readings.front().lines.size()) {
            break;
        }
        readings = std::move(more);
    }
    return readings;
}

}  // namespace

std::vector<MRZReading> read_block(const cv::Mat &gray, const Block &block) {
    const Patch patch = Patch::around(gray, block.lines);
    if (patch.pixels.empty()) {
        return {};
    }
    // A glance at one line distinguishes ordinary text from an MRZ, and corrects the detector's size and reading direction.
    struct Look {
        Block block;
        Candidate glance;
    };
    const auto look = [&](Block seen) {
        Candidate glance = examine(patch, middle_of(longest_of(seen)));
        return Look{std::move(seen), std::move(glance)};
    };
    const auto read = [&](Look seen) {
        measure(seen.block.lines, seen.glance);
        return read_upright(gray, patch, seen.block);
    };
    Look way = look(block);
    const bool hesitates = way.glance.confidence < legible;
    if (hesitates) {
        Look other = look(turned(block));
        if (other.glance.confidence > way.glance.confidence) {
            way = std::move(other);
        }
    }
    if (way.glance.confidence < dismissed) {
        return {};
    }
    std::vector<MRZReading> readings = read(way);
    // Some text passes a glance even upside down, since many letters resemble others then; a whole MRZ cannot be read so.
    if (!hesitates && (readings.empty() || readings.front().score < upright)) {
        Look other = look(turned(block));
        if (other.glance.confidence > way.glance.confidence) {
            std::vector<MRZReading> more = read(std::move(other));
            if (!more.empty() && (readings.empty() || more.front().score > readings.front().score)) {
                readings = std::move(more);
            }
        }
    }
    readings.erase(std::remove_if(readings.begin(), readings.end(),
                                  [&](const MRZReading &reading) {
                                      return reading.score < accepted || reading.score < readings.front().score - 0.7;
                                  }),
                   readings.end());
    return readings;
}

}  // namespace cvision::mrz
