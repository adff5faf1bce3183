import Foundation

/// One image of 24 × 16 pixels in several formats: red at the top left (8 × 8), green at the top right, blue at the
/// bottom left, white at the bottom right.
enum SmallImage {
    /// JPEG, 4:4:4.
    static let jpeg = Self.bytes(
        """
        /9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAAMCAgMCAgMDAwMEAwMEBQgFBQQEBQoHBwYIDAoMDAsKCwsNDhIQDQ4RDgsLEBYQERMUFRUV \
        DA8XGBYUGBIUFRT/2wBDAQMEBAUEBQkFBQkUDQsNFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQU \
        FBT/wAARCAAQABgDAREAAhEBAxEB/8QAFwAAAwEAAAAAAAAAAAAAAAAAAAgJCv/EABQQAQAAAAAAAAAAAAAAAAAAAAD/xAAZAQACAwEA \
        AAAAAAAAAAAAAAAABwYJCgj/xAAUEQEAAAAAAAAAAAAAAAAAAAAA/9oADAMBAAIRAxEAPwBdCMWpnGJJmPACXjRm7laW1VicAB//2Q==
        """)
    /// JPEG in several scans.
    static let progressiveJPEG = Self.bytes(
        """
        /9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAAMCAgMCAgMDAwMEAwMEBQgFBQQEBQoHBwYIDAoMDAsKCwsNDhIQDQ4RDgsLEBYQERMUFRUV \
        DA8XGBYUGBIUFRT/2wBDAQMEBAUEBQkFBQkUDQsNFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQU \
        FBT/wgARCAAQABgDAREAAhEBAxEB/8QAFwAAAwEAAAAAAAAAAAAAAAAAAAcICf/EABkBAAIDAQAAAAAAAAAAAAAAAAAGBQgJB//aAAwD \
        AQACEAMQAAABXKLalxpOY4EvaM9z0tqtOAf/xAAUEAEAAAAAAAAAAAAAAAAAAAAg/9oACAEBAAEFAl//xAAUEQEAAAAAAAAAAAAAAAAA \
        AAAg/9oACAEDAQE/AV//xAAUEQEAAAAAAAAAAAAAAAAAAAAg/9oACAECAQE/AV//xAAUEAEAAAAAAAAAAAAAAAAAAAAg/9oACAEBAAY/ \
        Al//xAAUEAEAAAAAAAAAAAAAAAAAAAAg/9oACAEBAAE/IV//2gAMAwEAAgADAAAAEPapP//EABQRAQAAAAAAAAAAAAAAAAAAACD/2gAI \
        AQMBAT8QX//EABQRAQAAAAAAAAAAAAAAAAAAACD/2gAIAQIBAT8QX//EABQQAQAAAAAAAAAAAAAAAAAAACD/2gAIAQEAAT8QX//Z
        """)
    /// JPEG with four inks, inverted as Adobe writes them.
    static let cmykJPEG = Self.bytes(
        """
        /9j/7gAOQWRvYmUAZAAAAAAA/9sAQwADAgIDAgIDAwMDBAMDBAUIBQUEBAUKBwcGCAwKDAwLCgsLDQ4SEA0OEQ4LCxAWEBETFBUVFQwP \
        FxgWFBgSFBUU/8AAFAgAEAAYBEMRAE0RAFkRAEsRAP/EABYAAQEBAAAAAAAAAAAAAAAAAAAKCf/EABQQAQAAAAAAAAAAAAAAAAAAAAD/ \
        2gAOBEMATQBZAEsAAD8A1TZVMqmqaVdVQAAJV1VAqoVUAAP/2Q==
        """)
    /// JPEG with one component.
    static let grayJPEG = Self.bytes(
        """
        /9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAAMCAgMCAgMDAwMEAwMEBQgFBQQEBQoHBwYIDAoMDAsKCwsNDhIQDQ4RDgsLEBYQERMUFRUV \
        DA8XGBYUGBIUFRT/wAALCAAQABgBAREA/8QAFwAAAwEAAAAAAAAAAAAAAAAAAAgJCv/EABQQAQAAAAAAAAAAAAAAAAAAAAD/2gAIAQEA \
        AD8AXQ4wS8aWw//Z
        """)
    /// WebP, lossless.
    static let webp = Self.bytes(
        """
        UklGRjgAAABXRUJQVlA4TCsAAAAvF8ADAB8gEEjeHzqN+RcQFPwf3fxHZA+AMNtokpM8yf2PIKL/sak+oeoJAA==
        """)
    /// JPEG 2000 in a JP2 file, reversible.
    static let jp2 = Self.bytes(
        """
        AAAADGpQICANCocKAAAAFGZ0eXBqcDIgAAAAAGpwMiAAAAAtanAyaAAAABZpaGRyAAAAEAAAABgAAwcHAAAAAAAPY29scgEAAAAAABAA \
        AAFwanAyY/9P/1EALwAAAAAAGAAAABAAAAAAAAAAAAAAABgAAAAQAAAAAAAAAAAAAwcBAQcBAQcBAf9SAAwAAAABAAQEBAAB/1wAEEBA \
        SEhQSEhQSEhQSEhQ/2QAJQABQ3JlYXRlZCBieSBPcGVuSlBFRyB2ZXJzaW9uIDIuNS40/5AACgAAAAAA7AAB/5PPtAwAru/fgBgJ6i3P \
        tAwJHWfD6gK/MDj8AEAG3wnrJQTH2gQABH+n4AYBn1fPwBp+ARH4AwAFNWbZTgsEtjWxG9jUJwR45QObs8/AGAkqslicf6fgDgaAwAPU \
        Jr/PwC5+AdH4BAAXsR+2u7E/KsD6bw8UFMMPVtdk5JSENlVfFq+O17ToVKfPwCgXLBdPt9Ra73Dfp+AYDHhSEKzGKmMmmBU/z8AyfgHx \
        +AKAIhoRNpxLvpurxkM/A3rFWeeotmyi3+5x2djPJCxO/3/H2goAIW65ZH+j7QUAANUJ3j//2Q==
        """)
    /// The same as a raw codestream.
    static let codestream = Self.bytes(
        """
        /0//UQAvAAAAAAAYAAAAEAAAAAAAAAAAAAAAGAAAABAAAAAAAAAAAAADBwEBBwEBBwEB/1IADAAAAAEABAQEAAH/XAAQQEBISFBISFBI \
        SFBISFD/ZAAlAAFDcmVhdGVkIGJ5IE9wZW5KUEVHIHZlcnNpb24gMi41LjT/kAAKAAAAAADsAAH/k8+0DACu79+AGAnqLc+0DAkdZ8Pq \
        Ar8wOPwAQAbfCeslBMfaBAAEf6fgBgGfV8/AGn4BEfgDAAU1ZtlOCwS2NbEb2NQnBHjlA5uzz8AYCSqyWJx/p+AOBoDAA9Qmv8/ALn4B \
        0fgEABexH7a7sT8qwPpvDxQUww9W12TklIQ2VV8Wr47XtOhUp8/AKBcsF0+31FrvcN+n4BgMeFIQrMYqYyaYFT/PwDJ+AfH4AoAiGhE2 \
        nEu+m6vGQz8DesVZ56i2bKLf7nHZ2M8kLE7/f8faCgAhbrlkf6PtBQAA1QneP//Z
        """)

