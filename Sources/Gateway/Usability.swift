package import Foundation
internal import HTTPServer
package import InspectCore
internal import Synchronization

/// The immediate judgement of one or two images of a document, or of a selfie.
package struct UsabilityVerdict: Sendable {
    /// One of each image, as in a result's `capabilities.usability`.
    package var records: [CapabilityRecord<UsabilityData>]
    /// Numbered reasons, as in a result's `rejectReasons`.
    package var numbered: [RejectReason]

    package init(records: [CapabilityRecord<UsabilityData>], numbered: [RejectReason]) {
        self.records = records
        self.numbered = numbered
    }
}

/// Judges images while their sender waits. The gateway parses no image: `judge` passes them to a confined process.
package final class UsabilityDesk: Sendable {
    private let room: Int
    private let judge: @Sendable ([(kind: PartKind, bytes: Data)]) async throws -> UsabilityVerdict
    private let show: @Sendable ([(name: String, bytes: Data)]) async throws -> [String: Preview]
    private let busy = Mutex(0)

    /// - Parameters:
    ///   - room: Requests at once, including those that wait for a process; more are refused.
    ///   - show: Makes previews of images for a report, by their names.
    package init(
        room: Int, judge: @escaping @Sendable ([(kind: PartKind, bytes: Data)]) async throws -> UsabilityVerdict,
        show: @escaping @Sendable ([(name: String, bytes: Data)]) async throws -> [String: Preview]
    ) {
        self.room = room
        self.judge = judge
        self.show = show
    }

    /// - Throws: ``ErrorCode/gatewayOverloaded``, and what `judge` throws.
    func look(at images: [(kind: PartKind, bytes: Data)]) async throws -> UsabilityVerdict {
        try await self.admitted { try await self.judge(images) }
    }

    /// - Parameter load: Fetches the images, once there is room for them.
    /// - Throws: ``ErrorCode/gatewayOverloaded``, and what `load` and `show` throw.
    func previews(
        of load: @Sendable () async throws -> [(name: String, bytes: Data)]
    ) async throws -> [String: Preview] {
        try await self.admitted {
            let images = try await load()
            return images.isEmpty ? [:] : try await self.show(images)
        }
    }

    private func admitted<Result: Sendable>(_ work: () async throws -> Result) async throws -> Result {
        let isFull = self.busy.withLock { busy in
            if busy < self.room { busy += 1 } else { return true }
            return false
        }
        guard !isFull else { throw InspectError(.gatewayOverloaded) }
        defer { self.busy.withLock { $0 -= 1 } }
        return try await work()
    }
}

extension GatewayRoute {
    /// `POST /usability`: advice for the person with the camera, before there is a job.
    static let usability = GatewayRoute(
        "POST", "/usability", .jsonOrFiles,
        Operation(
            id: "judgeUsability", summary: "Says at once whether one or two images of a document can be used",
            detail:
                "No job is created and nothing is stored. REJECTED is final; WARNING means that a job would reject the image unless its text can still be read.",
            parameters: [
                .query(
                    "language", #"{ "type": "string", "pattern": "^[A-Za-z]{2}(-[A-Za-z0-9]{1,8})?$" }"#,
                    "Of the advice; English where there is none in it")
            ], request: "UsabilityRequest", form: "UsabilityForm", answers: [.json("The verdict", "Usability")]),
        .scope(.create) { (call) throws(InspectError) in
            let language = call.request.query["language"] ?? "en"
            guard language.wholeMatch(of: /[A-Za-z]{2}(-[A-Za-z0-9]{1,8})?/) != nil else {
                throw InspectError(
                    .parameterInvalid, "language", hint: "A language is a tag such as de or de-AT.", field: "language")
            }
            let isTest = call.credential.isTest
            guard isTest || call.service.usability != nil else { throw InspectError(.analyzerUnavailable) }
            let parse = try call.parsing(picksWorkflow: false)
            return { body in
                let images = try Self.images(try await parse(body))
                async let advice = call.store.advice(call.credential, language)
                let verdict =
                    isTest ? try Self.specimen(images) : try await call.service.usability?.look(at: images)
                guard let verdict else { throw InspectError(.analyzerUnavailable) }
                return GatewayAnswer(response: try call.answer(UsabilityAnswer(verdict, try await advice)))
            }
        })

    /// - Parameter others: Kinds that the caller takes in addition to the document's sides.
    static func images(
        _ request: CreateRequest, or others: [PartKind] = []
    ) throws(InspectError) -> [(kind: PartKind, bytes: Data)] {
        let object = (try? JSONSerialization.jsonObject(with: request.payload)) as? [String: Any] ?? [:]
        if let other = object.keys.min() {
            let (isByURL, isDigest) = (other == "parts", other == "digests")
            throw InspectError(
                .payloadInvalid,
                isByURL ? "parts has a URL, or no bytes" : isDigest ? "a digest" : "unknown key '\(other.prefix(40))'",
                hint: isByURL || isDigest
                    ? "Nothing is fetched or stored here: send bytes alone, without sha256."
                    : "Keys are encodedFrontImage, encodedBackImage and parts.", field: String(other.prefix(40)))
        }
        let kinds = PartKind.sides + others
        if let kind = request.parts.keys.first(where: { !kinds.contains($0) }) {
            throw InspectError(
                .partUnexpected, kind.rawValue,
                hint: "Send one or more of \(kinds.map(\.rawValue).joined(separator: ", ")).", field: kind.rawValue)
        }
        let images = kinds.compactMap { kind in
            request.parts[kind]?.first.map { (kind: kind, bytes: $0) }
        }
        guard !images.isEmpty else { throw InspectError(.partMissing, "FRONT or BACK", field: "FRONT") }
        return images
    }

    /// The usability result for test specimens. No image is analysed.
    private static func specimen(_ images: [(kind: PartKind, bytes: Data)]) throws(InspectError) -> UsabilityVerdict {
        guard let specimen = images.lazy.compactMap({ TestSpecimen($0.bytes) }).first else {
            throw InspectError(
                .partMissing, "a specimen",
                hint: "A test sends inspectd-specimen:passed, or another specimen, instead of an image.", field: "FRONT"
            )
        }
        let document = specimen.document(of: .id, parts: images.map(\.kind))
        // Conditions that a job reports in its result, and this call refuses.
        guard let records = document.capabilities.usability else { throw InspectError(.tooManyPixels) }
        return UsabilityVerdict(records: records, numbered: [])
    }
}

/// The answer of `/usability`.
struct UsabilityAnswer: Encodable {
    var decision: Decision
    var usability: [CapabilityRecord<UsabilityData>]
    var reasons: [ReasonRecord]

    init(_ verdict: UsabilityVerdict, _ advice: [String: String]) {
        self.usability = verdict.records
        let types = Set(verdict.records.map(\.decision.type))
        let overall: DecisionType = types.contains(.rejected) ? .rejected : types == [.passed] ? .passed : .warning
        self.decision = Decision(overall, overall.rawValue)
        self.reasons = ReasonRecord.all(
            overall, verdict.records.map { ($0.parts, $0.decision) }, numbered: verdict.numbered)
        for index in self.reasons.indices {
            if let words = advice[self.reasons[index].code.rawValue] { self.reasons[index].advice = words }
        }
    }
}
