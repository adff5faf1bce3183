// swift-tools-version: 6.1
import PackageDescription

#if arch(x86_64)
    let branchProtection = ["-fcf-protection=full"]
#else
    let branchProtection = ["-mbranch-protection=standard"]
#endif

/// Flags that make an overflow end the process instead of continuing: C and C++ read bytes from strangers. `-O2` also in debug
/// builds: FORTIFY does nothing without it, and finding faces is many times slower.
let hardening =
    ["-O2", "-fstack-protector-strong", "-fstack-clash-protection", "-U_FORTIFY_SOURCE", "-D_FORTIFY_SOURCE=3"]
    + branchProtection

/// Debian's OpenCV has no pkg-config file without its 140-library meta package, so its header folder is named here.
let visionFlags: [CXXSetting] = [
    .unsafeFlags(hardening + ["-D_GLIBCXX_ASSERTIONS", "-isystem", "/usr/include/opencv4", "-fvisibility=hidden"])
]

/// All addresses are resolved at the start and read-only from then on.
let hardenedLink: [LinkerSetting] = [
    .unsafeFlags(["relro", "now", "noexecstack"].flatMap { ["-Xlinker", "-z", "-Xlinker", $0] })
]

/// Files that are part of the program, so that no installation can lack or change them.
func embedded(_ folder: String, _ names: String...) -> [Resource] {
    names.map { .embedInCode("\(folder)/\($0)") }
}

let strict: [SwiftSetting] = [
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("ExistentialAny"),
]