    static func bytes(_ base64: String) -> [UInt8] {
        guard let data = Data(base64Encoded: base64, options: .ignoreUnknownCharacters) else {
            preconditionFailure("the test's own image is damaged")
        }
        return [UInt8](data)
    }

    /// `jpeg` with an EXIF segment that holds nothing but this orientation.
    static func jpeg(orientation: UInt8, bigEndian: Bool = false) -> [UInt8] {
        let tiff: [UInt8] =
            bigEndian
            ? [0x4D, 0x4D, 0, 42, 0, 0, 0, 8, 0, 1, 0x01, 0x12, 0, 3, 0, 0, 0, 1, 0, orientation, 0, 0, 0, 0, 0, 0]
            : [0x49, 0x49, 42, 0, 8, 0, 0, 0, 1, 0, 0x12, 0x01, 3, 0, 1, 0, 0, 0, orientation, 0, 0, 0, 0, 0, 0, 0]
        return Self.jpeg(exif: Array("Exif\0\0".utf8) + tiff)
    }

    /// `jpeg` with this body of an APP1 segment after its first marker.
    static func jpeg(exif body: [UInt8]) -> [UInt8] {
        let length = body.count + 2
        return Array(self.jpeg[..<2]) + [0xFF, 0xE1, UInt8(length >> 8), UInt8(length & 255)] + body + self.jpeg[2...]
    }
}
