import InspectCore

/// The bytes of hexadecimal digits, in either case.
func hex(_ digits: String) -> [UInt8] { [UInt8](hexadecimal: digits.lowercased())! }

func hex(_ bytes: some Sequence<UInt8>) -> String { bytes.hexadecimal }
