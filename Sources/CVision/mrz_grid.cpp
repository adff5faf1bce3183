#include "mrz_grid.hpp"

#include <algorithm>
#include <cmath>

#include "cpu.hpp"

namespace cvision::mrz {
namespace {

constexpr int fineness = 2;      // grid positions per column: one every 2 strip pixels
constexpr float floor_log = -7;  // no single column may rule out a layout
constexpr double jitter = 0.12;  // deviation of a step, in pitches
constexpr double outside_weight =
    0.3 / fineness;  // so that a skipped character costs about as much as a cell without one

float clipped(double probability) { return std::max(floor_log, float(std::log(std::max(probability, 1e-9)))); }

/// One step from every position.
struct Step {
    const float *before, *here, *blanks;
    float cost;
    float *most;    // the likeliest way to each position
    int16_t *came;  // and where it came from
    int count;
};

[[gnu::always_inline]] inline void take(const Step &step) {
    for (int i = 0; i < step.count; ++i) {
        const float value = step.before[i] + step.here[i] - step.cost + step.blanks[i];
        const bool better = value > step.most[i];
        step.came[i] = better ? int16_t(i) : step.came[i];
        step.most[i] = better ? value : step.most[i];
    }
}

#ifdef __x86_64__
[[gnu::target("avx2")]] void take_by_8(const Step &step) { take(step); }
#endif

void take_widest(const Step &step) {
#ifdef __x86_64__
    if (registers() != Registers::by_4) {
        count_wide_run();
        return take_by_8(step);
    }
#endif
    take(step);
}

}  // namespace

Columns columns_of(const Tensor &answer) {
    Columns out;
    out.count = answer.columns;
    out.logits.resize(size_t(out.count) * (classes + 1));
    for (int x = 0; x < out.count; ++x) {
        float *to = out.logits.data() + size_t(x) * (classes + 1);
        float top = -INFINITY, sum = 0;
        for (int k = 0; k <= classes; ++k) {
            to[k] = answer.plane(k)[x];
            top = std::max(top, to[k]);
        }
        for (int k = 0; k <= classes; ++k) {
            sum += std::exp(to[k] - top);
        }
        const float whole = top + std::log(sum);
        for (int k = 0; k <= classes; ++k) {
            to[k] -= whole;
        }
        out.rise.push_back(answer.plane(classes + 1)[x] * 8);
        out.height.push_back(answer.plane(classes + 2)[x]);
        out.pitch.push_back(answer.plane(classes + 3)[x]);
    }
    return out;
}

Grid fit_grid(const Columns &columns, int cells, double pitch) {
    const int n = (columns.count - 1) * fineness + 1;
    const double step = pitch / strip_stride * fineness;
    std::vector<float> inked(n), empty(n);
    for (int i = 0; i < n; ++i) {
        const int left = i / fineness, right = std::min(left + 1, columns.count - 1);
        const double t = double(i % fineness) / fineness;
        const double blank = (1 - t) * std::exp(columns.blank(left)) + t * std::exp(columns.blank(right));
        inked[i] = clipped(1 - blank);
        empty[i] = clipped(blank);
    }
    std::vector<float> before(n + 1, 0);
    for (int i = 0; i < n; ++i) {
        before[i + 1] = before[i] + empty[i];
    }
    const int low = std::max(1, int(std::floor(step * 0.75))), high = int(std::ceil(step * 1.25));
    const int half = std::max(1, int(std::lround(step / 2)));
    std::vector<float> best(n), next(n), between(n);  // between: what a blank in the middle of a step adds
    for (int i = 0; i < n; ++i) {
        between[i] = 0.3f * empty[i];
    }
    std::vector<std::vector<int16_t>> from(cells, std::vector<int16_t>(n, -1));
    for (int i = 0; i < n; ++i) {
        best[i] = inked[i] + float(outside_weight) * before[std::max(0, i - half)];
    }
    for (int cell = 1; cell < cells; ++cell) {
        std::fill(next.begin(), next.end(), -1e9f);
        // Step by step over all positions, of which several are taken at a time.
        int16_t *const came = from[cell].data();
        for (int d = low; d <= high && d < n; ++d) {
            const double off = (d - step) / (jitter * step);
            const Step all{best.data(),
                           inked.data() + d,
                           between.data() + d - d / 2,
                           float(0.5 * off * off),
                           next.data() + d,
                           came + d,
                           n - d};
            take_widest(all);
        }
        best.swap(next);
    }
    int end = 0;
    float top = -1e9f;
    for (int i = 0; i < n; ++i) {
        const float value = best[i] + float(outside_weight) * (before[n] - before[std::min(n, i + half)]);
        if (value > top) {
            top = value;
            end = i;
        }
    }
    Grid grid;
    grid.score = top / cells;
    if (top < -1e8f) {
        grid.score = floor_log;
        return grid;
    }
    grid.centres.resize(cells);
    for (int cell = cells - 1; cell >= 0; --cell) {
        grid.centres[cell] = Columns::position(0) + double(end) / fineness * strip_stride;
        end = cell > 0 ? from[cell][end] : end;
    }
    return grid;
}

void character_at(const Columns &columns, double position, double pitch, float *logs) {
    std::fill(logs, logs + classes, 0.0f);
    double total = 0;
    const double centre = (position + 0.5) / strip_stride - 0.5, reach = 0.3 * pitch / strip_stride;
    for (int x = std::max(0, int(centre - 2)); x <= std::min(columns.count - 1, int(centre + 3)); ++x) {
        const double distance = std::abs(x - centre);
        // Columns nearer to the centre, and those that see a character, weigh more.
        const double weight = std::max(0.0, 1 - distance / (reach + 1)) * (1.02 - std::exp(columns.blank(x)));
        for (int k = 0; k < classes; ++k) {
            logs[k] += float(weight) * columns.at(x)[k];
        }
        total += weight;
    }
    float top = -INFINITY, sum = 0;
    for (int k = 0; k < classes; ++k) {
        logs[k] = total > 0 ? logs[k] / float(total) : 0;
        top = std::max(top, logs[k]);
    }
    for (int k = 0; k < classes; ++k) {
        sum += std::exp(logs[k] - top);
    }
    const float whole = top + std::log(sum);
    for (int k = 0; k < classes; ++k) {
        logs[k] -= whole;
    }
}

}  // namespace cvision::mrz
