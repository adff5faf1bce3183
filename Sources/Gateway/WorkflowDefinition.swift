internal import Foundation
internal import InspectCore

/// `workflowDefinition`, with which Jumio's API specifies a workflow and preselects documents:
/// `{"key": 3, "credentials": [{"category": "ID", "country": {"values": […]}, "type": {"values": […]}}]}`.
enum WorkflowDefinition {
    static let member = "workflowDefinition"

    /// Writes it as the members that `insp.enqueue` takes: workflow, countries and documentTypes.
    ///
    /// - Throws: ``ErrorCode/payloadInvalid``. The database judges the values.
    static func unfold(_ object: inout [String: Any]) throws(InspectError) {
        guard let value = object.removeValue(forKey: self.member) else { return }
        let definition = try self.members(value, ["key", "credentials"], self.member)
        guard let key = definition["key"] else {
            throw InspectError(.payloadInvalid, "\(self.member) has no key", field: "\(self.member).key")
        }
        try self.set("workflow", key, in: &object)
        guard let credentials = definition["credentials"] else { return }
        guard let list = credentials as? [Any], list.count <= 10 else {
            throw InspectError(
                .payloadInvalid, "credentials is not an array of at most 10", field: "\(self.member).credentials")
        }
        for (index, entry) in list.enumerated() {
            let place = "\(self.member).credentials.\(index)"
            let credential = try self.members(entry, ["category", "country", "type", "label"], place)
            // A selfie or a chip is not preselected.
            guard credential["category"] as? String == "ID" else { continue }
            for (name, member) in [("country", "countries"), ("type", "documentTypes")] {
                guard let choice = credential[name] else { continue }
                let choices = try self.members(choice, ["values", "predefinedType"], "\(place).\(name)")
                guard let values = choices["values"] else { continue }
                try self.set(member, values, in: &object)
            }
        }
    }

    private static func members(_ value: Any, _ known: Set<String>, _ name: String) throws(InspectError) -> [String:
        Any]
    {
        guard let members = value as? [String: Any] else {
            throw InspectError(.payloadInvalid, "\(name) is not an object", field: name)
        }
        if let unknown = members.keys.filter({ !known.contains($0) }).min() {
            throw InspectError(
                .payloadInvalid, "\(name): unknown key '\(unknown.prefix(40))'",
                hint: "Keys are \(known.sorted().joined(separator: ", ")).", field: "\(name).\(unknown.prefix(40))")
        }
        return members
    }

    /// Values that are given twice could contradict each other.
    private static func set(_ name: String, _ value: Any, in object: inout [String: Any]) throws(InspectError) {
        guard object[name] == nil else {
            throw InspectError(
                .payloadInvalid, "\(name) is given next to \(self.member), or twice within it", field: name)
        }
        object[name] = value
    }
}
