//! Partitions as metadata tells them.

use std::ops::Range;
use std::sync::Arc;

use apache_avro::types::Value;
use arrow::array::{ArrayRef, Date32Array, Int64Array, StringArray};
use serde_json::json;

use super::{batch, check, numbers, skipped, write, write_number};
use crate::lake::Lake;
use crate::metadata::{Avro, Metadata, data_file, field, is_about, missing, present, type_of};

/// Pitfall 23: the summary of a partition field may lack its bounds, or be missing, and then says nothing.
#[tokio::test(flavor = "multi_thread")]
async fn partition_summaries_with_null_bounds_say_nothing() {
    let all: &[&str] = &["__HIVE_DEFAULT_PARTITION__"];
    let some: &[&str] = &["1", "2", "__HIVE_DEFAULT_PARTITION__"];
    for (values, forget) in [(all, false), (some, false), (some, true)] {
        let lake = Lake::start(1).await;
        lake.create("t", |folder| {
            for (x, value) in (0..).zip(values) {
                write_number(&folder.join(format!("p={value}/a.parquet")), x);
            }
        })
        .await;
        let metadata = Metadata::of_adopted(&lake, "t").await;
        if forget {
            metadata.change_list(|manifests| {
                for manifest in manifests {
                    *field(manifest, "partitions") = missing();
                }
            });
        }
        let x = numbers(0..i64::try_from(values.len()).unwrap());
        let p: Vec<Option<i64>> = values.iter().map(|value| value.parse().ok()).collect();
        // A partition column that is always null has no type but text.
        let is_text = values.len() == 1;
        let p: ArrayRef = if is_text {
            Arc::new(StringArray::new_null(1))
        } else {
            Arc::new(Int64Array::from(p))
        };
        let filters = [
            "p IS NULL",
            "p IS NOT NULL",
            "p = '1'",
            "p <> '1'",
            "p > '1'",
            "p IN ('2', '7')",
            "p IS DISTINCT FROM '1'",
            "p = '2' OR p IS NULL",
        ];
        let quote = if is_text { "'" } else { "" };
        let filters = filters.map(|filter| filter.replace('\'', quote));
        let filters: Vec<&str> = filters.iter().map(String::as_str).collect();
        check(&lake, &batch(vec![("x", x), ("p", p)]), &filters).await;
    }
}

/// Pitfall 24: what a transform gives is no value of its column, so truncated values, months and buckets rule
/// nothing out; before 1970 too, where older writers rounded toward zero.
#[tokio::test(flavor = "multi_thread")]
async fn transforms_give_no_values_of_their_columns() {
    let lake = Lake::start(1).await;
    let x = [[-13, -12, -11], [11, 12, 13]];
    let days = [[-1, -15, -31], [0, 5, 30]];
    let words = [["abc", "abd", "ab"], ["xyz", "xy", "xyzz"]];
    let columns = |at: Range<usize>| {
        batch(vec![
            ("x", numbers(x[at.clone()].concat())),
            ("d", Arc::new(Date32Array::from(days[at.clone()].concat()))),
            ("s", Arc::new(StringArray::from(words[at].concat()))),
        ])
    };
    lake.create("t", |folder| {
        for (place, name) in ["a.parquet", "b.parquet"].into_iter().enumerate() {
            let rows = columns(place..place + 1);
            let named = ["x", "d", "s"]
                .into_iter()
                .zip(rows.columns().iter().cloned());
            write(&folder.join(name), named.collect());
        }
    })
    .await;
    let metadata = Metadata::of_adopted(&lake, "t").await;
    metadata.change_json(|json| {
        json["partition-specs"][0]["fields"] = json!([
            {"source-id": 1, "field-id": 1000, "name": "x_trunc", "transform": "truncate[10]"},
            {"source-id": 2, "field-id": 1001, "name": "d_month", "transform": "month"},
            {"source-id": 3, "field-id": 1002, "name": "s_trunc", "transform": "truncate[2]"},
            {"source-id": 1, "field-id": 1003, "name": "x_bucket", "transform": "bucket[4]"},
        ]);
    });
    let path = metadata.manifest();
    let mut manifest = Avro::read(&path);
    type_of(type_of(&mut manifest.schema, "data_file"), "partition")["fields"] = json!([
        {"name": "x_trunc", "type": ["null", "long"], "default": null},
        {"name": "d_month", "type": ["null", "int"], "default": null},
        {"name": "s_trunc", "type": ["null", "string"], "default": null},
        {"name": "x_bucket", "type": ["null", "int"], "default": null},
    ]);
    for entry in &mut manifest.records {
        let (trunc, month, word, bucket) = if is_about(entry, "/a.parquet") {
            // The month of the last day of 1969 should be -1.
            (-20, 0, "ab", 3)
        } else {
            (10, 0, "xy", 1)
        };
        let tuple = [
            ("x_trunc", Value::Long(trunc)),
            ("d_month", Value::Int(month)),
            ("s_trunc", Value::String(word.to_owned())),
            ("x_bucket", Value::Int(bucket)),
        ];
        let tuple = tuple.map(|(name, value)| (name.to_owned(), present(value)));
        *field(data_file(entry), "partition") = Value::Record(tuple.to_vec());
    }
    manifest.write(&path);
    let filters = [
        "x = -12",
        "x = -20",
        "x = 3",
        "x < 0",
        "x > 10",
        "x IN (12, 3)",
        "d = DATE '1969-12-31'",
        "d < DATE '1970-01-01'",
        "d = DATE '1970-01-01'",
        "d BETWEEN DATE '1969-12-20' AND DATE '1970-01-10'",
        "s = 'ab'",
        "s = 'abc'",
        "s LIKE 'ab%'",
        "s NOT LIKE 'ab%'",
        "s NOT LIKE 'abc%'",
        "s > 'ab' AND x < 12",
    ];
    check(&lake, &columns(0..2), &filters).await;
    assert_eq!(skipped(&lake, "bounds", "x = -12").await, 1);
    assert_eq!(skipped(&lake, "partition", "x = -12").await, 0);
}

