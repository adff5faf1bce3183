#include "pdf_content.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

namespace cvision::pdf {
namespace {

/// Real pages of one image nest three levels and give an operator six numbers; invisible text gives more of them in arrays.
constexpr size_t most_levels = 32, most_operands = 64;

bool is_space(uint8_t byte) { return byte == 0 || byte == 9 || byte == 10 || byte == 12 || byte == 13 || byte == 32; }
bool is_delimiter(uint8_t byte) { return byte != 0 && std::strchr("()<>[]{}/%", byte) != nullptr; }

struct Token {
    enum Kind { end, number, name, other, word } kind = end;
    double value = 0;
    std::string_view text;  // of a name or a word
};

/// Splits the content (§7.2). Strings, arrays and dictionaries are passed over.
class Tokens {
public:
    explicit Tokens(Source content) : at(content.bytes), last(content.bytes + content.length) {}

    Token next() {
        skip_space();
        if (at == last) return {};
        const uint8_t *const start = at;
        switch (*at) {
        case '(': return skip_string();
        case '/': {
            ++at;
            skip_word();
            return {Token::name, 0, text(start + 1)};
        }
        case '<':
        case '>':
        case '[':
        case ']':
        case '{':
        case '}':
        case ')':
            ++at;
            if (*start == '<' && (at == last || *at != '<')) {
                while (at != last && *at != '>') ++at;
                if (at != last) ++at;
            } else if (at != last && *at == *start && (*start == '<' || *start == '>')) {
                ++at;
            }
            return {Token::other, 0, {}};
        default: break;
        }
        skip_word();
        const std::string_view word = text(start);
        double value = 0;
        if (read_number(word, value)) return {Token::number, value, {}};
        return {Token::word, 0, word};
    }

private:
    const uint8_t *at, *last;

    std::string_view text(const uint8_t *start) const {
        return {reinterpret_cast<const char *>(start), static_cast<size_t>(at - start)};
    }
    void skip_word() {
        while (at != last && !is_space(*at) && !is_delimiter(*at)) ++at;
    }
    void skip_space() {
        for (; at != last; ++at) {
            if (*at == '%') {
                while (at != last && *at != 10 && *at != 13) ++at;
                if (at == last) return;
            } else if (!is_space(*at)) {
                return;
            }
        }
    }
    Token skip_string() {
        size_t depth = 0;
        for (; at != last; ++at) {
            if (*at == '\\' && at + 1 != last) ++at;
            else if (*at == '(') ++depth;
            else if (*at == ')' && --depth == 0) {
                ++at;
                return {Token::other, 0, {}};
            }
        }
        return {};
    }
    static bool read_number(std::string_view word, double &value) {
        if (word.empty() || word.size() > 30) return false;
        const auto digit = [](char byte) {
            return (byte >= '0' && byte <= '9') || byte == '.' || byte == '-' || byte == '+';
        };
        if (!std::all_of(word.begin(), word.end(), digit)) return false;
        value = std::strtod(std::string(word).c_str(), nullptr);
        return std::isfinite(value);
    }
};

/// a b c d of a transformation; where things lie does not matter.
struct Matrix {
    double a = 1, b = 0, c = 0, d = 1;

    Matrix after(const Matrix &first) const {
        return {first.a * a + first.b * c, first.a * b + first.b * d, first.c * a + first.d * c,
                first.c * b + first.d * d};
    }

    /// 0 if an image is slanted or has no area.
    int orientation() const {
        const double straight = std::min(std::abs(a), std::abs(d)), turned = std::min(std::abs(b), std::abs(c));
        const double most = std::max({std::abs(a), std::abs(b), std::abs(c), std::abs(d)});
        if (!(most < 1e9)) return 0;
        if (straight > 1e-6 && std::max(std::abs(b), std::abs(c)) <= 0.01 * straight)
            return a > 0 ? (d > 0 ? 1 : 4) : (d > 0 ? 2 : 3);
        if (turned > 1e-6 && std::max(std::abs(a), std::abs(d)) <= 0.01 * turned)
            return b > 0 ? (c > 0 ? 7 : 8) : (c > 0 ? 6 : 5);
        return 0;
    }
};

struct State {
    Matrix matrix;
    double text_mode = 0;
};

template <size_t Count>
bool is_one_of(std::string_view word, const std::array<std::string_view, Count> &words) {
    return std::find(words.begin(), words.end(), word) != words.end();
}

/// Operators that paint nothing: graphics state, colour, path construction, marked content, text position.
constexpr std::array<std::string_view, 45> silent{
    "gs", "w",   "J",   "j",  "M",  "d",  "ri", "i",  "re", "n",   "W",   "W*",  "cs", "CS", "sc",
    "SC", "scn", "SCN", "g",  "G",  "rg", "RG", "k",  "K",  "BMC", "BDC", "EMC", "MP", "DP", "BT",
    "ET", "Tf",  "Td",  "TD", "Tm", "T*", "Tc", "Tw", "Tz", "TL",  "Ts",  "BX",  "EX", "m",  "h"};
constexpr std::array<std::string_view, 4> shows_text{"Tj", "TJ", "'", "\""};
constexpr std::array<std::string_view, 2> fills{"f", "f*"};
constexpr double invisible = 3;  // text rendering mode (§9.3.6)

}  // namespace

bool read_content(Source content, Drawing &drawing) {
    Tokens tokens(content);
    std::vector<State> saved;
    State state;
    std::vector<double> numbers;
    std::string_view name;
    for (Token token = tokens.next(); token.kind != Token::end; token = tokens.next()) {
        if (token.kind == Token::number) {
            if (numbers.size() < most_operands) numbers.push_back(token.value);
            continue;
        }
        if (token.kind == Token::name) {
            name = token.text;
            continue;
        }
        if (token.kind == Token::other) continue;
        const std::string_view word = token.text;
        if (word == "q") {
            if (saved.size() == most_levels) return false;
            saved.push_back(state);
        } else if (word == "Q") {
            // One more than there were is common and means nothing.
            if (!saved.empty()) {
                state = saved.back();
                saved.pop_back();
            }
        } else if (word == "cm") {
            if (numbers.size() != 6) return false;
            state.matrix = state.matrix.after({numbers[0], numbers[1], numbers[2], numbers[3]});
        } else if (word == "Tr") {
            if (numbers.size() != 1) return false;
            state.text_mode = numbers[0];
        } else if (word == "Do") {
            if (!drawing.name.empty() || name.empty()) return false;
            drawing.name = "/" + std::string(name);
            drawing.orientation = state.matrix.orientation();
            if (drawing.orientation == 0) return false;
        } else if (is_one_of(word, shows_text)) {
            if (state.text_mode != invisible) return false;
        } else if (is_one_of(word, fills)) {
            // The paper, under the image.
            if (!drawing.name.empty()) return false;
        } else if (!is_one_of(word, silent)) {
            return false;
        }
        numbers.clear();
        name = {};
    }
    return !drawing.name.empty();
}

}  // namespace cvision::pdf
