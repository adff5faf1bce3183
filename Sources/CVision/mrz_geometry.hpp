// The course of a line of characters in an image.
#pragma once
#include <opencv2/core.hpp>
#include <vector>

namespace cvision::mrz {

/// a + b t + c t².
struct Parabola {
    double a = 0, b = 0, c = 0;
    double operator()(double t) const { return a + (b + c * t) * t; }
};

/// Weighted least squares; falls back to a line below 8 points or when `bent` is false, and to the mean below 2.
Parabola fit_parabola(const std::vector<double> &t, const std::vector<double> &values,
                      const std::vector<double> &weights, bool bent);

/// A line of characters: cell i has its centre at `along`(i) in reading direction and `across` of that downwards.
struct LineModel {
    cv::Point2d origin;
    cv::Point2d direction;  // unit vector, reading direction
    Parabola along;         // cell index -> pixels along the direction
    Parabola across;        // pixels along the direction -> pixels downwards (a quarter turn clockwise)
    double height = 0;      // of capital letters, pixels
    double cells = 0;       // estimated number of cells

    cv::Point2d down() const { return {-direction.y, direction.x}; }
    /// Position of cell coordinate `i`, `rise` pixels below the line's centre.
    cv::Point2d at(double i, double rise = 0) const {
        const double s = along(i), n = across(s) + rise;
        return origin + s * direction + n * down();
    }
    double pitch() const { return along.b + along.c * cells; }
};

}  // namespace cvision::mrz