/// Pitfalls 25 and 30: a manifest's entries are read by its own partition spec; in files whose spec does not
/// settle a filter, it is evaluated, and a source column that is gone fails nothing.
#[tokio::test(flavor = "multi_thread")]
async fn partition_spec_evolution_is_followed_manifest_by_manifest() {
    let lake = Lake::start(1).await;
    lake.create("t", |folder| {
        for p in 1..4 {
            // The files hold the column too, with the same value.
            let columns = vec![("x", numbers([p * 10, p * 10 + 1])), ("p", numbers([p, p]))];
            write(&folder.join(format!("p={p}/f.parquet")), columns);
        }
    })
    .await;
    let metadata = Metadata::of_adopted(&lake, "t").await;
    metadata.change_json(|json| {
        let specs = json["partition-specs"].as_array_mut().unwrap();
        let gone =
            json!({"source-id": 99, "field-id": 1001, "name": "gone", "transform": "identity"});
        specs.push(json!({"spec-id": 1, "fields": []}));
        specs.push(json!({"spec-id": 2, "fields": [gone]}));
    });
    let path = metadata.manifest();
    let whole = Avro::read(&path);
    let gone = [("gone".to_owned(), present(Value::Int(7)))];
    let specs = [
        ("/p=1/", None),
        ("/p=2/", Some((json!([]), Value::Record(Vec::new())))),
        (
            "/p=3/",
            Some((
                json!([{"name": "gone", "type": ["null", "int"], "default": null}]),
                Value::Record(gone.to_vec()),
            )),
        ),
    ];
    let mut names = Vec::new();
    for (number, (part, partition)) in specs.into_iter().enumerate() {
        let mut manifest = whole.clone();
        manifest.records.retain_mut(|entry| is_about(entry, part));
        assert_eq!(manifest.records.len(), 1);
        if let Some((fields, tuple)) = partition {
            type_of(type_of(&mut manifest.schema, "data_file"), "partition")["fields"] = fields;
            *field(data_file(&mut manifest.records[0]), "partition") = tuple;
        }
        let path = path.with_file_name(format!("of-spec-{number}.avro"));
        manifest.write(&path);
        names.push(format!("file://{}", path.display()));
    }
    metadata.change_list(|manifests| {
        let one = manifests.remove(0);
        for (spec, name) in (0..).zip(names) {
            let mut manifest = one.clone();
            *field(&mut manifest, "manifest_path") = Value::String(name);
            *field(&mut manifest, "partition_spec_id") = Value::Int(spec);
            *field(&mut manifest, "partitions") = missing();
            manifests.push(manifest);
        }
    });
    let rows = batch(vec![
        ("x", numbers([10, 11, 20, 21, 30, 31])),
        ("p", numbers([1, 1, 2, 2, 3, 3])),
    ]);
    let filters = [
        "p = 1",
        "p = 2",
        "p = 3",
        "p IS NULL",
        "p IS NOT NULL",
        "p <> 2",
        "p > 1",
        "p IN (1, 3) AND x > 10",
        "p = 7",
        "p = 2 OR x = 31",
        "x < 21",
    ];
    check(&lake, &rows, &filters).await;
    assert_eq!(skipped(&lake, "partition", "p = 2").await, 1);
}
