#include "mrz_geometry.hpp"

#include <cmath>

namespace cvision::mrz {

Parabola fit_parabola(const std::vector<double> &t, const std::vector<double> &values,
                      const std::vector<double> &weights, bool bent) {
    double total = 0, mean = 0, spread = 0, low = INFINITY, high = -INFINITY;
    int points = 0;
    for (size_t i = 0; i < t.size(); ++i) {
        if (weights[i] > 0) {
            total += weights[i];
            mean += weights[i] * t[i];
            low = std::min(low, t[i]);
            high = std::max(high, t[i]);
            ++points;
        }
    }
    if (points == 0) {
        return {};
    }
    mean /= total;
    spread = std::max(high - low, 1e-9);
    const int degree = points < 2 || high - low < 1e-6 ? 0 : points < 8 || !bent ? 1 : 2;
    // Normal equations in the centred, scaled variable keep the system well conditioned.
    cv::Matx33d m = cv::Matx33d::zeros();
    cv::Vec3d r(0, 0, 0);
    for (size_t i = 0; i < t.size(); ++i) {
        const double u = (t[i] - mean) / spread;
        const double powers[3] = {1, u, u * u};
        for (int j = 0; j <= degree; ++j) {
            for (int k = 0; k <= degree; ++k) {
                m(j, k) += weights[i] * powers[j] * powers[k];
            }
            r[j] += weights[i] * powers[j] * values[i];
        }
    }
    for (int j = 0; j < 3; ++j) {
        m(j, j) += j > degree ? 1 : 1e-9 * total;
    }
    const cv::Vec3d p = m.inv(cv::DECOMP_CHOLESKY) * r;
    const double b = p[1] / spread, c = p[2] / (spread * spread);
    return {p[0] - b * mean + c * mean * mean, b - 2 * c * mean, c};
}

}  // namespace cvision::mrz
