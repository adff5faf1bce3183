/// The version of the program, as results and `--version` name it.
package enum Version {
    package static let current = "0.2.0-dev"
}
