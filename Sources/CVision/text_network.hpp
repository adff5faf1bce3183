// The small network that reads a line of VIZ text, with its weights inside the program.
#pragma once
#include <opencv2/core.hpp>
#include <string>
#include <vector>

namespace cvision::text {

struct Character {
    char32_t letter;   ///< without its diacritic; U+FFFD for a letter of another script
    char32_t mark;     ///< the combining diacritic; 0 for none
    float confidence;  ///< 0 for a letter of another script
};

/// Which network reads a line: the second was trained longer, and reads small and faint print better, and names worse.
enum class Readers { first, second };

/// Reads `crop` (8-bit grey), which holds one line with a little room around it.
std::vector<Character> read_line(const cv::Mat &crop, Readers readers);

/// SHA-256 of both networks' weights, one after the other, lower-case hex.
const std::string &weights_sha256();

}  // namespace cvision::text
