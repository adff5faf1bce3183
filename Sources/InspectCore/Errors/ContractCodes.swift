/// The names of an error in the contracts of partners' apps.
package struct ContractCodes: Codable, Sendable, Equatable {
    /// The code of the mobile SDK: a letter and five digits.
    package var mobile: String
    /// The number of the payment SDK; `nil` if it has none.
    package var payment: Int?
}
