// dlib's histograms of gradients (Felzenszwalb's, dlib/image_transforms/fhog.h) for eight numbers at a time, as its scanner asks
// for them: every sum in dlib's order, so equal to the bit. Included where dlib's name is another and AVX2 may be used.
#pragma once

namespace cvision {
namespace {

class OwnHistograms : public dlib::default_fhog_feature_extractor {
public:
    void operator()(const dlib::array2d<unsigned char> &image, dlib::array<dlib::array2d<float>> &planes, int cell_size,
                    int rows_padding, int columns_padding) const {
        const int rows = static_cast<int>(image.nr()), columns = static_cast<int>(image.nc());
        const auto cells_of = [&](int pixels) {
            return static_cast<int>(static_cast<float>(pixels) / static_cast<float>(cell_size) + 0.5);
        };
        const Cells cells{cells_of(rows), cells_of(columns)};
        if (cells.rows < 3 || cells.columns < 3 || rows < 3 || columns < 3 || cell_size < 2) {
            dlib::default_fhog_feature_extractor::operator()(image, planes, cell_size, rows_padding, columns_padding);
            return;
        }
        const std::vector<float> histograms = this->vote(image, cells, cell_size);
        const std::vector<float> energies = cells.energies(histograms.data());
        dlib::impl_fhog::init_hog(planes, cells.rows - 2, cells.columns - 2, rows_padding, columns_padding);
        float *at[31];
        for (int y = 0; y < cells.rows - 2; ++y) {
            for (int plane = 0; plane < 31; ++plane)
                at[plane] = &planes[plane][y + (rows_padding - 1) / 2][(columns_padding - 1) / 2];
            cells.normalise(histograms.data(), energies.data(), y, at);
        }
    }

private:
    static constexpr int orientations = 18;

    /// The histograms are stored by row, orientation and column, with a border of a cell, and each line with room for whole
    /// registers.
    struct Cells {
        int rows, columns;

        size_t stride() const { return (static_cast<size_t>(this->columns) + 2 + 15) / 8 * 8; }
        const float *line(const float *histograms, int row, int orientation) const {
            return histograms + static_cast<size_t>(row * orientations + orientation) * this->stride();
        }

        /// Each cell's sum of squares over the orientations without their sign.
        std::vector<float> energies(const float *histograms) const {
            std::vector<float> sums(static_cast<size_t>(this->rows) * this->stride(), 0.0f);
            for (int row = 0; row < this->rows; ++row) {
                for (int x = 0; x < this->columns; x += 8) {
                    __m256 sum = _mm256_setzero_ps();
                    for (int o = 0; o < 9; ++o) {
                        const __m256 both =
                            _mm256_add_ps(_mm256_loadu_ps(this->line(histograms, row + 1, o) + x + 1),
                                          _mm256_loadu_ps(this->line(histograms, row + 1, o + 9) + x + 1));
                        sum = _mm256_add_ps(sum, _mm256_mul_ps(both, both));
                    }
                    _mm256_storeu_ps(sums.data() + static_cast<size_t>(row) * this->stride() + x, sum);
                }
            }
            return sums;
        }

        /// A row of cells of the 31 planes: each histogram over the energy of four blocks of cells around it.
        void normalise(const float *histograms, const float *energies, int y, float *const *planes) const {
            const int count = this->columns - 2;
            for (int x = 0; x < count; x += 8) {
                __m256 around[3][3];
                for (int i = 0; i < 3; ++i)
                    for (int k = 0; k < 3; ++k)
                        around[i][k] = _mm256_loadu_ps(energies + static_cast<size_t>(y + i) * this->stride() + x + k);
                __m256 most[4], share[4], texture[4];
                for (int block = 0; block < 4; ++block) {
                    const int i = block % 2 == 0 ? 1 : 0, k = block < 2 ? 1 : 0;
                    const __m256 sum =
                        _mm256_add_ps(_mm256_add_ps(_mm256_add_ps(around[i][k], around[i][k + 1]), around[i + 1][k]),
                                      around[i + 1][k + 1]);
                    most[block] = _mm256_mul_ps(_mm256_set1_ps(0.2f),
                                                _mm256_sqrt_ps(_mm256_add_ps(sum, _mm256_set1_ps(0.0001f))));
                    share[block] = _mm256_div_ps(_mm256_set1_ps(0.1f), most[block]);
                    texture[block] = _mm256_setzero_ps();
                }
                const auto put = [&](int plane, __m256 values) {
                    if (x + 8 <= count) return _mm256_storeu_ps(planes[plane] + x, values);
                    float rest[8];
                    _mm256_storeu_ps(rest, values);
                    std::copy_n(rest, count - x, planes[plane] + x);
                };
                const auto limited = [&](__m256 value, __m256 *parts) {
                    for (int block = 0; block < 4; ++block)
                        parts[block] = _mm256_mul_ps(_mm256_min_ps(value, most[block]), share[block]);
                    return _mm256_add_ps(_mm256_add_ps(parts[0], parts[2]), _mm256_add_ps(parts[1], parts[3]));
                };
                const auto histogram = [&](int o) { return _mm256_loadu_ps(this->line(histograms, y + 2, o) + x + 2); };
                for (int o = 0; o < orientations; o += 3) {
                    __m256 parts[3][4];
                    for (int i = 0; i < 3; ++i) put(o + i, limited(histogram(o + i), parts[i]));
                    for (int block = 0; block < 4; ++block)
                        texture[block] = _mm256_add_ps(
                            texture[block],
                            _mm256_add_ps(_mm256_add_ps(parts[0][block], parts[1][block]), parts[2][block]));
                }
                for (int o = 0; o < 9; ++o) {
                    __m256 parts[4];
                    put(orientations + o, limited(_mm256_add_ps(histogram(o), histogram(o + 9)), parts));
                }
                for (int block = 0; block < 4; ++block)
                    put(27 + block, _mm256_mul_ps(texture[block], _mm256_set1_ps(static_cast<float>(2 * 0.2357))));
            }
        }
    };

