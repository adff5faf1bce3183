import Foundation

/// A strict reader of Prometheus' text format 0.0.4: every deviation is an error.
struct MetricsText {
    struct Sample: Hashable {
        var name: String
        var labels: [String: String]
    }

    struct Malformed: Error, CustomStringConvertible {
        var description: String
    }

    private(set) var types: [String: String] = [:]
    private(set) var values: [Sample: Double] = [:]

    func value(_ name: String, _ labels: [String: String] = [:]) -> Double? {
        self.values[Sample(name: name, labels: labels)]
    }

    init(_ text: String) throws {
        guard text.hasSuffix("\n") else { throw Malformed(description: "the last line has no end") }
        var help: Set<String> = []
        var family = ""
        for line in text.dropLast().split(separator: "\n", omittingEmptySubsequences: false).map(String.init) {
            if line.hasPrefix("# HELP ") {
                let words = line.split(separator: " ", maxSplits: 3)
                guard words.count == 4, help.insert(String(words[2])).inserted else { throw Self.malformed(line) }
                family = String(words[2])
            } else if line.hasPrefix("# TYPE ") {
                let words = line.split(separator: " ")
                guard words.count == 4, words[2] == family, self.types[family] == nil,
                    ["counter", "gauge", "histogram"].contains(words[3])
                else { throw Self.malformed(line) }
                self.types[family] = String(words[3])
            } else {
                let (sample, value) = try Self.sample(line)
                let endings = self.types[family] == "histogram" ? ["_bucket", "_sum", "_count"] : [""]
                guard endings.contains(where: { sample.name == family + $0 }), self.values[sample] == nil,
                    self.types[family] != "counter" || family.hasSuffix("_total") && value >= 0
                else { throw Self.malformed(line) }
                self.values[sample] = value
            }
        }
        try self.checkHistograms()
    }

    /// Buckets are cumulative, the last one is infinite and holds everything, and each has a sum and a count.
    private func checkHistograms() throws {
        for name in self.types.filter({ $0.value == "histogram" }).keys {
            var series: [[String: String]: [(bound: Double, count: Double)]] = [:]
            for (sample, value) in self.values where sample.name == "\(name)_bucket" {
                guard let text = sample.labels["le"], let bound = text == "+Inf" ? .infinity : Double(text) else {
                    throw Malformed(description: "\(name) has a bucket without a bound")
                }
                series[sample.labels.filter { $0.key != "le" }, default: []].append((bound, value))
            }
            for (labels, buckets) in series {
                let counts = buckets.sorted { $0.bound < $1.bound }
                guard zip(counts, counts.dropFirst()).allSatisfy({ $0.count <= $1.count }),
                    counts.last?.bound == .infinity, let total = self.value("\(name)_count", labels),
                    total == counts.last?.count, let sum = self.value("\(name)_sum", labels), total > 0 || sum == 0
                else { throw Malformed(description: "\(name) is no histogram") }
            }
        }
    }

    private static func malformed(_ line: String) -> Malformed { Malformed(description: "malformed: \(line)") }

    private static func sample(_ line: String) throws -> (Sample, Double) {
        var rest = Substring(line)
        func name(_ extra: Character? = nil) throws -> String {
            let name = rest.prefix { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_") }
            guard let first = name.first, !first.isNumber else { throw Self.malformed(line) }
            rest = rest.dropFirst(name.count)
            return String(name)
        }
        var sample = Sample(name: try name(), labels: [:])
        if rest.first == "{" {
            repeat {
                rest = rest.dropFirst()
                let label = try name()
                guard rest.hasPrefix("=\"") else { throw Self.malformed(line) }
                rest = rest.dropFirst(2)
                var value = ""
                while let character = rest.popFirst(), character != "\"" {
                    guard character == "\\" else {
                        value.append(character)
                        continue
                    }
                    switch rest.popFirst() {
                    case "n": value.append("\n")
                    case "\\": value.append("\\")
                    case "\"": value.append("\"")
                    default: throw Self.malformed(line)
                    }
                }
                guard sample.labels.updateValue(value, forKey: label) == nil else { throw Self.malformed(line) }
            } while rest.first == ","
            guard rest.popFirst() == "}" else { throw Self.malformed(line) }
        }
        guard rest.popFirst() == " " else { throw Self.malformed(line) }
        let number = String(rest)
        let value = ["+Inf": Double.infinity, "-Inf": -.infinity, "NaN": .nan][number] ?? Double(number)
        guard let value, !number.contains(" ") else { throw Self.malformed(line) }
        return (sample, value)
    }
}
