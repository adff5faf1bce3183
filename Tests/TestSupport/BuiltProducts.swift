public import Foundation

/// What the package's build made, next to the test bundle.
public enum BuiltProducts {
    public static let folder = URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath()
        .deletingLastPathComponent()
    public static var inspectd: String { Self.folder.appendingPathComponent("inspectd").path }
}
