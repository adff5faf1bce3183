// Lines that may belong to an MRZ, as the reader sees them, and how they are followed.
#pragma once
#include <vector>

#include "mrz_strip.hpp"

namespace cvision::mrz {

struct Candidate {
    LineModel line;
    Columns columns;
    double log_pitch = 0, weight = 0;  // of the strip, and how many columns see characters
    double low = 0, high = 0;          // extent of the characters in cell coordinates
    double confidence = -10;           // mean log-probability of the best character where there is one
};

/// Reads along `line` and measures what was seen.
Candidate examine(const Patch &patch, const LineModel &line);

/// The middle of `line`, for a glance at it.
LineModel middle_of(LineModel line);

/// Gives all lines of a block the pitch and the height of letters that a glance at one of them showed, and those that are
/// about as long as the longest the same extent. The detector measures every line by itself and from afar, a tenth wrong
/// either way; lines sampled so have to be sampled again.
void measure(std::vector<LineModel> &lines, const Candidate &glance);

/// How far the reader saw the line beside the strip's middle, and how much larger or smaller than the strip expects.
double misfit(const Candidate &c);

/// Follows the line until the strip fits it; what was found of a line is often short and its slope wrong.
void settle(const Patch &patch, Candidate &c);

/// Leaves only the lines that are printed like the most convincing one: other text nearby has another pitch, and the
/// reader hesitates over it. False when not even that one reads.
bool select_alike(std::vector<Candidate> &candidates);

/// Leaves out lines that were followed onto one that is there already, the less convincing of the two.
void drop_repeated(std::vector<Candidate> &candidates);

/// Gives all lines the same extent: where any of them shows characters.
void align(std::vector<Candidate> &candidates);

/// Length of the longest line in cells, as far as it shows characters; endless where it may go on beyond its strip.
double extent_of(const std::vector<Candidate> &candidates);

/// Whether the strips lie so well on their lines that sampled again they would lie no better.
bool are_aligned(const std::vector<Candidate> &candidates);

/// Whether the strips as they were sampled show all of every line, as the reader was trained to see it.
bool are_covered(const std::vector<Candidate> &candidates);

}  // namespace cvision::mrz
