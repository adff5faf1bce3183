/// The description of a call, apart from what follows from its method, path, scope and media types.
struct Operation: Sendable {
    /// The call's name in generated clients.
    var id: String
    var summary: String
    /// Further information; may be empty.
    var detail = ""
    var parameters: [Parameter] = []
    /// Name of the schema of a JSON body or of an OAuth 2.0 form.
    var request: String?
    /// Bodies of that schema.
    var requestExamples: [OpenAPIExample] = []
    /// Name of the schema of a form with files.
    var form: String?
    var answers: [Answer]
    /// Statuses of refusals, in addition to those that every call of its kind has.
    var refusals: [Int] = []
    /// Whether a public call checks a credential.
    var takesCredential = false

    /// A parameter of the query or a header; those of the path are in the path.
    struct Parameter: Sendable {
        /// A JSON object, or a reference to one.
        var text: String
        /// Its name in the query; `nil`: it is elsewhere.
        var query: String?

        static func query(_ name: String, _ schema: String, _ description: String? = nil) -> Parameter {
            self.one(name, "query", schema, description)
        }

        static func header(_ name: String, _ description: String) -> Parameter {
            self.one(name, "header", #"{ "type": "string" }"#, description)
        }

        private static func one(_ name: String, _ place: String, _ schema: String, _ description: String?) -> Parameter
        {
            let words = description.map { #""description": "\#($0)", "# } ?? ""
            return Parameter(
                text: #"{ "name": "\#(name)", "in": "\#(place)", \#(words)"schema": \#(schema) }"#,
                query: place == "query" ? name : nil)
        }

        /// One of the description's `components/parameters`.
        static func shared(_ name: String) -> Parameter {
            Parameter(text: ##"{ "$ref": "#/components/parameters/\##(name)" }"##)
        }

        /// One of them that is in the query.
        private static func sharedQuery(_ name: String) -> Parameter {
            Parameter(text: Self.shared(name).text, query: name)
        }

        static let wait = Self.sharedQuery("wait")
        static let idempotencyKey = Self.shared("idempotencyKey")
        static let after = Self.sharedQuery("after")
        static let traceparent = Self.header("traceparent", "W3C Trace Context")

        static func limit(_ standard: Int, most: Int = 100) -> Parameter {
            .query("limit", #"{ "type": "integer", "minimum": 1, "maximum": \#(most), "default": \#(standard) }"#)
        }
    }

    /// The sentence about `wait` in calls that create a job.
    static let waiting = "If wait is above 0, it returns the job's result, so it also requires the scope read."

    /// What to know of answers with the status 410, if a job is sealed.
    static let destroyed = "410 KEY_DESTROYED: an erasure destroyed the key, so the data can never be opened again."

    /// An answer to a request that was not refused.
    struct Answer: Sendable {
        var status = 200
        var description: String
        /// Name of the schema of a JSON body; `nil`: there is none.
        var schema: String?
        /// Media type of a body that is not `application/json`.
        var type: String?
        var headers: [Header] = []
        /// Whether the body's `id` is that of a job whose result can be requested.
        var isJob = false
        /// Whether the body is encrypted if the partner has registered a key.
        var isEncrypted = false
        /// Bodies of the schema.
        var examples: [OpenAPIExample] = []

        /// The same with these examples.
        func showing(_ examples: OpenAPIExample...) -> Answer {
            var answer = self
            answer.examples = examples
            return answer
        }

        /// The same, encrypted if the partner has registered a key.
        var encrypted: Answer {
            var answer = self
            answer.isEncrypted = true
            return answer
        }

        static func json(_ description: String, _ schema: String, _ headers: Header...) -> Answer {
            Answer(description: description, schema: schema, headers: headers)
        }

        static func json(
            _ status: Int, _ description: String, _ schema: String, _ headers: Header..., isJob: Bool = false
        ) -> Answer {
            Answer(status: status, description: description, schema: schema, headers: headers, isJob: isJob)
        }
    }

    /// A header of an answer.
    enum Header: Sendable {
        case location
        case entityTag
        /// Only of a job that is not finished.
        case retryAfter
        /// Not of an encrypted answer.
        case disposition

        var text: String {
            switch self {
            case .location:
                #""Location": { "required": true, "schema": { "type": "string" }, "description": "Where to ask for it" }"#
            case .entityTag:
                #""ETag": { "required": true, "schema": { "type": "string" }, "description": "For If-None-Match" }"#
            case .disposition:
                #""Content-Disposition": { "schema": { "type": "string" }, "description": "attachment, where it is not encrypted" }"#
            case .retryAfter:
                #""Retry-After": { "schema": { "type": "integer" }, "description": "While it is not finished" }"#
            }
        }
    }
}

// MARK: As JSON

extension GatewayRoute {
    /// The call's member in the description's `paths`, without its path.
    var described: String {
        let operation = self.operation
        var members = [
            #""operationId": "\#(operation.id)""#, #""summary": "\#(operation.summary)""#, self.security,
        ]
        let needed: String? =
            if case .scope(let scope, _) = self.access { "Requires the scope \(scope.rawValue)." } else { nil }
        let detail = [needed, operation.detail].compactMap(\.self).filter { !$0.isEmpty }.joined(separator: " ")
        if !detail.isEmpty { members.append(#""description": "\#(detail)""#) }
        let parameters = self.pattern.names.map(Operation.Parameter.shared) + operation.parameters
        if !parameters.isEmpty {
            members.append(#""parameters": [\#(parameters.map(\.text).joined(separator: ", "))]"#)
        }
        if let body = self.body { members.append(body) }
        let usual: String? =
            if case .scope = self.access {
                OpenAPIDocument.usual(isScoped: true)
            } else {
                operation.takesCredential ? OpenAPIDocument.usual(isScoped: false) : nil
            }
        let responses =
            operation.answers.map { $0.described(usual) } + self.refusals.map(OpenAPIDocument.refusal)
        members.append("\"responses\": {\n          \(responses.joined(separator: ",\n          "))\n        }")
        return "\"\(self.method.lowercased())\": {\n        \(members.joined(separator: ",\n        "))\n      }"
    }

    private var security: String {
        switch self.access {
        case .link: #""security": []"#
        case .everyone: self.operation.takesCredential ? #""security": [{ "basic": [] }, {}]"# : #""security": []"#
        case .scope(let scope, _):
            #""security": [{ "token": ["\#(scope.rawValue)"] }, { "basic": [] }, { "bearer": [] }]"#
        }
    }

    private var body: String? {
        let contents = self.content.types.compactMap { type -> String? in
            let isForm = type.hasPrefix("multipart/")
            guard let schema = isForm ? self.operation.form : self.operation.request else { return nil }
            let rest =
                isForm
                ? #", "encoding": { "request": { "contentType": "application/json" } }"#
                : OpenAPIExample.member(self.operation.requestExamples)
            return ##""\##(type)": { "schema": { "$ref": "#/components/schemas/\##(schema)" }\##(rest) }"##
        }
        guard !contents.isEmpty else { return nil }
        let isRequired = if case .optionalJSON = self.content { false } else { true }
        return #""requestBody": { "required": \#(isRequired), "content": { \#(contents.joined(separator: ", ")) } }"#
    }

    private var refusals: [Int] {
        var statuses: Set = [400, 405, 417, 429, 431]
        if case .scope = self.access { statuses.formUnion([401, 403, 503]) }
        if case .link = self.access { statuses.formUnion([404, 409, 410, 503]) }
        if !self.content.types.isEmpty { statuses.formUnion([413, 415]) }
        return statuses.union(self.operation.refusals).subtracting(self.operation.answers.map(\.status)).sorted()
    }
}

extension Operation.Answer {
    /// - Parameter usual: Headers that each answer to the call has.
    fileprivate func described(_ usual: String?) -> String {
        var members = [#""description": "\#(self.description)""#]
        let headers = self.headers.map(\.text) + (usual.map { [$0] } ?? [])
        if !headers.isEmpty { members.append(#""headers": { \#(headers.joined(separator: ", ")) }"#) }
        if self.isJob {
            members.append(
                #""links": { "job": { "operationId": "getInspectionJob", "parameters": { "id": "$response.body#/id" } } }"#
            )
        }
        var contents: [String] = []
        if let schema = self.schema {
            let type = self.type ?? "application/json"
            let shown = OpenAPIExample.member(self.examples)
            contents.append(##""\##(type)": { "schema": { "$ref": "#/components/schemas/\##(schema)" }\##(shown) }"##)
        } else if let type = self.type {
            contents.append(#""\#(type)": {}"#)
        }
        if self.isEncrypted { contents.append(#""application/jose": { "schema": { "type": "string" } }"#) }
        if self.status == 400 {
            contents.append(##""application/problem+json": { "schema": { "$ref": "#/components/schemas/Problem" } }"##)
        }
        if !contents.isEmpty { members.append(#""content": { \#(contents.joined(separator: ", ")) }"#) }
        return "\"\(self.status)\": { \(members.joined(separator: ", ")) }"
    }
}
