import Glibc

/// Every variable that this process has.
func environment() -> [String] {
    var found: [String] = []
    var entry = environ
    while let variable = entry.pointee {
        found.append(String(cString: variable))
        entry += 1
    }
    return found
}

/// Empty where BLAS is not OpenBLAS.
func blasCore() -> String {
    typealias CoreName = @convention(c) () -> UnsafePointer<CChar>?
    guard let symbol = dlsym(nil, "openblas_get_corename") else { return "" }
    return unsafeBitCast(symbol, to: CoreName.self)().map { String(cString: $0) } ?? ""
}

/// The descriptors below the largest number that the process may have.
func openDescriptors() -> [CInt] {
    (0..<64).filter { descriptor in
        var status = stat()
        return fstat(descriptor, &status) == 0
    }
}

/// Tries what an attacker who took over a decoder would try; one line a try: its name and the errno, or "allowed".
func probe() -> [String] {
    var lines: [String] = []
    func attempt(_ name: String, _ body: () -> Int) {
        errno = 0
        let result = body()
        lines.append("\(name) \(result < 0 ? (errno == EPERM ? "EPERM" : "errno \(errno)") : "allowed")")
    }
    attempt("socket inet") { Int(socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)) }
    attempt("socket unix") { Int(socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)) }
    attempt("socket netlink") { Int(socket(AF_NETLINK, Int32(SOCK_RAW.rawValue), 0)) }
    attempt("socketpair") {
        var pair: [CInt] = [0, 0]
        return Int(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &pair))
    }
    attempt("open for reading") { Int(open("/etc/passwd", O_RDONLY)) }
    attempt("open for writing") { Int(open("/dev/null", O_WRONLY)) }
    attempt("opendir") { opendir("/") == nil ? -1 : 0 }
    attempt("stat") {
        var status = stat()
        return Int(stat("/etc/passwd", &status))
    }
    attempt("unlink") { Int(unlink("/tmp/inspectd-no-such-file")) }
    attempt("thread") {
        var thread = pthread_t()
        let result = pthread_create(&thread, nil, { _ in nil }, nil)
        errno = result
        return result == 0 ? 0 : -1
    }
    attempt("kill parent") { Int(kill(getppid(), 0)) }
    attempt("executable memory") {
        mmap(nil, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED ? -1 : 0
    }
    attempt("memory made executable") {
        let page = mmap(nil, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)!
        return Int(mprotect(page, 4096, PROT_READ | PROT_EXEC))
    }
    for (name, arguments) in [
        ("process_vm_readv", [Int(getppid()), 0, 0, 0]), ("io_uring_setup", []), ("landlock_create_ruleset", []),
        ("memfd_create", []), ("unshare", [0x4000_0000]), ("fork", []), ("prctl", [4, 1]),
    ] {
        attempt(name) { systemCall(name, arguments) }
    }
    attempt("setuid") { Int(setuid(getuid())) }
    attempt("raise the core limit") {
        var limit = rlimit(rlim_cur: 1, rlim_max: 1)
        return Int(setrlimit(__rlimit_resource_t(4), &limit))
    }
    attempt("raise the memory limit") {
        var limit = rlimit(rlim_cur: rlim_t.max, rlim_max: rlim_t.max)
        return Int(setrlimit(__rlimit_resource_t(9), &limit))
    }
    return lines
}

/// Makes one of the calls that kill; what it answers if it does not.
func call(_ name: String) -> String {
    errno = 0
    let result = systemCall(name, [])
    return "\(name) \(result) errno \(errno)"
}

/// glibc's syscall(), which Swift does not see.
private func systemCall(_ name: String, _ arguments: [Int]) -> Int {
    typealias Call = @convention(c) (Int, Int, Int, Int, Int, Int) -> Int
    guard let symbol = dlsym(nil, "syscall"), let number = callNumbers[name] else { return 0 }
    let padded = arguments + [0, 0, 0, 0, 0]
    return unsafeBitCast(symbol, to: Call.self)(number, padded[0], padded[1], padded[2], padded[3], padded[4])
}

/// System call numbers of this architecture (asm/unistd_64.h, asm-generic/unistd.h).
#if arch(x86_64)
    private let callNumbers = [
        "execve": 59, "execveat": 322, "ptrace": 101, "connect": 42, "mount": 165, "bpf": 321, "keyctl": 250,
        "landlock_create_ruleset": 444, "process_vm_readv": 310, "io_uring_setup": 425, "memfd_create": 319,
        "unshare": 272, "fork": 57,
        "prctl": 157,
    ]
#else
    private let callNumbers = [
        "execve": 221, "execveat": 281, "ptrace": 117, "connect": 203, "mount": 40, "bpf": 280, "keyctl": 219,
        "landlock_create_ruleset": 444, "process_vm_readv": 270, "io_uring_setup": 425, "memfd_create": 279,
        "unshare": 97,
        "fork": 220, "prctl": 167,
    ]
#endif
