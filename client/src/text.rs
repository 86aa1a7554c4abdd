//! Numbers as people read them.

use std::time::Duration;

/// A count with separators: `1,234,567`.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A count with its noun: `1 file`, `12 files`.
pub fn counted(number: u64, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", count(number))
}

/// Bytes in the unit that keeps the number short: `512 B`, `1.4 MiB`.
pub fn bytes(number: u64) -> String {
    const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    if number < 1024 {
        return format!("{number} B");
    }
    // Tenths of the unit, rounded half up, without the imprecision of floats.
    let mut unit = 0;
    let mut size = 1024_u64;
    while unit + 1 < UNITS.len() && number / size >= 1024 {
        unit += 1;
        size *= 1024;
    }
    let tenths = (u128::from(number) * 10 + u128::from(size) / 2) / u128::from(size);
    format!("{}.{} {}", tenths / 10, tenths % 10, UNITS[unit])
}

/// A share in percent, one decimal below ten: `3.4 %`, `57 %`.
pub fn percent(part: u64, whole: u64) -> String {
    let tenths = (u128::from(part) * 1000)
        .checked_div(u128::from(whole))
        .unwrap_or_default();
    if tenths < 100 {
        format!("{}.{} %", tenths / 10, tenths % 10)
    } else {
        format!("{} %", tenths / 10)
    }
}

/// A duration: `7 ms`, `1.24 s`, `3 min 5 s`.
pub fn duration(duration: Duration) -> String {
    match duration.as_millis() {
        0 => format!("0.{} ms", duration.as_micros() / 100),
        ms @ 1..1000 => format!("{ms} ms"),
        ms @ 1000..60_000 => format!("{}.{:02} s", ms / 1000, ms % 1000 / 10),
        ms => format!("{} min {} s", ms / 60_000, ms % 60_000 / 1000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_shown_with_separators_and_units() {
        assert_eq!(count(0), "0");
        assert_eq!(count(999), "999");
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(counted(1, "file"), "1 file");
        assert_eq!(counted(1200, "file"), "1,200 files");
        assert_eq!(bytes(1023), "1023 B");
        assert_eq!(bytes(1536), "1.5 KiB");
        assert_eq!(bytes(5 << 20), "5.0 MiB");
        assert_eq!(bytes(u64::MAX), "16384.0 PiB");
        assert_eq!(percent(1, 30), "3.3 %");
        assert_eq!(percent(2, 3), "66 %");
        assert_eq!(percent(0, 0), "0.0 %");
        assert_eq!(duration(Duration::from_micros(340)), "0.3 ms");
        assert_eq!(duration(Duration::from_millis(1240)), "1.24 s");
        assert_eq!(duration(Duration::from_secs(185)), "3 min 5 s");
    }
}
