/// One request as it is logged and counted, without addresses, names, headers, paths or bodies.
package struct HTTPAccess: Sendable {
    /// The path's pattern, such as `/inspectionjob/{id}`; `other` for paths that do not exist.
    package var route = "other"
    /// The HTTP status of the answer.
    package var status = 0
    /// Error code, if the request was refused.
    package var code: String?
    /// Key id of the credential, once it was found valid.
    package var credential: String?
    /// Public id of the job, once the database confirmed that it is the partner's.
    package var job: String?
    /// Until the answer was ready; time that the client waited for a result is included.
    package var duration: Duration = .zero

    package init() {}
}
