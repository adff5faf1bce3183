internal import Custody
internal import Foundation
internal import HTTPServer

/// A file of the capture page, which is part of the program.
struct CaptureAsset: Sendable {
    /// Part of each asset's path. Files of a version never change behaviour: partners' pages refer to them.
    static let version = "v1"

    var name: String
    var type: String
    var bytes: Data
    var tag: String
    /// Whether pages of other origins may load it.
    var isShared = false

    private init(_ name: String, _ bytes: [UInt8], isShared: Bool = false) {
        self.name = name
        self.bytes = Data(bytes)
        self.tag = "\"\(Data(SHA256.digest(bytes)).prefix(12).hexadecimal)\""
        self.isShared = isShared
        self.type =
            switch name.split(separator: ".").last {
            case "js": "text/javascript; charset=utf-8"
            case "css": "text/css; charset=utf-8"
            default: "application/json"
            }
    }

    static let all = [
        CaptureAsset("capture.js", PackageResources.capture_js, isShared: true),
        CaptureAsset("camera.js", PackageResources.camera_js),
        CaptureAsset("challenge.js", PackageResources.challenge_js),
        CaptureAsset("crop.js", PackageResources.crop_js),
        CaptureAsset("document.js", PackageResources.document_js),
        CaptureAsset("page.css", PackageResources.page_css),
        CaptureAsset("page.js", PackageResources.page_js),
        CaptureAsset("send.js", PackageResources.send_js),
        CaptureAsset("texts.json", PackageResources.texts_json),
        CaptureAsset("ui.js", PackageResources.ui_js),
    ]

    /// The answer to a browser; 304 if it already has the file.
    func answer(to request: HTTPRequest) -> HTTPResponse {
        var headers = [
            ("ETag", self.tag), ("Cross-Origin-Resource-Policy", self.isShared ? "cross-origin" : "same-origin"),
        ]
        // A module of another origin is fetched with CORS; it contains nothing secret.
        if self.isShared { headers.append(("Access-Control-Allow-Origin", "*")) }
        let known = (request.headers["if-none-match"] ?? "").split(separator: ",")
            .map { $0.trimmingCharacters(in: .whitespaces).replacing("W/", with: "") }
        if known.contains(self.tag) || known.contains("*") { return HTTPResponse(status: 304, headers: headers) }
        return HTTPResponse(status: 200, headers: [("Content-Type", self.type)] + headers, body: self.bytes)
    }
}
