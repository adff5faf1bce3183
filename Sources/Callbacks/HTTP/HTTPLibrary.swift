internal import CCurl

/// The libcurl that this program runs with.
public enum HTTPLibrary {
    /// `libcurl/x.y.z` and what it was built with.
    public static var version: String { String(cString: curl_version()) }
}
