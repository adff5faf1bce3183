internal import Foundation
internal import InspectCore

/// The one reader of JSON bodies: all calls use the members that it returns, and the JSON for the database is written from them.
enum JSONBody {
    /// Parses a body. Long strings stay behind: ``LongTexts``.
    ///
    /// - Throws: ``ErrorCode/payloadInvalid``: it is not one JSON object by RFC 8259, or a name appears twice in one of its objects.
    static func object(_ body: Data) throws(InspectError) -> ([String: Any], LongTexts) {
        let texts = LongTexts(body)
        try JSONGrammar.check(texts.text)
        guard !texts.haveNull else { throw InspectError(.payloadInvalid, "the character U+0000 in a long string") }
        guard let object = (try? JSONSerialization.jsonObject(with: texts.text)) as? [String: Any] else {
            throw InspectError(.payloadInvalid, "a number that cannot be stored")
        }
        return (object, texts)
    }

    /// The members as JSON again.
    ///
    /// - Throws: ``ErrorCode/payloadTooLarge`` if a long string is left among them.
    static func data(_ object: [String: Any], _ texts: LongTexts) throws(InspectError) -> Data {
        guard JSONSerialization.isValidJSONObject(object),
            let data = try? JSONSerialization.data(withJSONObject: object)
        else { throw InspectError(.payloadInvalid, "a number that cannot be stored") }
        guard !texts.isLeft(in: data) else { throw InspectError(.payloadTooLarge) }
        return data
    }
}
