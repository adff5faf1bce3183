internal import Synchronization

/// Remembers what functions of a text return while a document is read or judged: every rule asks the same lines for their words,
/// days and labels, and does so again after every reading.
///
/// Nothing is kept beyond ``during(_:)``: the texts are personal data.
package final class VIZMemo: Sendable {
    @TaskLocal private static var current: VIZMemo?

    let words = Table<[String]>()
    let plainWords = Table<[String]>()
    let marks = Table<[VIZLabel.Mark]>()
    /// With either order of day and month, day first, month first.
    let days = [Table<Set<CalendarDate>>(), Table(), Table()]

    /// The values of one function by their texts.
    final class Table<Value: Sendable>: Sendable {
        private let values = Mutex<[String: Value]>([:])

        fileprivate func value(of text: String, _ make: (String) -> Value) -> Value {
            if let known = self.values.withLock({ $0[text] }) { return known }
            let value = make(text)
            self.values.withLock { $0[text] = value }
            return value
        }
    }

    /// Runs `body`, in which each value is computed once for each text.
    package static func during<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
        if self.current != nil { return try body() }
        return try Self.$current.withValue(VIZMemo()) { () -> Swift.Result<Result, Failure> in
            do throws(Failure) { return .success(try body()) } catch { return .failure(error) }
        }.get()
    }

    /// The value of `text`, which `make` computes if it is not known yet.
    static func value<Value: Sendable>(
        of text: String, in table: (VIZMemo) -> Table<Value>, _ make: (String) -> Value
    ) -> Value {
        guard let current else { return make(text) }
        return table(current).value(of: text, make)
    }
}
