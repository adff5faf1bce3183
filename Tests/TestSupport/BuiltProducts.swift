package import Foundation

/// What the package's build made, next to the test bundle.
package enum BuiltProducts {
    package static let folder = URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath()
        .deletingLastPathComponent()
    package static var inspectd: String { Self.folder.appendingPathComponent("inspectd").path }
}
