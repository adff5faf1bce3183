// dlib's detector once more for AVX2, which Debian's flags exclude: the headers under another name, so that no function of
// them is shared with code for other processors. What they include is included first, without AVX2, for the same reason. No
// fused multiplications and, but for eight numbers at a time, the same instructions: the sums are equal to the bit.
// Saves 8.7 % of a pair's processor time [8.0–10.2, 5 turns of 50 pairs, AMD EPYC] and 7.7 % of a front's [6.7–8.8, 6 turns of 53
// images] over face_scanner_by_4 (Tests/FIGURES.md).
#ifdef __x86_64__
#include <cpuid.h>
#include <immintrin.h>
#include <sys/time.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bitset>
#include <cassert>
#include <cctype>
#include <chrono>
#include <climits>
#include <cmath>
#include <complex>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <deque>
#include <exception>
#include <forward_list>
#include <fstream>
#include <functional>
#include <future>
#include <iomanip>
#include <iostream>
#include <iterator>
#include <limits>
#include <list>
#include <locale>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <numeric>
#include <optional>
#include <queue>
#include <random>
#include <set>
#include <sstream>
#include <stack>
#include <stdexcept>
#include <streambuf>
#include <string>
#include <thread>
#include <tuple>
#include <type_traits>
#include <typeinfo>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#include "face_scanner.hpp"

#define DLIB_DISABLE_ASSERTS
#define dlib dlib_by_8
#define DLIB_HAVE_AVX
#define DLIB_HAVE_AVX2
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#include <dlib/image_processing/frontal_face_detector.h>

#include "face_scanner_made.hpp"
#pragma clang attribute pop

namespace cvision {

std::unique_ptr<FaceScanner> face_scanner_by_8() { return std::make_unique<MadeScanner>(); }

}  // namespace cvision
#endif
