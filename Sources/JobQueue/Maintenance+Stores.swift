internal import InspectCore
internal import Postgres

extension Maintenance {
    /// Performs a duty of maintenance that calls a store outside the database, until the worker stops.
    ///
    /// The row of the duty is not locked meanwhile, since that would hold the xmin horizon for as long as the store is slow. So two workers may do
    /// the same at once, or one may be killed between two calls: doing it twice must do no harm.
    ///
    /// - Parameters:
    ///   - name: As in `insp.duty`.
    ///   - begin: A statement that comes first, once.
    ///   - delayed: What is reported when the rounds begin to fail, with the reason.
    ///   - round: Returns how much it has done, and whether more is left.
    func runStoreDuty(
        _ name: String, begin: String? = nil, delayed: (String) -> JobQueueEvent,
        _ round: (PostgresConnection) async throws -> (done: Int, hasMore: Bool)
    ) async {
        let source = self.configuration.connection(name, report: self.report)
        var backoff = Backoff()
        var isDelayed = false
        var begin = begin
        while !Task.isCancelled {
            var pause = Duration.seconds(1)
            do {
                let connection = try await source.open()
                if let statement = begin { _ = try await connection.query(statement) }
                begin = nil
                let take = try await connection.query("SELECT insp.duty_take($1, interval '0.8 s')", [.text(name)])
                if try take.single().bool(0) {
                    let (done, hasMore) = try await round(connection)
                    _ = try await connection.query(
                        "SELECT insp.duty_done($1, $2, to_jsonb($3::integer))",
                        [.text(name), .text(self.worker), .int(Int64(done))])
                    if hasMore { pause = .zero }
                }
                isDelayed = false
                backoff.reset()
            } catch is CancellationError {
                break
            } catch {
                pause = max(pause, backoff.next())
                let reason = (error as? InspectError)?.text ?? (error as? PostgresError)?.reason ?? "\(error)"
                if !isDelayed { self.report(delayed(reason)) }
                isDelayed = true
                _ = try? await source.open().query(
                    "SELECT insp.duty_failed($1, $2, $3)", [.text(name), .text(self.worker), .text(reason)])
            }
            try? await Task.sleep(for: pause)
        }
        await source.close()
    }
}
