import Foundation
import InspectCore

/// The file of `--shadow`: `{"limits": {"blur": 6.2, "centreX": [0.25, 0.75]}}`.
enum ShadowFile {
    static let option = Arguments.Option.value(
        "shadow", "FILE", "JSON with changed limits, by which inspections are decided once more, without effect")

    private struct Content: Decodable {
        var limits: [String: Numbers]
    }

    private struct Numbers: Decodable {
        /// Empty where it is something else.
        var values: [Double]

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            let single = try? container.decode(Double.self)
            self.values = single.map { [$0] } ?? (try? container.decode([Double].self)) ?? []
        }
    }

    static func read(_ path: String) throws -> LimitChanges {
        let bytes = try InputFile.read(path, of: "--shadow", limit: 1 << 20, isSetting: true)
        let members = (try? JSONSerialization.jsonObject(with: bytes)) as? [String: Any]
        guard let members, Set(members.keys) == ["limits"],
            let content = try? JSONDecoder().decode(Content.self, from: bytes), !content.limits.isEmpty
        else { throw UsageError(#"--shadow takes a file such as {"limits": {"blur": 6.2, "centreX": [0.25, 0.75]}}"#) }
        var changes = LimitChanges()
        for (name, numbers) in content.limits.sorted(by: { $0.key < $1.key }) {
            do throws(LimitChanges.Refusal) {
                try changes.set(name, to: numbers.values)
            } catch {
                switch error {
                case .unknown:
                    let names = LimitChanges.names.joined(separator: ", ")
                    throw UsageError("--shadow: there is no limit '\(name)', but \(names)")
                case .takes(numbers: 1): throw UsageError("--shadow: \(name) takes a number")
                case .takes: throw UsageError("--shadow: \(name) takes two numbers, the lower one first")
                }
            }
        }
        return changes
    }
}
