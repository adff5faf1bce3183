internal import Foundation
internal import InspectCore

/// A reviewer's typed decision. It is kept if the decision cannot be recorded.
struct TypedDecision: Sendable {
    var decision: String?
    var label: String?
    var note: String?

    init() {}

    init(_ form: FormBody) {
        (self.decision, self.label) = (form["decision"], form["label"])
        // The button that confirms another person's decision states that decision, whatever else the form contains.
        if let words = form["confirm"]?.split(separator: " ").map(String.init), words.count == 2 {
            (self.decision, self.label) = (words[0], words[1])
        }
        // Browsers end lines with two characters.
        self.note = form["note"]?.replacing("\r\n", with: "\n")
    }

    var isEmpty: Bool { self.decision == nil && self.label == nil && self.note == nil }

    /// For a page on which it can only be read and copied.
    var fields: Markup {
        """
        <p>Decision: \(self.decision ?? "none")</p>
        <label>Label for the partner <input name='label' value='\(self.label ?? "")' readonly='readonly'/></label>
        <label>Note for the record <textarea name='note' rows='3' readonly='readonly'>\(self.note ?? "")</textarea></label>

        """
    }

    /// Why a decision may not be recorded while its case can be shown.
    static let refusals: Set<ErrorCode> = [.caseTaken, .reviewNotDue, .reviewInvalid, .parameterInvalid, .rowLocked]
}