let package = Package(
    name: "inspectd",
    products: [.executable(name: "inspectd", targets: ["inspectd"])],
    targets: [
        .systemLibrary(name: "CPostgres", pkgConfig: "libpq"),
        .systemLibrary(name: "CCurl", pkgConfig: "libcurl"),
        .systemLibrary(name: "COpenSSL", pkgConfig: "libcrypto"),
        .systemLibrary(name: "CEpoll"),
        // Headers alone: modules are loaded at run time.
        .systemLibrary(name: "CPKCS11"),
        .target(
            name: "CSystem", cSettings: [.unsafeFlags(hardening)],
            // Every program that is linked depends on it.
            linkerSettings: [.linkedLibrary("seccomp")] + hardenedLink),
        .target(
            name: "CVision",
            // The weights enter through #embed (mrz_weights.c, face_weights.c, text_weights.c).
            exclude: [
                "Training", "face_detector.bin", "mrz_reader.bin", "mrz_detector.bin", "text_reader.bin",
                "text_second.bin",
            ],
            cSettings: [.unsafeFlags(hardening)],
            cxxSettings: visionFlags,
            // dlib's archive, since nearly all of dlib is in its headers. OpenCV's networks and qpdf are loaded on first use
            // (late_library.hpp).
            linkerSettings: [
                "opencv_core", "opencv_imgproc", ":libdlib.a", "blas", "lapack", "ZXing", "jpeg", "png", "webp",
                "openjp2", "de265", "z", "crypto", "m",
            ].map { .linkedLibrary($0) }
        ),
        .target(name: "InspectCore", swiftSettings: strict),
        .target(name: "Postgres", dependencies: ["CPostgres", "InspectCore"], swiftSettings: strict),
        .target(name: "HTTPClient", dependencies: ["CCurl", "InspectCore"], swiftSettings: strict),
        .target(
            name: "Custody", dependencies: ["COpenSSL", "CPKCS11", "HTTPClient", "InspectCore", "Postgres"],
            swiftSettings: strict),
        .target(
            name: "ObjectStore", dependencies: ["Custody", "HTTPClient", "InspectCore", "Postgres"],
            swiftSettings: strict),
        .target(name: "Vision", dependencies: ["CVision", "InspectCore"], swiftSettings: strict),
        .target(
            name: "JobQueue", dependencies: ["Custody", "InspectCore", "ObjectStore", "Postgres"], swiftSettings: strict
        ),
        .target(
            name: "Callbacks", dependencies: ["COpenSSL", "Custody", "HTTPClient", "InspectCore", "Postgres"],
            swiftSettings: strict),
        .target(name: "Chip", dependencies: ["COpenSSL", "InspectCore"], swiftSettings: strict),
        .target(name: "Analyzer", dependencies: ["Chip", "CSystem", "InspectCore", "Vision"], swiftSettings: strict),
        .target(
            name: "Inspection",
            dependencies: [
                "Analyzer", "COpenSSL", "Custody", "HTTPClient", "InspectCore", "JobQueue", "ObjectStore",
            ],
            swiftSettings: strict),
        .target(name: "HTTPServer", dependencies: ["CEpoll", "COpenSSL", "InspectCore"], swiftSettings: strict),
        .target(
            name: "Gateway",
            dependencies: [
                "COpenSSL", "Callbacks", "Custody", "HTTPServer", "InspectCore", "ObjectStore", "Postgres",
            ],
            resources: embedded(
                "Capture/Page", "capture.js", "page.css", "page.js", "camera.js", "challenge.js", "crop.js",
                "document.js", "send.js", "texts.json", "ui.js")
                + embedded(
                    "OpenAPI/Examples", "specimen.json", "created.json", "passed.json", "rejected.json",
                    "liveness.json", "finished.json", "pulled.json", "refused.json"),
            swiftSettings: strict),
        .target(
            name: "Console",
            dependencies: [
                "COpenSSL", "Custody", "HTTPClient", "HTTPServer", "InspectCore", "ObjectStore", "Postgres",
            ],
            resources: embedded("Pages", "console.css", "console.js"),
            swiftSettings: strict),
        .target(
            name: "Benchmarks",
            dependencies: [
                "Analyzer", "CCurl", "COpenSSL", "Callbacks", "Custody", "HTTPClient", "InspectCore", "Inspection",
                "JobQueue", "Postgres",
            ],
            swiftSettings: strict),
        .executableTarget(
            name: "inspectd",
            dependencies: [
                "Analyzer", "Benchmarks", "Callbacks", "Console", "Custody", "Gateway", "HTTPClient", "HTTPServer",
                "InspectCore", "Inspection", "JobQueue", "ObjectStore", "Postgres", "Vision",
            ],
            swiftSettings: strict
        ),
        .target(
            name: "TestSupport", dependencies: ["InspectCore", "Postgres"], path: "Tests/TestSupport",
            swiftSettings: strict),
        .executableTarget(
            name: "faulty-analyzer", dependencies: ["Analyzer", "InspectCore"], path: "Tests/FaultyAnalyzer",
            swiftSettings: strict),
        .executableTarget(
            name: "referee", dependencies: ["Callbacks", "Chip", "Custody", "InspectCore", "Inspection"],
            path: "Tests/Referees/Program", swiftSettings: strict),
        .testTarget(name: "InspectCoreTests", dependencies: ["InspectCore", "TestSupport"]),
        .testTarget(name: "PostgresTests", dependencies: ["Postgres", "TestSupport"]),
        .testTarget(
            name: "JobQueueTests",
            dependencies: ["Custody", "Gateway", "HTTPServer", "InspectCore", "JobQueue", "Postgres", "TestSupport"]),
        .testTarget(
            name: "CustodyTests", dependencies: ["Custody", "HTTPClient", "InspectCore", "Postgres", "TestSupport"]),
        .testTarget(name: "HTTPClientTests", dependencies: ["HTTPClient", "TestSupport"]),
        .testTarget(
            name: "ObjectStoreTests",
            dependencies: ["Custody", "Gateway", "InspectCore", "JobQueue", "ObjectStore", "Postgres", "TestSupport"]),
        .testTarget(
            name: "CallbacksTests",
            dependencies: ["Callbacks", "Custody", "HTTPClient", "InspectCore", "Postgres", "TestSupport"]),
        .testTarget(
            name: "InspectionTests",
            dependencies: ["Custody", "HTTPClient", "InspectCore", "Inspection", "JobQueue", "TestSupport"]),
        .testTarget(name: "BenchmarksTests", dependencies: ["Benchmarks", "InspectCore", "JobQueue", "TestSupport"]),
        .testTarget(
            name: "AnalyzerTests",
            dependencies: ["Analyzer", "CSystem", "InspectCore", "TestSupport", "Vision", "faulty-analyzer"]),
        .testTarget(name: "ChipTests", dependencies: ["Chip", "InspectCore", "TestSupport"]),
        // Tesseract, which reads the same lines as the product.
        .target(name: "TextReferee", path: "Tests/TextReferee", linkerSettings: [.linkedLibrary("tesseract")]),
        .testTarget(
            name: "VisionTests", dependencies: ["CVision", "InspectCore", "TextReferee", "Vision", "TestSupport"]),
        .testTarget(name: "HTTPServerTests", dependencies: ["HTTPServer", "InspectCore", "TestSupport"]),
        .testTarget(name: "GatewayTests", dependencies: ["Gateway", "HTTPServer", "InspectCore", "TestSupport"]),
        .testTarget(
            name: "ConsoleTests",
            dependencies: ["COpenSSL", "Console", "HTTPServer", "InspectCore", "Postgres", "TestSupport"]),
        .testTarget(
            name: "EndToEndTests",
            dependencies: [
                "Custody", "Gateway", "InspectCore", "JobQueue", "Postgres", "inspectd", "faulty-analyzer",
                "TestSupport",
            ]),
    ],
    swiftLanguageModes: [.v6],
    cxxLanguageStandard: .cxx17
)
