// Answers cases from outside with the product's own functions, for the drivers beside this folder.
//
// Standard input has a case a line, standard output its answer, in the same order: both are JSON objects of texts, bytes are
// in Base64. A case's `check` names what is asked (see Case.answer). An answer's `answer` is
//   accept    the product takes it; what it made of it is in `bytes` or `text`
//   refuse    the product does not
//   any other neither: the product cannot tell, or the case did not reach what it is meant for
import Foundation

let decoder = JSONDecoder()
let encoder = JSONEncoder()
encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
var keys = PrivateKeys()
while let line = readLine() {
    do {
        let fields = try decoder.decode([String: String].self, from: Data(line.utf8))
        let answer = try Case(fields: fields).answer(&keys)
        print(String(decoding: try encoder.encode(answer), as: UTF8.self))
    } catch {
        FileHandle.standardError.write(Data("referee: \(error) in \(line.prefix(300))\n".utf8))
        exit(1)
    }
}
