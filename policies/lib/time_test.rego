package lib.time_test

import data.lib.time as times

now := time.parse_rfc3339_ns("2026-03-01T12:00:00Z")

test_valid if {
	every text in ["2026-03-01T12:00:00Z", "2026-03-01T12:00:00.123456789Z", "2026-12-31T23:59:59+02:00", "2024-02-29T00:00:00-11:30"] {
		times.valid(text)
	}
	every text in [
		"",
		"2026-03-01",
		"2026-03-01T12:00:00",
		"2026-13-01T12:00:00Z",
		"2026-00-01T12:00:00Z",
		"2026-03-32T12:00:00Z",
		"2026-03-00T12:00:00Z",
		"2026-03-01T24:00:00Z",
		"2026-03-01T12:60:00Z",
		"2026-03-01T12:00:00.Z",
		"2026-03-01T12:00:00+24:00",
		" 2026-03-01T12:00:00Z",
		"2026-03-01T12:00:00Zx",
	] {
		not times.valid(text)
	}
}

test_age if {
	times.age("2026-02-28T12:00:00Z") == 1 with time.now_ns as now
	times.age("2026-03-01T00:00:00Z") == 0.5 with time.now_ns as now
	times.age("2026-03-02T12:00:00Z") == -1 with time.now_ns as now
	not times.age("yesterday")
}

test_within if {
	times.within("2026-02-28T12:00:00Z", 1) with time.now_ns as now
	not times.within("2026-02-28T11:59:59Z", 1) with time.now_ns as now
	times.within("2026-03-02T12:00:00Z", 1) with time.now_ns as now
	not times.within("2026-03-02T12:00:01Z", 1) with time.now_ns as now
	not times.within("yesterday", 1)
}
