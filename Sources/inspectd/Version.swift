/// The version of the program, as results and `--version` name it.
enum Version {
    static let current = "0.2.0-dev"
}
