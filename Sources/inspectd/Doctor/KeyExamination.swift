import Custody
import Foundation
import Glibc
import InspectCore
import JobQueue
import Postgres

/// The checks of `inspectd doctor` for keys: those of this process, the key store, and the outstanding work of both.
enum KeyExamination {
    typealias Finding = Command.Finding

    /// How long keys of erased data may wait to be destroyed.
    private static let destructionPatienceSeconds = 600.0
    /// Bytes of locked memory that the keys of a busy worker take.
    private static let lockedBytes = 256 * 1024

    static func findings(_ configuration: Configuration, asksStore: Bool) async -> [Finding] {
        let noted: CustodyState?
        do {
            noted = asksStore ? try await Self.noted(configuration) : nil
        } catch {
            return [
                Self.refused(
                    "keyStore", error, "correct the database first: it knows whether it is sealed", .inconclusive)
            ]
        }
        if configuration.keysURL.isEmpty && configuration.wrappingKeys.isEmpty {
            return asksStore ? [Self.none(noted)] : []
        }
        var findings = [Self.memory()]
        let keys: WrappingKeys
        do {
            keys = try configuration.openWrappingKeys()
            findings.append(
                Finding(check: "wrappingKeys", outcome: .pass, detail: keys.ids.joined(separator: ", ")))
        } catch {
            findings.append(Self.refused("wrappingKeys", error, "deploy/SEALING.md, \"Wrapping keys\""))
            return findings
        }
        guard asksStore else { return findings }
        guard !configuration.keysURL.isEmpty else {
            return findings + [
                Finding(
                    check: "keyStore", outcome: .fail, detail: "wrapping keys are configured, and no key store is",
                    fix: "set --keys-url or INSPECTD_KEYS_URL")
            ]
        }
        let store = KeyStore(configuration.keysURL, wrappingKeys: keys)
        findings += await Self.store(store, noted, configuration)
        await store.close()
        return findings
    }

    private static func none(_ noted: CustodyState?) -> Finding {
        guard let noted else {
            return Finding(
                check: "keyStore", outcome: .warning, detail: "none is configured: what is stored is not sealed",
                fix: "deploy/SEALING.md, \"Wrapping keys\"")
        }
        return Finding(
            check: "keyStore", outcome: .fail,
            detail: "none is configured, and the database is sealed with the keys of key store \(noted.keyStore)",
            fix: "set INSPECTD_KEYS_URL and INSPECTD_WRAPPING_KEYS")
    }

    private static func store(
        _ store: KeyStore, _ noted: CustodyState?, _ configuration: Configuration
    ) async -> [Finding] {
        let state: CustodyState
        do {
            state = try await store.check(noted)
        } catch {
            return [
                Self.refused(
                    "keyStore", error,
                    error.code == .keysUnavailable
                        ? "see that the key store and what holds the wrapping key run, and that this login may use it"
                        : "deploy/SEALING.md, \"Wrapping keys\"")
            ]
        }
        var findings = [
            Finding(
                check: "keyStore", outcome: .pass, detail: "\(state.keyStore), wrapping key \(state.wrappingKey)",
                fix: nil)
        ]
        findings.append(await Self.cluster(store, configuration))
        findings.append(await Self.log(store))
        findings.append(await Self.rotation(store, state))
        findings.append(await Self.destruction(configuration))
        return findings
    }

    /// An old base backup of a shared cluster has both what was erased and its key.
    private static func cluster(_ store: KeyStore, _ configuration: Configuration) async -> Finding {
        do {
            let ours = try await Self.asking(configuration) { try await $0.systemIdentifier() }
            guard try await store.cluster() == ours else {
                return Finding(check: "keyStoreCluster", outcome: .pass, detail: "not the database's")
            }
            return Finding(
                check: "keyStoreCluster", outcome: .warning,
                detail: "the database's own: its old backups bring back what was erased together with the keys",
                fix: "use a separate cluster, with shorter-lived backups: deploy/DEPLOYING.md, \"Keys\"")
        } catch {
            return Self.refused("keyStoreCluster", error, nil, .inconclusive)
        }
    }