    /// Two rows of histograms that pixels add to, side by side for each cell and orientation, and where they go.
    class Votes {
    public:
        Votes(const Cells &new_cells, std::vector<float> &all)
            : cells(new_cells), histograms(all), pairs((new_cells.columns + 3) * 2 * orientations, 0.0f) {}

        float *column(int index) { return this->pairs.data() + index * 2 * orientations; }

        /// The upper row is complete; the lower one becomes the upper.
        void advance() {
            for (int column = 0; column < this->cells.columns + 2; ++column) {
                float *pair = this->column(column);
                for (int o = 0; o < orientations; ++o) {
                    if (this->row < this->cells.rows + 2)
                        this->histograms[static_cast<size_t>(this->row * orientations + o) * this->cells.stride() +
                                         static_cast<size_t>(column)] = pair[2 * o];
                    pair[2 * o] = pair[2 * o + 1];
                    pair[2 * o + 1] = 0;
                }
            }
            this->row += 1;
        }

        int row = 0;

    private:
        const Cells &cells;
        std::vector<float> &histograms;
        std::vector<float> pairs;
    };

    static void add(float *pair, __m128 amounts) {
        const __m128 before = _mm_castpd_ps(_mm_load_sd(reinterpret_cast<const double *>(pair)));
        _mm_store_sd(reinterpret_cast<double *>(pair), _mm_castps_pd(_mm_add_ps(before, amounts)));
    }

    /// The orientation, of 18, that each gradient is nearest to; products that differ in their sign alone are made once.
    static __m256i nearest(__m256 across, __m256 down) {
        const auto times = [](__m256 values, float factor) { return _mm256_mul_ps(values, _mm256_set1_ps(factor)); };
        const __m256 a1 = times(across, 0.9397f), a2 = times(across, 0.7660f), a3 = times(across, 0.500f),
                     a4 = times(across, 0.1736f), d1 = times(down, 0.3420f), d2 = times(down, 0.6428f),
                     d3 = times(down, 0.8660f), d4 = times(down, 0.9848f);
        const __m256 along[9] = {across,
                                 _mm256_add_ps(a1, d1),
                                 _mm256_add_ps(a2, d2),
                                 _mm256_add_ps(a3, d3),
                                 _mm256_add_ps(a4, d4),
                                 _mm256_sub_ps(d4, a4),
                                 _mm256_sub_ps(d3, a3),
                                 _mm256_sub_ps(d2, a2),
                                 _mm256_sub_ps(d1, a1)};
        const __m256 sign = _mm256_set1_ps(-0.0f);
        __m256 most = _mm256_setzero_ps(), best = _mm256_setzero_ps();
        for (int o = 0; o < 9; ++o) {
            const __m256 length = _mm256_andnot_ps(sign, along[o]);
            const __m256 which = _mm256_blendv_ps(_mm256_set1_ps(static_cast<float>(o)),
                                                  _mm256_set1_ps(static_cast<float>(o + 9)), along[o]);
            best = _mm256_blendv_ps(best, which, _mm256_cmp_ps(length, most, _CMP_GT_OQ));
            most = _mm256_max_ps(most, length);
        }
        return _mm256_cvtps_epi32(best);
    }

    static __m256i eight(const unsigned char *pixels) {
        return _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i *>(pixels)));
    }

