/// The version of the program, as results and `--version` name it.
package enum Version {
    /// As in Semantic Versioning 2.0.0.
    package static let current = "0.2.0"
    /// The release before, whose workers, gateways and producers go on while this one migrates, and after it: `Tests/freeze.sh` tries
    /// that. `nil`: there is none.
    package static let previous: String? = nil
}
