// Lines that may belong to an MRZ, as the line reader sees them.
#pragma once
#include <vector>

#include "mrz_strip.hpp"

namespace cvision::mrz {

struct Candidate {
    LineModel line;
    Columns columns;
    double log_pitch = 0, weight = 0;  // of the strip; number of columns that see characters
    double low = 0, high = 0;          // extent of the characters in cell coordinates
    double confidence = -10;           // mean log-probability of the best character where there is one
};

/// Reads along `line` and measures the result.
Candidate examine(const Patch &patch, const LineModel &line);

/// The middle of `line`, for a quick reading (a glance).
LineModel middle_of(LineModel line);

/// Gives all lines of a block the pitch and letter height that a glance at one of them measured, and lines about as long as the
/// longest its extent. The detector measures each line alone and at low resolution, with errors of a tenth; lines sampled by
/// its measures would have to be sampled again.
void measure(std::vector<LineModel> &lines, const Candidate &glance);

/// How far off the strip's middle the reader saw the line, and how much its size differs from what the strip expects.
double misfit(const Candidate &c);

/// Adjusts the line until the strip fits it: detected lines are often short and have a wrong slope.
void settle(const Patch &patch, Candidate &c);

/// Keeps only lines printed like the most convincing one: other text nearby has another pitch, and the reader is less
/// confident in it. False when not even that one can be read.
bool select_alike(std::vector<Candidate> &candidates);

/// If adjusting moved two candidates onto one line, drops the less convincing.
void drop_repeated(std::vector<Candidate> &candidates);

/// Gives all lines the same extent, the union of where they show characters.
void align(std::vector<Candidate> &candidates);

/// Length in cells of the longest line's characters; infinite if it may continue beyond its strip.
double extent_of(const std::vector<Candidate> &candidates);

/// Whether the strips fit their lines so well that sampling again would not improve them.
bool are_aligned(const std::vector<Candidate> &candidates);

/// Whether the strips show each line completely, as the reader was trained to see it.
bool are_covered(const std::vector<Candidate> &candidates);

}  // namespace cvision::mrz
