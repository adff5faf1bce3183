/// How well a sequence of colours explains the light that was seen.
///
/// Each channel answers with its own gain, since coloured ambient light weakens the screen's part in it (in logarithms), and
/// brightness that is common to the channels is left out, since a head that moves changes it. The sequence that was shown then
/// explains more than one in which a single colour is another, however near that one comes by correlation alone.
struct ColourSequenceFit {
    /// Differences of successive colours' light in logarithms: red, green and blue, less their mean.
    private let steps: [[Double]]
    /// Sum of their squares.
    private let total: Double

    /// - Parameter seen: The settled light of each colour in logarithms; `nil` if nothing changes in it.
    init?(seen: [LinearColour]) {
        self.steps = Self.differences(seen).map { step in
            let mean = step.reduce(0, +) / 3
            return step.map { $0 - mean }
        }
        self.total = self.steps.joined().reduce(0) { $0 + $1 * $1 }
        guard self.total > 0 else { return nil }
    }

    /// Share (0–1) of the light's changes that `colours` leave unexplained: least squares over the gains of the channels.
    func residual(of colours: [LivenessChallenge.Colour]) -> Double {
        // Normal equations. Leaving out the common part of gain times light is the projection with 1 − 1/3 on the diagonal and −1/3 elsewhere.
        var power = [[Double]](repeating: [0, 0, 0], count: 3)
        var right = [0.0, 0.0, 0.0]
        for (seen, shown) in zip(self.steps, Self.differences(colours.map(\.light))) {
            for i in 0..<3 {
                right[i] += shown[i] * seen[i]
                for j in 0..<3 { power[i][j] += shown[i] * shown[j] * (i == j ? 2.0 / 3 : -1.0 / 3) }
            }
        }
        // A few colours may not determine all gains; then they are taken to be equal.
        let pull = Self.likeness * (power[0][0] + power[1][1] + power[2][2])
        var matrix = power
        for i in 0..<3 {
            for j in 0..<3 { matrix[i][j] += pull * (i == j ? 2.0 / 3 : -1.0 / 3) }
        }
        guard let gains = Self.solve(matrix, right) else { return 1 }
        var left = self.total
        for i in 0..<3 {
            left -= 2 * gains[i] * right[i]
            for j in 0..<3 { left += gains[i] * power[i][j] * gains[j] }
        }
        return left / self.total
    }

    /// Weight of the gains' differences against the light that they explain.
    private static let likeness = 0.01

    /// How much more `colours` explain than the best sequence that differs from them in one colour; negative if that one
    /// explains more.
    ///
    /// - Parameter candidates: The settled light of each colour in logarithms, at each lag that may be the true one: every sequence
    ///   is judged by the lag that suits it best.
    static func lead(of colours: [LivenessChallenge.Colour], in candidates: [[LinearColour]]) -> Double {
        let fits = candidates.compactMap(ColourSequenceFit.init(seen:))
        func residual(_ colours: [LivenessChallenge.Colour]) -> Double {
            fits.map { $0.residual(of: colours) }.min() ?? 1
        }
        var nearest = 1.0
        for index in colours.indices {
            for colour in LivenessChallenge.Colour.allCases where colour != colours[index] {
                var other = colours
                other[index] = colour
                if zip(other, other.dropFirst()).contains(where: { $0 == $1 }) { continue }
                nearest = min(nearest, residual(other))
            }
        }
        return nearest - residual(colours)
    }

    private static func differences(_ light: [LinearColour]) -> [[Double]] {
        zip(light.dropFirst(), light).map { [$0.red - $1.red, $0.green - $1.green, $0.blue - $1.blue] }
    }

    /// Cramer's rule; `nil` if the colours do not distinguish the channels.
    private static func solve(_ m: [[Double]], _ right: [Double]) -> [Double]? {
        func determinant(_ m: [[Double]]) -> Double {
            m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1]) - m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0])
                + m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0])
        }
        let whole = determinant(m)
        guard abs(whole) > 1e-9 else { return nil }
        return (0..<3).map { column in
            var replaced = m
            for row in 0..<3 { replaced[row][column] = right[row] }
            return determinant(replaced) / whole
        }
    }
}
