internal import Foundation
package import InspectCore

/// Where a wrapping key is, as the setting `INSPECTD_WRAPPING_KEYS` says it:
///
/// ```
/// file:/etc/inspectd/keys
/// pkcs11:token=LABEL;object=LABEL?module-path=/usr/lib/softhsm/libsofthsm2.so&pin-source=/etc/inspectd/pin   (RFC 7512)
/// vault:https://vault.example:8200/v1/transit/keys/NAME?token-file=/etc/inspectd/token&ca-file=/etc/inspectd/ca.pem
/// ```
package enum WrappingKeySource {
    /// Opens every source of a list that is separated by white space.
    ///
    /// - Throws: ``InspectError`` with ``ErrorCode/keyMissing``, ``ErrorCode/keyFileInvalid`` or ``ErrorCode/keyMismatch``. No token is
    ///   asked and no request sent yet.
    package static func open(_ list: String) throws(InspectError) -> WrappingKeys {
        var keys: [any WrappingKey] = []
        for source in list.split(whereSeparator: \.isWhitespace) { keys += try self.keys(String(source)) }
        return try WrappingKeys(keys)
    }

    private static func keys(_ source: String) throws(InspectError) -> [any WrappingKey] {
        guard let colon = source.firstIndex(of: ":") else { throw self.unknown }
        let rest = String(source[source.index(after: colon)...])
        let (path, attributes) = self.split(rest)
        switch source[..<colon] {
        case "file": return try KeyFile.read(rest)
        case "pkcs11":
            let names = self.attributes(path, separator: ";")
            guard let module = attributes["module-path"], let token = names["token"], let object = names["object"],
                let pin = attributes["pin-source"], WrappingKeys.isName(object)
            else {
                throw InspectError(
                    .keyMissing, "a PKCS#11 key needs token, object, module-path and pin-source",
                    hint: "pkcs11:token=LABEL;object=LABEL?module-path=FILE&pin-source=FILE")
            }
            return [
                try PKCS11WrappingKey(
                    module: module, token: token, object: object,
                    pinFile: pin.hasPrefix("file:") ? String(pin.dropFirst("file:".count)) : pin)
            ]
        case "vault":
            guard let token = attributes["token-file"] else {
                throw InspectError(
                    .keyMissing, "a KMS needs token-file",
                    hint: "vault:https://HOST/v1/MOUNT/keys/NAME?token-file=FILE[&ca-file=FILE]")
            }
            return [try VaultWrappingKey(url: path, tokenFile: token, certificateAuthorities: attributes["ca-file"])]
        default: throw self.unknown
        }
    }

    private static var unknown: InspectError {
        InspectError(
            .keyMissing, "a wrapping key's source is unknown", hint: "It begins with file:, pkcs11: or vault:.")
    }

    private static func split(_ text: String) -> (String, [String: String]) {
        guard let mark = text.firstIndex(of: "?") else { return (text, [:]) }
        return (String(text[..<mark]), self.attributes(String(text[text.index(after: mark)...]), separator: "&"))
    }

    private static func attributes(_ text: String, separator: Character) -> [String: String] {
        var attributes: [String: String] = [:]
        for piece in text.split(separator: separator) {
            let pair = piece.split(separator: "=", maxSplits: 1).map(String.init)
            if pair.count == 2 { attributes[pair[0]] = pair[1].removingPercentEncoding ?? pair[1] }
        }
        return attributes
    }
}
