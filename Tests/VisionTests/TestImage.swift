import Foundation
import InspectCore
import TestSupport

struct Colour: Equatable {
    var red: UInt8
    var green: UInt8
    var blue: UInt8

    init(_ red: UInt8, _ green: UInt8, _ blue: UInt8) {
        self.red = red
        self.green = green
        self.blue = blue
    }
}

/// Pixels that a test draws, and the PNG file that they become.
struct TestImage {
    let width: Int
    let height: Int
    /// Red, green, blue, row by row.
    private(set) var pixels: [UInt8]

    init(width: Int, height: Int, _ colour: Colour = Colour(255, 255, 255)) {
        self.width = width
        self.height = height
        self.pixels = [UInt8](repeating: 0, count: width * height * 3)
        self.fill(x: 0, y: 0, width: width, height: height, colour)
    }

    subscript(x: Int, y: Int) -> Colour {
        get {
            let at = (y * self.width + x) * 3
            return Colour(self.pixels[at], self.pixels[at + 1], self.pixels[at + 2])
        }
        set {
            let at = (y * self.width + x) * 3
            self.pixels[at] = newValue.red
            self.pixels[at + 1] = newValue.green
            self.pixels[at + 2] = newValue.blue
        }
    }

    mutating func fill(x: Int, y: Int, width: Int, height: Int, _ colour: Colour) {
        let (left, right) = (max(0, x), min(self.width, x + width))
        guard left < right else { return }
        let row = (0..<(right - left) * 3).map { index in
            index % 3 == 0 ? colour.red : index % 3 == 1 ? colour.green : colour.blue
        }
        for y in max(0, y)..<max(0, y, min(self.height, y + height)) {
            let start = (y * self.width + left) * 3
            self.pixels.replaceSubrange(start..<start + row.count, with: row)
        }
    }

    /// Changes every pixel.
    mutating func map(_ change: (_ x: Int, _ y: Int, Colour) -> Colour) {
        let (width, height) = (self.width, self.height)
        self.pixels.withUnsafeMutableBufferPointer { pixels in
            guard var pixel = pixels.baseAddress else { return }
            for y in 0..<height {
                var x = 0
                while x < width {
                    let made = change(x, y, Colour(pixel[0], pixel[1], pixel[2]))
                    (pixel[0], pixel[1], pixel[2]) = (made.red, made.green, made.blue)
                    (x, pixel) = (x + 1, pixel + 3)
                }
            }
        }
    }

    /// The image turned by `degrees` around its centre and moved into a larger one, bilinearly sampled.
    func turned(by degrees: Double, width: Int, height: Int, background: Colour) -> TestImage {
        var result = TestImage(width: width, height: height, background)
        let (sine, cosine) = (sin(degrees * .pi / 180), cos(degrees * .pi / 180))
        let stride = self.width * 3
        // Pointers: these loops run unoptimised in every test run.
        self.pixels.withUnsafeBufferPointer { pixels in
            result.pixels.withUnsafeMutableBufferPointer { made in
                guard let source = pixels.baseAddress, let target = made.baseAddress else { return }
                for y in 0..<height {
                    let dy = Double(y) - Double(height) / 2
                    var x = 0
                    while x < width {
                        defer { x += 1 }
                        let dx = Double(x) - Double(width) / 2
                        let u = dx * cosine + dy * sine + Double(self.width) / 2
                        let v = -dx * sine + dy * cosine + Double(self.height) / 2
                        if u < 0 || v < 0 || u >= Double(self.width - 1) || v >= Double(self.height - 1) { continue }
                        let right = u - Double(Int(u))
                        let bottom = v - Double(Int(v))
                        let at = Int(v) * stride + Int(u) * 3
                        let to = (y * width + x) * 3
                        var channel = 0
                        while channel < 3 {
                            let p = at + channel
                            let above = Double(source[p]) * (1 - right) + Double(source[p + 3]) * right
                            let below =
                                Double(source[p + stride]) * (1 - right) + Double(source[p + stride + 3]) * right
                            target[to + channel] = UInt8(above * (1 - bottom) + below * bottom)
                            channel += 1
                        }
                    }
                }
            }
        }
        return result
    }

    /// The mean of each pixel's neighbourhood of `2 × radius + 1` pixels, along rows and then along columns.
    func blurred(horizontally: Int, vertically: Int) -> TestImage {
        self.averaged(radius: horizontally, step: 3, count: self.width, lines: self.height, lineStep: self.width * 3)
            .averaged(radius: vertically, step: self.width * 3, count: self.height, lines: self.width, lineStep: 3)
    }

    /// A running mean over `count` pixels that are `step` bytes apart, for each of the parallel lines.
    private func averaged(radius: Int, step: Int, count: Int, lines: Int, lineStep: Int) -> TestImage {
        guard radius > 0 else { return self }
        var result = self
        self.pixels.withUnsafeBufferPointer { pixels in
            result.pixels.withUnsafeMutableBufferPointer { made in
                guard let source = pixels.baseAddress, let target = made.baseAddress else { return }
                for line in 0..<lines {
                    for channel in 0..<3 {
                        let start = line * lineStep + channel
                        func value(_ index: Int) -> Int {
                            Int(source[start + (index < 0 ? 0 : index < count ? index : count - 1) * step])
                        }
                        var sum = (-radius...radius).reduce(0) { $0 + value($1) }
                        var index = 0
                        while index < count {
                            target[start + index * step] = UInt8(sum / (2 * radius + 1))
                            sum += value(index + radius + 1) - value(index - radius)
                            index += 1
                        }
                    }
                }
            }
        }
        return result
    }

    func png() -> [UInt8] {
        var rows: [UInt8] = []
        rows.reserveCapacity((self.width * 3 + 1) * self.height)
        for y in 0..<self.height {
            rows.append(0)
            rows += self.pixels[y * self.width * 3..<(y + 1) * self.width * 3]
        }
        return PNG.file(width: self.width, height: self.height, depth: 8, colourType: 2, rows: rows)
    }
}