    /// The histograms of all cells: each pixel's gradient is shared among the four cells around it.
    std::vector<float> vote(const dlib::array2d<unsigned char> &image, const Cells &cells, int cell_size) const {
        std::vector<float> histograms(static_cast<size_t>((cells.rows + 2) * orientations) * cells.stride(), 0.0f);
        Votes votes(cells, histograms);
        const int end_y = std::min(cells.rows * cell_size, static_cast<int>(image.nr())) - 1;
        const int end_x = std::min(cells.columns * cell_size, static_cast<int>(image.nc())) - 1;
        // Where each column's pixels are between the cells, in registers of eight from the second column on.
        struct Place {
            float right[8], left[8];
            int cell[8];
        };
        std::vector<Place> places;
        int whole_end = 1;
        for (; whole_end < end_x - 7; whole_end += 8) {
            Place &place = places.emplace_back();
            for (int i = 0; i < 8; ++i) {
                const float at = (static_cast<float>(whole_end + i) + 0.5f) / static_cast<float>(cell_size) + 0.5f;
                place.cell[i] = static_cast<int>(at);
                place.right[i] = at - static_cast<float>(place.cell[i]);
                place.left[i] = 1.0f - place.right[i];
            }
        }
        for (int y = 1; y < end_y; ++y) {
            const float at_y = static_cast<float>((static_cast<float>(y) + 0.5) / static_cast<float>(cell_size) - 0.5);
            const int cell_y = static_cast<int>(std::floor(at_y));
            const float below = at_y - static_cast<float>(cell_y), above = static_cast<float>(1.0 - below);
            while (votes.row < cell_y + 1) votes.advance();
            const unsigned char *row = &image[y][0], *upper = &image[y - 1][0], *lower = &image[y + 1][0];
            const Place *place = places.data();
            for (int x = 1; x < whole_end; x += 8, ++place) {
                const __m256 across = _mm256_cvtepi32_ps(_mm256_sub_epi32(eight(row + x + 1), eight(row + x - 1)));
                const __m256 down = _mm256_cvtepi32_ps(_mm256_sub_epi32(eight(lower + x), eight(upper + x)));
                const __m256 length =
                    _mm256_sqrt_ps(_mm256_add_ps(_mm256_mul_ps(across, across), _mm256_mul_ps(down, down)));
                const __m256 left = _mm256_mul_ps(_mm256_loadu_ps(place->left), length);
                const __m256 right = _mm256_mul_ps(_mm256_loadu_ps(place->right), length);
                const __m256 up = _mm256_set1_ps(above), low = _mm256_set1_ps(below);
                const __m256 left_up = _mm256_mul_ps(up, left), left_low = _mm256_mul_ps(low, left);
                const __m256 right_up = _mm256_mul_ps(up, right), right_low = _mm256_mul_ps(low, right);
                alignas(32) float lefts[16], rights[16];
                alignas(32) int which[8];
                _mm256_store_si256(reinterpret_cast<__m256i *>(which), nearest(across, down));
                _mm256_store_ps(lefts, _mm256_unpacklo_ps(left_up, left_low));
                _mm256_store_ps(lefts + 8, _mm256_unpackhi_ps(left_up, left_low));
                _mm256_store_ps(rights, _mm256_unpacklo_ps(right_up, right_low));
                _mm256_store_ps(rights + 8, _mm256_unpackhi_ps(right_up, right_low));
                // Unpacking leaves the pixels 0, 1, 4, 5 in one register and 2, 3, 6, 7 in the other.
                constexpr int slots[8] = {0, 2, 8, 10, 4, 6, 12, 14};
                for (int i = 0; i < 8; ++i) {
                    float *pair = votes.column(place->cell[i]) + 2 * which[i];
                    const auto two = [&](const float *values) {
                        return _mm_castpd_ps(_mm_load_sd(reinterpret_cast<const double *>(values + slots[i])));
                    };
                    add(pair, two(lefts));
                    add(pair + 2 * orientations, two(rights));
                }
            }
            for (int x = whole_end; x < end_x; ++x) {
                const float across = static_cast<float>(row[x + 1] - row[x - 1]);
                const float down = static_cast<float>(lower[x] - upper[x]);
                const int which = _mm256_extract_epi32(nearest(_mm256_set1_ps(across), _mm256_set1_ps(down)), 0);
                const float length = std::sqrt(across * across + down * down);
                const float at = static_cast<float>((x + 0.5) / static_cast<double>(cell_size) - 0.5);
                const int cell = static_cast<int>(std::floor(at));
                const float right = at - static_cast<float>(cell), left = static_cast<float>(1.0 - right);
                float *pair = votes.column(cell + 1) + 2 * which;
                pair[0] += above * left * length;
                pair[1] += below * left * length;
                pair[2 * orientations] += above * right * length;
                pair[2 * orientations + 1] += below * right * length;
            }
        }
        while (votes.row < cells.rows + 2) votes.advance();
        return histograms;
    }
};

}  // namespace
}  // namespace cvision
