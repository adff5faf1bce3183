// Minimal filtering halves the networks' time (Tests/FIGURES.md). Plain convolutions of our own saved 19 % of a side whose VIZ text is
// read over OpenCV's network module. Over whole numbers, as in mrz_bytes.cpp, two fields fewer of 172 were right.
#include "text_network.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <opencv2/imgproc.hpp>
#include <stdexcept>
#include <string_view>

#include "face_models.hpp"
#include "image.hpp"
#include "maps.hpp"
#include "mrz_network.hpp"

extern "C" {
extern const unsigned char cvision_text_reader_weights[];
extern const size_t cvision_text_reader_weights_size;
extern const unsigned char cvision_text_second_weights[];
extern const size_t cvision_text_second_weights_size;
}

namespace cvision::text {
namespace {

// Training/viz_text.py has the same alphabet, viz_render.py the same strip.
constexpr std::u32string_view letters =
    U"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyzÆæØøŒœĐđðŁłÞþßıƏəĦħŦŧŊŋ0123456789 .,-/'():;#&+*<>=?!\"%°@_|";
constexpr int space = static_cast<int>(letters.find(U' '));
constexpr int foreign = static_cast<int>(letters.size()), blank = foreign + 1, classes = blank + 1;
constexpr int strip_rows = 32, window = 129, ends = 8;
/// Of the shares: half of the lines trained on are hardly legible, so the network doubts what it reads rightly.
constexpr float sharpness = 2.5f, second_sharpness = 3.5f;

struct Mark {
    char32_t mark;
    std::u32string_view letters;  ///< that bear it (Doc 9303-3 §6.A), in capitals
};
constexpr std::array<Mark, 14> marks{{
    {0, U""},
    {U'\u0300', U"AEIOU"},
    {U'\u0301', U"ACEILNORSUYZ"},
    {U'\u0302', U"ACEGHIJOSUWY"},
    {U'\u0303', U"AINOU"},
    {U'\u0308', U"AEIOUY"},
    {U'\u030A', U"AU"},
    {U'\u0327', U"CGKLNRST"},
    {U'\u030C', U"CDELNRSTZ"},
    {U'\u0304', U"AEIOU"},
    {U'\u0306', U"AEGIOU"},
    {U'\u0328', U"AEIU"},
    {U'\u0307', U"CEGIZ"},
    {U'\u030B', U"OU"},
}};

/// Whether some language writes `letter` with `mark`. The small i has its dot.
bool bears(char32_t letter, const Mark &mark) {
    if (mark.mark == 0) return true;
    if (letter == U'i' && mark.mark == U'\u0307') return false;
    const char32_t capital = letter >= U'a' && letter <= U'z' ? letter - U'a' + U'A' : letter;
    return mark.letters.find(capital) != std::u32string_view::npos;
}

/// `count` and what it lacks to a multiple of what can be computed.
int whole(int count) { return (count + outputs_multiple - 1) / outputs_multiple * outputs_multiple; }

/// An embedded layer with outputs, and inputs of the layer before, that are always 0, so that they can be computed.
Convolution widened(const mrz::Convolution &from) {
    Convolution layer{from.inputs == 1 ? 1 : whole(from.inputs),
                      whole(from.outputs),
                      {from.kernel_rows, from.kernel_columns},
                      {from.stride_y, from.stride_x},
                      {from.pad_y, from.pad_x}};
    const size_t taps = static_cast<size_t>(from.kernel_rows * from.kernel_columns), inputs = size_t(layer.inputs);
    std::vector<float> filters(size_t(layer.outputs) * inputs * taps);
    for (size_t output = 0; output < size_t(from.outputs); ++output) {
        const size_t length = size_t(from.inputs) * taps;
        std::copy_n(from.weights.data() + output * length, length, filters.data() + output * inputs * taps);
    }
    layer.biases = from.bias;
    layer.biases.resize(size_t(layer.outputs));
    layer.weights = arranged(layer, filters);
    return layer;
}

std::vector<Convolution> load(const unsigned char *weights, size_t size) {
    const std::vector<mrz::Convolution> loaded = mrz::load_weights(weights, size);
    constexpr size_t layers = 9;
    if (loaded.size() != layers || loaded.back().outputs != classes + static_cast<int>(marks.size()))
        throw std::runtime_error("embedded text network has an unexpected number of layers or classes");
    std::vector<Convolution> network;
    for (const mrz::Convolution &layer : loaded) network.push_back(widened(layer));
    network.back().is_rectified = false;
    return network;
}

const std::vector<Convolution> &network(bool is_second) {
    static const auto first = load(cvision_text_reader_weights, cvision_text_reader_weights_size);
    static const auto second = load(cvision_text_second_weights, cvision_text_second_weights_size);
    return is_second ? second : first;
}

/// The network's answers, one row of columns, as sharp as they are trusted.
Maps answers(Maps x, bool is_second) {
    // Freed at the end: memory kept in the warm parent would be copied by each fork that writes to it.
    std::vector<float> scratch;
    const std::vector<Convolution> &layers = network(is_second);
    for (size_t i = 0; i < layers.size(); ++i) {
        const bool is_residual = i == 3 || (i >= 6 && i + 1 < layers.size());
        if (is_residual) {
            const Maps input = x;
            add_convolved(input, layers[i], x, scratch);
        } else {
            x = convolved(x, layers[i], scratch);
        }
    }
    for (float &value : x.values) value *= is_second ? second_sharpness : sharpness;
    return x;
}

/// Subtracts the mean and divides by the deviation of windows of 129 columns; the ends are blank (viz_render.py: normalise).
Maps normalised(const cv::Mat &strip) {
    cv::Mat f, mean, square;
    strip.convertTo(f, CV_32F);
    cv::reduce(f, mean, 0, cv::REDUCE_AVG);
    cv::reduce(f.mul(f), square, 0, cv::REDUCE_AVG);
    cv::blur(mean, mean, {window, 1}, {-1, -1}, cv::BORDER_REPLICATE);
    cv::blur(square, square, {window, 1}, {-1, -1}, cv::BORDER_REPLICATE);
    Maps out(1, strip.rows, (strip.cols + 2 * ends + 1) / 2 * 2, 1);
    for (int x = 0; x < strip.cols; ++x) {
        const float m = mean.at<float>(x), deviation = std::sqrt(std::max(0.f, square.at<float>(x) - m * m)) + 4;
        for (int y = 0; y < strip.rows; ++y) *out.at(0, y, ends + x) = (f.at<float>(y, x) - m) / deviation;
    }
    return out;
}

/// Turns the answers from `first` to `end` of each column into shares of one.
void to_shares(Maps &answer, int first, int end) {
    for (int x = 0; x < answer.columns; ++x) {
        float *const column = answer.at(0, 0, x);
        float most = -INFINITY, sum = 0;
        for (int c = first; c < end; ++c) most = std::max(most, column[c]);
        for (int c = first; c < end; ++c) sum += column[c] = std::exp(column[c] - most);
        for (int c = first; c < end; ++c) column[c] /= sum;
    }
}

int best_class(const Maps &answer, int x) {
    const float *const column = answer.at(0, 0, x);
    return static_cast<int>(std::max_element(column, column + classes) - column);
}

/// A character with the column where its share is greatest.
struct Seen {
    Character character;
    int column;
    float most;  ///< its confidence, were the character itself beyond doubt
    float mark;  ///< the share of its diacritic, or of none
};

/// The letter of class `best`, most certain in column `x`, with the likeliest diacritic that it bears.
Seen seen_at(const Maps &answer, int best, int x) {
    if (best == foreign) return {{U'\uFFFD', 0, 0}, x, 1, 1};
    const char32_t letter = letters[static_cast<size_t>(best)];
    size_t mark = 0;
    const auto share_of = [&](size_t m) { return answer.at(0, 0, x)[classes + static_cast<int>(m)]; };
    for (size_t m = 1; m < marks.size(); ++m)
        if (bears(letter, marks[m]) && share_of(m) > share_of(mark)) mark = m;
    const float sure = letter == U' ' ? 1 : share_of(mark);
    return {{letter, marks[mark].mark, answer.at(0, 0, x)[best] * sure}, x, 1, sure};
}

/// One character for each run of columns with the same best class. What else may stand between two of them is a doubt of both.
std::vector<Seen> decoded(const Maps &answer) {
    std::vector<Seen> line;
    int last = blank;      // the class of the character before
    std::vector<int> gap;  // columns since then
    for (int x = 0; x < answer.columns;) {
        const int best = best_class(answer, x);
        if (best == blank) {
            gap.push_back(x++);
            continue;
        }
        float most = 1;
        for (const int between : gap) {
            float known = answer.at(0, 0, between)[blank] + answer.at(0, 0, between)[best];
            // A possibly missing blank casts no doubt on the letters next to it.
            if (best != space) known += answer.at(0, 0, between)[space];
            if (last != blank && last != best && last != space) known += answer.at(0, 0, between)[last];
            most = std::min(most, known);
        }
        int peak = x;
        for (; x < answer.columns && best_class(answer, x) == best; ++x)
            if (answer.at(0, 0, x)[best] > answer.at(0, 0, peak)[best]) peak = x;
        if (!line.empty()) line.back().most = std::min(line.back().most, most);
        line.push_back(seen_at(answer, best, peak));
        line.back().most = most;
        last = best;
        gap.clear();
    }
    for (Seen &seen : line) seen.character.confidence = std::min(seen.character.confidence, seen.most);
    return line;
}

/// A single strange letter in a Latin word is a Latin one that is hard to read.
void settle_scripts(std::vector<Seen> &line, const Maps &answer) {
    for (size_t first = 0; first < line.size();) {
        size_t end = first, strange = 0;
        for (; end < line.size() && line[end].character.letter != U' '; ++end)
            strange += line[end].character.letter == U'\uFFFD';
        for (size_t i = first; i < end && 2 * strange < end - first; ++i) {
            if (line[i].character.letter != U'\uFFFD') continue;
            const float most = line[i].most;
            const float *const column = answer.at(0, 0, line[i].column);
            const int best = static_cast<int>(std::max_element(column, column + foreign) - column);
            line[i] = seen_at(answer, best, line[i].column);
            line[i].most = most;
            line[i].character.confidence = std::min(line[i].character.confidence, most);
        }
        first = end + 1;
    }
}

/// Makes `seen` the letter `to`, as certain as that and the letters in `alike` together.
void settle(Seen &seen, const Maps &answer, char32_t to, std::u32string_view alike) {
    float share = 0;
    for (const char32_t letter : alike) share += answer.at(0, 0, seen.column)[static_cast<int>(letters.find(letter))];
    seen.character.letter = to;
    seen.character.confidence = std::min(share * seen.mark, seen.most);
}

/// Fonts draw O and 0 alike. Within a word of digits, or anywhere in one with signs between its digits, as in a date, it is a
/// zero.
void settle_zeros(std::vector<Seen> &line, const Maps &answer) {
    for (size_t first = 0; first < line.size();) {
        size_t end = first;
        int digits = 0, signs = 0, others = 0;
        for (; end < line.size() && line[end].character.letter != U' '; ++end) {
            const Character &c = line[end].character;
            if (c.letter >= U'0' && c.letter <= U'9') ++digits;
            else if (std::u32string_view(U"./-:,").find(c.letter) != std::u32string_view::npos) ++signs;
            else if ((c.letter != U'O' && c.letter != U'o') || c.mark != 0) ++others;
        }
        for (size_t i = first; i < end && others == 0 && digits >= 2; ++i) {
            const char32_t letter = line[i].character.letter;
            const bool is_round = letter == U'O' || letter == U'o', is_end = i == first || i + 1 == end;
            if (letter == U'0' || (is_round && (signs > 0 || !is_end))) settle(line[i], answer, U'0', U"0Oo");
        }
        first = end + 1;
    }
}

bool is_small(char32_t letter) { return letter >= U'a' && letter <= U'z'; }
bool is_capital(char32_t letter) { return letter >= U'A' && letter <= U'Z'; }

/// Some capitals differ from small letters in their height alone. Behind the first letter of a word, they are what the word's other
/// letters are.
void settle_capitals(std::vector<Seen> &line, const Maps &answer) {
    constexpr std::u32string_view pairs = U"CcKkOoPpSsUuVvWwXxZzIl";
    const auto is_letter = [&](size_t i) {
        return is_small(line[i].character.letter) || is_capital(line[i].character.letter);
    };
    const auto pair_of = [&](size_t i) { return pairs.find(line[i].character.letter); };
    for (size_t first = 0; first < line.size();) {
        size_t end = first;
        int small = 0, capital = 0;
        for (; end < line.size() && is_letter(end); ++end) {
            if (end == first || pair_of(end) != std::u32string_view::npos) continue;
            ++(is_small(line[end].character.letter) ? small : capital);
        }
        for (size_t i = small > 0 ? first + 1 : first; i < end && (small == 0) != (capital == 0); ++i) {
            const size_t at = pair_of(i);
            if (at == std::u32string_view::npos) continue;
            const std::u32string_view pair = pairs.substr(at / 2 * 2, 2);
            settle(line[i], answer, pair[small > 0 ? 1 : 0], pair);
        }
        first = end + 1;
    }
}

}  // namespace

std::vector<Character> read_line(const cv::Mat &crop, Readers readers) {
    if (crop.empty()) return {};
    const double scale = static_cast<double>(strip_rows) / crop.rows;
    const cv::Size size(std::max(8, cvRound(crop.cols * scale)), strip_rows);
    cv::Mat strip;
    if (scale < 1) strip = averaged(crop, size);
    else cv::resize(crop, strip, size, 0, 0, cv::INTER_CUBIC);
    Maps x = answers(normalised(strip), readers == Readers::second);
    to_shares(x, 0, classes);
    to_shares(x, classes, classes + static_cast<int>(marks.size()));
    std::vector<Seen> seen = decoded(x);
    settle_scripts(seen, x);
    settle_zeros(seen, x);
    settle_capitals(seen, x);
    std::vector<Character> line;
    for (const Seen &one : seen) line.push_back(one.character);
    return line;
}

const std::string &weights_sha256() {
    static const std::string digest = [] {
        std::vector<char> both(cvision_text_reader_weights,
                               cvision_text_reader_weights + cvision_text_reader_weights_size);
        both.insert(both.end(), cvision_text_second_weights,
                    cvision_text_second_weights + cvision_text_second_weights_size);
        return sha256_hex(both);
    }();
    return digest;
}

}  // namespace cvision::text
