internal import Custody
internal import Foundation
internal import HTTPServer
internal import InspectCore

extension GatewayRoute {
    /// `GET /inspectionjob/{id}/report`: the page that `inspectd inspect --report` writes.
    static let report = GatewayRoute(
        "GET", "/inspectionjob/{id}/report", .none,
        Operation(
            id: "getReport",
            summary: "The reviewer's page of a finished job: the decision, the images, every measurement",
            detail:
                "One HTML page without scripts that loads nothing. Each call is recorded with its purpose. Images are shown as long as they are kept. "
                + Operation.destroyed,
            parameters: [
                .query(
                    "purpose", #"{ "enum": ["review", "support", "export", "delivery"], "default": "review" }"#,
                    "What the page is read for")
            ],
            answers: [.init(description: "The page", type: "text/html", isEncrypted: true)], refusals: [404, 409, 410]),
        .scope(.report) { (call) throws(InspectError) in
            let id = try call.jobID()
            let purpose = call.request.query["purpose"] ?? "review"
            guard ["review", "support", "export", "delivery"].contains(purpose) else {
                throw InspectError(
                    .parameterInvalid, "purpose", hint: "A purpose is review, support, export or delivery.",
                    field: "purpose")
            }
            return { _ in
                let material = try await call.store.report(call.credential, id: id, purpose: purpose)
                let page = InspectionReport(
                    document: material.document, facts: material.facts,
                    previews: try await call.previews(of: material, id, for: purpose),
                    today: CalendarDate(material.decidedAt),
                    origin: ReportOrigin(
                        job: id, partner: material.partner, decidedAt: material.decidedAt,
                        isTest: call.credential.isTest)
                ).html
                return GatewayAnswer(response: try Self.answer(page).encrypted(for: material.key), job: id)
            }
        })

    /// The page for a browser, which must run and load nothing, whatever a document's text may contain.
    private static func answer(_ page: String) -> HTTPResponse {
        let style = page.firstRange(of: "<style>").flatMap { start in
            page[start.upperBound...].firstRange(of: "</style>").map { page[start.upperBound..<$0.lowerBound] }
        }
        let digest = Data(SHA256.digest(Array((style ?? "").utf8))).base64EncodedString()
        return HTTPResponse(
            status: 200,
            headers: [
                ("Content-Type", "text/html; charset=utf-8"),
                (
                    "Content-Security-Policy",
                    "default-src 'none'; img-src data:; style-src 'sha256-\(digest)'; base-uri 'none'; form-action 'none'; "
                        + "frame-ancestors 'none'; sandbox"
                ), ("Referrer-Policy", "no-referrer"), ("Cross-Origin-Resource-Policy", "same-origin"),
            ], body: Data(page.utf8))
    }
}

extension GatewayCall {
    /// Previews of a job's images, as far as they are kept and this gateway has analyzers.
    fileprivate func previews(
        of material: ReportMaterial, _ id: String, for purpose: String
    ) async throws -> [String: Preview] {
        guard let desk = self.service.usability else { return [:] }
        return try await desk.previews {
            var images: [(name: String, bytes: Data)] = []
            for kind in material.images {
                do {
                    let bytes = try await self.store.part(
                        self.credential, id: id, kind: kind, ordinal: 0, purpose: purpose)
                    images.append((kind.rawValue, bytes))
                } catch let error as InspectError where [.partAbsent, .partsPurged].contains(error.code) {
                    continue
                }
            }
            // As the worker did: the first frame stands for a face that was not given.
            if !images.contains(where: { $0.name == PartKind.face.rawValue }),
                let frame = images.first(where: { $0.name == PartKind.frames.rawValue })
            {
                images.append((PartKind.face.rawValue, frame.bytes))
            }
            return images
        }
    }
}