    /// A log with the parameters of statements keeps every wrapped key, even after its destruction.
    private static func log(_ store: KeyStore) async -> Finding {
        do {
            let settings = try await store.loggedParameters()
            guard !settings.isEmpty else {
                return Finding(check: "keyStoreLog", outcome: .pass, detail: "its server logs no parameters")
            }
            return Finding(
                check: "keyStoreLog", outcome: .warning,
                detail: "its server may log keys: \(settings.joined(separator: ", "))",
                fix: "as superuser, ALTER DATABASE … SET both to 0, unload modules: deploy/DEPLOYING.md, \"Keys\"")
        } catch {
            return Self.refused("keyStoreLog", error, nil, .inconclusive)
        }
    }

    private static func rotation(_ store: KeyStore, _ state: CustodyState) async -> Finding {
        do {
            let left = try await store.left()
            guard left.isEmpty, state.formerKey == nil else {
                let names = left.isEmpty ? [state.formerKey: 0] : left.reduce(into: [:]) { $0[$1.key] = $1.value }
                let counts = names.map { "\($0.value) by \($0.key ?? "")" }.sorted().joined(separator: ", ")
                return Finding(
                    check: "rotation", outcome: .warning,
                    detail: "partners' keys that a former wrapping key has wrapped: \(counts)",
                    fix: "run inspectd keys rewrap")
            }
            return Finding(
                check: "rotation", outcome: .pass, detail: "every partner's key is under \(state.wrappingKey)")
        } catch {
            guard let former = state.formerKey else {
                return Self.refused("rotation", error, "use a login in keys_locksmith", .inconclusive)
            }
            return Finding(
                check: "rotation", outcome: .warning, detail: "a rotation from \(former) has not ended",
                fix: "run inspectd keys rewrap, with a login in keys_locksmith")
        }
    }

    /// Erasure is not complete before the key store has destroyed the keys.
    private static func destruction(_ configuration: Configuration) async -> Finding {
        let observer = QueueObserver(databaseURL: configuration.databaseURL)
        do {
            let depth = try await observer.depth()
            await observer.close()
            let isLate = depth.keysGoneOldestSeconds > Self.destructionPatienceSeconds
            return Finding(
                check: "keysToDestroy", outcome: isLate ? .fail : .pass,
                detail: "\(Int(depth.keysGone)), the oldest for \(Int(depth.keysGoneOldestSeconds)) s",
                fix: isLate ? "deploy/RUNBOOKS.md, \"Keys that must be destroyed\"" : nil)
        } catch {
            await observer.close()
            return Self.refused("keysToDestroy", error, "use a login in insp_operator or insp_auditor", .inconclusive)
        }
    }

    /// Tries to lock the memory that the keys need: the limit applies only to processes without CAP_IPC_LOCK.
    private static func memory() -> Finding {
        let base = mmap(nil, Self.lockedBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
        let isLocked = base != MAP_FAILED && mlock(base, Self.lockedBytes) == 0
        if base != MAP_FAILED { munmap(base, Self.lockedBytes) }
        return Finding(
            check: "keyMemory", outcome: isLocked ? .pass : .warning,
            detail: isLocked
                ? "can be locked" : "\(Self.lockedBytes >> 10) KiB cannot be locked, so keys may reach the swap space",
            fix: isLocked ? nil : "LimitMEMLOCK= of systemd, --ulimit memlock= of a container, or no swap")
    }

    private static func noted(_ configuration: Configuration) async throws -> CustodyState? {
        try await Self.asking(configuration) { try await CustodyState.noted(on: $0) }
    }

    private static func asking<Answer>(
        _ configuration: Configuration, _ body: (PostgresConnection) async throws -> Answer
    ) async throws -> Answer {
        let connection = try await PostgresConnection.connect(configuration.databaseURL)
        do {
            let answer = try await body(connection)
            await connection.close()
            return answer
        } catch {
            await connection.close()
            throw error
        }
    }

    private static func refused(
        _ check: String, _ error: any Error, _ fix: String?, _ outcome: Finding.Outcome = .fail
    ) -> Finding {
        let known = error as? InspectError
        let reason =
            known.map { "\($0.code.rawValue): \($0.text)" } ?? (error as? PostgresError)?.reason ?? "\(error)"
        return Finding(check: check, outcome: outcome, detail: reason, fix: known?.hint ?? fix)
    }
}
