import HTTPServer
import Testing

@Suite struct MetricRegistryTests {
    @Test func `Every kind is written with its help and type`() {
        let registry = MetricRegistry()
        let jobs = registry.counter("jobs_total", "Jobs.", labels: ["outcome"], preset: [["good"], ["bad"]])
        let depth = registry.gauge("depth", "How deep.")
        let time = registry.histogram("time_seconds", "How long.", bounds: [0.1, 1])
        jobs.add(2, "good")
        depth.set(2.5)
        for value in [0.05, 0.1, 0.5, 7] { time.observe(value) }
        #expect(
            registry.text() == """
                # HELP jobs_total Jobs.
                # TYPE jobs_total counter
                jobs_total{outcome="bad"} 0
                jobs_total{outcome="good"} 2
                # HELP depth How deep.
                # TYPE depth gauge
                depth 2.5
                # HELP time_seconds How long.
                # TYPE time_seconds histogram
                time_seconds_bucket{le="0.1"} 2
                time_seconds_bucket{le="1"} 3
                time_seconds_bucket{le="+Inf"} 4
                time_seconds_sum 7.65
                time_seconds_count 4

                """)
        depth.clear()
        #expect(!registry.text().contains("depth"))
    }

    @Test func `Label values and help cannot break the format`() {
        let registry = MetricRegistry()
        registry.gauge("odd", "back\\slash and\nline", labels: ["text"]).set(1, "a\"b\\c\nd")
        #expect(
            registry.text()
                == "# HELP odd back\\\\slash and\\nline\n# TYPE odd gauge\nodd{text=\"a\\\"b\\\\c\\nd\"} 1\n")
    }

    @Test func `Counts from many threads all arrive`() async {
        let registry = MetricRegistry()
        let counter = registry.counter("all_total", "All.")
        let histogram = registry.histogram("each_seconds", "Each.", bounds: [1])
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    for _ in 0..<1000 {
                        counter.add()
                        histogram.observe(0.5)
                    }
                }
            }
        }
        #expect(registry.text().contains("\nall_total 8000\n"))
        #expect(registry.text().contains("\neach_seconds_bucket{le=\"1\"} 8000\n"))
    }
}
