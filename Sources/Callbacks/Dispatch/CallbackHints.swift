internal import Postgres

/// Wakes a dispatcher's claims when the database notifies of due callbacks.
struct CallbackHints: Sendable {
    let configuration: CallbackConfiguration
    let claims: WakeUp

    /// LISTEN only wakes the loop early; polling finds callbacks without a hint.
    func listen() async {
        guard let url = self.configuration.listenURL else { return }
        let options = ConnectionOptions(name: "inspectd callbacks listen")
        await NotificationListener(url, options: options, channels: ["insp_callback"]).run { event in
            switch event {
            case .listening: self.claims.notify()
            case .notification:
                self.claims.notify()
                // One notification stands for 50 ms (insp.callback_announce), so poll again after that.
                try? await Task.sleep(for: .milliseconds(60))
                self.claims.notify()
            case .lost: break
            }
        }
    }
}
